"""The header check: what is refused before anything is decoded, and with which code."""

import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from shared.domain import errors
from shared.image_probe import probe
from tests.unit.pipeline import drawing


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "AVIF", "GIF"])
def test_probe_of_each_format(form: str) -> None:
    """The bytes name the format, the type and the size."""
    found = probe(drawing.saved(drawing.asymmetric(), form))
    assert (found.format, found.content_type) == (form, f"image/{form.lower()}")
    assert (found.width, found.height) == (96, 64)


def test_probe_of_sideways_jpeg() -> None:
    """Width and height are those of the upright picture."""
    found = probe(drawing.saved(drawing.asymmetric(), exif=drawing.exif(6)))
    assert (found.width, found.height) == (64, 96)


def test_probe_of_empty_file() -> None:
    """No bytes are an EMPTY_FILE."""
    with pytest.raises(errors.EmptyFileError):
        probe(b"")


def test_probe_of_too_many_bytes() -> None:
    """A file over the limit is refused with both numbers."""
    with pytest.raises(errors.FileTooLargeError) as caught:
        probe(b"\xff\xd8\xff" + bytes(12_000_000))
    assert "12.0 MB" in caught.value.detail
    assert "10 MB" in caught.value.detail


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(os.urandom(4096).replace(b"\xff\xd8\xff", b"abc"), id="random"),
        pytest.param(b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", id="svg"),
        pytest.param(b"%PDF-1.7\n", id="pdf"),
        pytest.param(b"<!doctype html><html></html>", id="html"),
        pytest.param(b"\xff\xd8\xff<html><script>alert(1)</script></html>", id="html-as-jpeg"),
        pytest.param(b"%!PS-Adobe-3.0 EPSF-3.0\n", id="eps"),
        pytest.param(b"\x00\x00\x02" + bytes(15) + b"\x40\x00\x40\x00\x18\x00", id="tga"),
        pytest.param(b"\x00\x00\x01\x00\x01\x00\x10\x10" + bytes(30), id="ico"),
        pytest.param(b"II*\0" + bytes(60), id="tiff"),
        pytest.param(b"BM" + bytes(60), id="bmp"),
        pytest.param(b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom", id="video"),
        pytest.param(b"RIFF\0\0\0\0WAVEfmt ", id="wav"),
        pytest.param(b"x", id="one-byte"),
    ],
)
def test_probe_of_what_is_no_photo(data: bytes) -> None:
    """What is none of the six formats never meets a decoder."""
    with pytest.raises(errors.UnsupportedFormatError):
        probe(data)


@pytest.mark.parametrize(
    ("width", "height", "limit"),
    [(20_000, 20_000, "50 megapixels"), (16_001, 40, "16000 pixels a side")],
)
def test_probe_of_dimension_bomb(width: int, height: int, limit: str) -> None:
    """The header alone refuses it, naming the limit and the size."""
    with pytest.raises(errors.ImageTooLargeError) as caught:
        probe(drawing.png_header(width, height))
    assert limit in caught.value.detail
    assert f"{width} x {height}" in caught.value.detail


def test_probe_just_under_the_pixel_limit() -> None:
    """50 megapixels exactly are allowed."""
    assert probe(drawing.png_header(10_000, 5_000)).width == 10_000


def test_probe_just_over_the_pixel_limit() -> None:
    """One row more than 50 megapixels is not."""
    with pytest.raises(errors.ImageTooLargeError):
        probe(drawing.png_header(10_000, 5_001))


@pytest.mark.parametrize(("width", "height"), [(1, 1), (3, 2), (15, 400)])
def test_probe_of_tiny_picture(width: int, height: int) -> None:
    """Below 16 pixels a side nothing can be shown."""
    with pytest.raises(errors.ImageTooSmallError) as caught:
        probe(drawing.saved(Image.new("L", (width, height)), "PNG"))
    assert "at least 16" in caught.value.detail


def test_probe_of_text_bomb() -> None:
    """A PNG whose text unpacks to megabytes is refused without unpacking it all."""
    import zlib

    bomb = b"Comment\0\0" + zlib.compress(b"a" * 40_000_000)
    with pytest.raises(errors.ImageTooLargeError) as caught:
        probe(drawing.with_chunk(drawing.saved(drawing.asymmetric(), "PNG"), b"zTXt", bomb))
    assert "1 MB" in caught.value.detail


