"""The odd, hostile and broken pictures of other projects' test suites, as expected.json says."""

import json
from pathlib import Path

import pytest

from process_image_job.steps.decode import decode
from shared.domain.errors import BadImageError
from shared.image_probe import probe
from tests.conftest import SHARED_DATA

ODD = SHARED_DATA / "photos-odd"
EXPECTED = json.loads((ODD / "expected.json").read_text()) if ODD.is_dir() else {"missing": {}}
READY = [name for name, want in EXPECTED.items() if want.get("outcome") == "Ready"]
REFUSED = [name for name, want in EXPECTED.items() if want.get("outcome") != "Ready"]
AT_UPLOAD = [name for name, want in EXPECTED.items() if want.get("outcome") == "Rejected"]


def test_odd_photos_are_all_there(shared_data: Path) -> None:
    """Every picture of the list is tested below."""
    assert len(EXPECTED) == len(list((shared_data / "photos-odd").iterdir())) - 1 >= 45


@pytest.mark.parametrize("name", READY)
def test_odd_photo_that_is_fine(shared_data: Path, name: str) -> None:
    """It is decoded to the upright size that viewers show."""
    raw = (shared_data / "photos-odd" / name).read_bytes()
    photo, want = decode(raw), EXPECTED[name]
    found = probe(raw)
    size = want["uprightWidth"], want["uprightHeight"]
    assert (photo.full_width, photo.full_height) == (found.width, found.height) == size


@pytest.mark.parametrize("name", REFUSED)
def test_odd_photo_that_is_hopeless(shared_data: Path, name: str) -> None:
    """It is refused with the code of the list, and never with another exception."""
    raw = (shared_data / "photos-odd" / name).read_bytes()
    with pytest.raises(BadImageError) as caught:
        decode(raw)
    assert caught.value.code in EXPECTED[name]["code"]


@pytest.mark.parametrize("name", AT_UPLOAD)
def test_odd_file_that_is_refused_at_upload(shared_data: Path, name: str) -> None:
    """What is no photo at all is refused by its header already."""
    with pytest.raises(BadImageError):
        probe((shared_data / "photos-odd" / name).read_bytes())
