"""A browser on the allowed page may upload straight to storage and show pictures; no other may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devhost.azurite import Azurite
from tests.infra.cors_replay import apply_rules, bicep_rules, preflight, upload_headers

ROOT = Path(__file__).resolve().parents[2]
PAGE = "https://wardrobe.example"
OTHER_PAGE = "https://elsewhere.example"
UPLOAD_HEADERS = upload_headers(ROOT)
ALLOWED, REFUSED = 200, 403


@pytest.fixture(scope="module")
def storage() -> Iterator[Azurite]:
    """An emulator of its own, with the rules of the Bicep instead of the local ones."""
    with Azurite.start() as running:
        apply_rules(running, bicep_rules(ROOT, [PAGE]))
        yield running


def test_upload_from_our_page(storage: Azurite) -> None:
    """The page may put a blob with the headers that our answer tells it to send."""
    status = preflight(storage, origin=PAGE, method="PUT", headers=",".join(UPLOAD_HEADERS))
    assert status == ALLOWED


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_picture_on_our_page(storage: Azurite, method: str) -> None:
    """The page may read pictures."""
    assert preflight(storage, origin=PAGE, method=method) == ALLOWED


def test_upload_from_another_page(storage: Azurite) -> None:
    """A page that is not listed is refused."""
    status = preflight(storage, origin=OTHER_PAGE, method="PUT", headers=",".join(UPLOAD_HEADERS))
    assert status == REFUSED


@pytest.mark.parametrize("method", ["DELETE", "POST", "MERGE"])
def test_other_methods(storage: Azurite, method: str) -> None:
    """The page may do nothing but upload and read."""
    assert preflight(storage, origin=PAGE, method=method) == REFUSED


def test_header_not_listed(storage: Azurite) -> None:
    """A header that an upload does not need is refused."""
    asked = ",".join([*UPLOAD_HEADERS, "x-ms-blob-cache-control"])
    assert preflight(storage, origin=PAGE, method="PUT", headers=asked) == REFUSED


@pytest.mark.parametrize("header", UPLOAD_HEADERS)
def test_rules_without_a_needed_header(storage: Azurite, header: str) -> None:
    """Without any one of the upload's headers in the rules the replay fails."""
    rules = bicep_rules(ROOT, [PAGE])
    kept = [name for name in rules[0].allowed_headers.split(",") if name != header]
    rules[0].allowed_headers = ",".join(kept)
    apply_rules(storage, rules)
    try:
        status = preflight(storage, origin=PAGE, method="PUT", headers=",".join(UPLOAD_HEADERS))
    finally:
        apply_rules(storage, bicep_rules(ROOT, [PAGE]))
    assert status == REFUSED