def test_probe_of_jpeg_cut_in_its_header() -> None:
    """A photo that ends before its size is known is damaged, not unknown."""
    with pytest.raises(errors.CorruptImageError):
        probe(drawing.saved(drawing.asymmetric())[:40])


def test_probe_of_jpeg_with_endless_scans() -> None:
    """Each scan costs a few bytes to send and a pass over the whole picture to decode."""
    jpeg = drawing.saved(drawing.asymmetric(), progressive=True)
    last = jpeg[jpeg.rindex(b"\xff\xda") : -2]
    assert probe(jpeg[:-2] + last * 50 + jpeg[-2:]).format == "JPEG"
    with pytest.raises(errors.ImageTooLargeError):
        probe(jpeg[:-2] + last * 100 + jpeg[-2:])


@pytest.mark.parametrize(
    "cover",
    [
        pytest.param(b"", id="open"),
        pytest.param(b"\xff\xd9\xff\xff", id="behind-an-end"),
        pytest.param(b"\xff\xd8\xff\xff", id="behind-a-start"),
    ],
)
def test_probe_of_jpeg_with_endless_metadata(cover: bytes) -> None:
    """Pillow copies all EXIF segments again for each one: seconds a megabyte."""
    jpeg = drawing.saved(drawing.asymmetric())
    for _ in range(1001):
        jpeg = drawing.with_segment(jpeg, 0xE1, b"Exif\0\0" + bytes(10))
    with pytest.raises(errors.ImageTooLargeError):
        probe(jpeg[:2] + cover + jpeg[2:])


def test_probe_of_jpeg_with_a_film_behind_it() -> None:
    """What follows the end of the picture is not looked at, whatever its bytes."""
    assert probe(drawing.saved(drawing.asymmetric()) + b"\xff\xda\0\2" * 2000).width == 96


def test_probe_of_avif_by_its_boxes() -> None:
    """A container that declares a side of 17,000 px is refused before its decoder sees it."""
    small = drawing.saved(np.zeros((64, 64, 3), np.uint8), "AVIF")
    at = small.index(b"ispe") + 8
    huge = small[:at] + (17_000).to_bytes(4, "big") * 2 + small[at + 8 :]
    with pytest.raises(errors.ImageTooLargeError):
        probe(huge)


@pytest.mark.parametrize("brand", [b"avif", b"heic"])
@pytest.mark.parametrize(
    "boxes",
    [
        pytest.param(
            drawing.box(b"meta", bytes(4) + drawing.box(b"iinf", bytes(33_000))), id="items"
        ),
        pytest.param(
            drawing.box(b"meta", bytes(4) + drawing.box(b"iloc", bytes(33_000), long=True)),
            id="long-box",
        ),
        pytest.param(
            drawing.box(b"moov", drawing.box(b"trak", drawing.box(b"stsc", bytes(33_000)))),
            id="film",
        ),
        pytest.param(b"\0\0\0\0meta\0\0\0\0" + drawing.box(b"iref", bytes(33_000)), id="to-end"),
    ],
)
def test_probe_of_endless_tables(boxes: bytes, brand: bytes) -> None:
    """The decoder's work grows with the square of their length: minutes for a few megabytes."""
    with pytest.raises(errors.ImageTooLargeError):
        probe(drawing.box(b"ftyp", brand + bytes(4) + brand) + boxes)


def test_probe_of_avif_with_a_table_name_among_its_pixels() -> None:
    """Only boxes count, not what looks like one in the compressed data."""
    avif = drawing.saved(drawing.asymmetric(), "AVIF")
    assert probe(avif + drawing.box(b"mdat", drawing.box(b"iloc", bytes(33_000)))).width == 96


def test_probe_import_is_light() -> None:
    """Neither Pillow, numpy nor OpenCV is loaded by the import, numpy and OpenCV not by use."""
    photo = drawing.saved(drawing.asymmetric())
    code = (
        "import sys, process_image_job, shared.image_probe as p\n"
        "heavy = {'PIL', 'cv2', 'numpy', 'pillow_heif'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        f"p.probe({photo!r})\n"
        "assert not {'cv2', 'numpy', 'pillow_heif'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
