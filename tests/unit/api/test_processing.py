"""POST process-image: a photo in, its cut-out back."""

from dataclasses import dataclass

import pytest

from shared.api import processing
from shared.domain.errors import CorruptImageError
from shared.domain.pictures import Segmentation
from tests.unit.api.calling import form, photo

JPEG = photo()


@dataclass(frozen=True)
class Made:
    webp: bytes = b"RIFF....WEBP"
    segmentation: Segmentation = Segmentation.APPLIED
    confidence: float = 0.87654


def cut(raw):
    assert raw == JPEG
    return Made()


@pytest.mark.parametrize("as_form", [True, False])
def test_cut_out_comes_back_as_webp(caller, as_form):
    """200 with what is known of it in the headers; a raw body or one file."""
    body, kind = form(("a.jpg", JPEG)) if as_form else (JPEG, "image/jpeg")
    reply = caller.ask("process_image", body=body, headers={"content-type": kind}, cut_out=cut)
    assert (reply.status, reply.headers["content-type"]) == (200, "image/webp")
    assert reply.body == b"RIFF....WEBP"
    assert reply.headers["x-segmentation"] == "Applied"
    assert reply.headers["x-confidence"] == "0.877"


def test_cut_out_while_another_is_made(caller):
    """429: one at a time in a process."""
    with processing._SLOT:
        reply = caller.ask(
            "process_image", body=JPEG, headers={"content-type": "image/jpeg"}, cut_out=cut
        )
    assert (reply.status, reply.code, reply.headers["retry-after"]) == (429, "BUSY", "2")


def broken(raw):
    raise CorruptImageError


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (b"", 400, "EMPTY_FILE"),
        (b"%PDF", 415, "UNSUPPORTED_FORMAT"),
        (b"x" * 10_000_001, 413, "FILE_TOO_LARGE"),
        (JPEG, 400, "CORRUPT_IMAGE"),
    ],
)
def test_cut_out_of_a_bad_photo(caller, data, status, code):
    """The picture's own status; and the slot is free again."""
    headers = {"content-type": "image/jpeg", "content-length": str(len(data))}
    reply = caller.ask("process_image", body=data, headers=headers, cut_out=broken)
    assert (reply.status, reply.code) == (status, code)
    assert not processing._SLOT.locked()


def test_cut_out_of_two_files(caller):
    """One file."""
    body, kind = form(("a.jpg", JPEG), ("b.jpg", JPEG))
    reply = caller.ask("process_image", body=body, headers={"content-type": kind}, cut_out=cut)
    assert (reply.status, reply.code) == (422, "TOO_MANY_FILES")
