"""Looks at the head of a file and says what picture it is, or why it can never become one.

The bytes decide, not the name. Nothing is decoded, so a bomb costs as little as a photo. Pillow
and pillow-heif are imported only when a file is looked at.
"""

from __future__ import annotations

import io
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from shared.domain.errors import (
    BadImageError,
    CorruptImageError,
    EmptyFileError,
    FileTooLargeError,
    ImageTooLargeError,
    ImageTooSmallError,
    UnsupportedFormatError,
)
from shared.image_headers.exif_orientation import ExifUnreadableError, orientation
from shared.image_headers.heif_canvases import check_canvases
from shared.image_headers.iso_boxes import check_tables
from shared.image_headers.jpeg_markers import check_markers

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

MAX_BYTES = 10_000_000
MAX_PIXELS = 50_000_000
MIN_SIDE = 16
MAX_SIDE = 16_000

CONTENT_TYPES = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "WEBP": "image/webp",
    "HEIC": "image/heic",
    "AVIF": "image/avif",
    "GIF": "image/gif",
}
_PLUGINS = {
    "JPEG": ("PIL.JpegImagePlugin", "JpegImageFile"),  # of an MPO it reads the main picture alone
    "PNG": ("PIL.PngImagePlugin", "PngImageFile"),
    "WEBP": ("PIL.WebPImagePlugin", "WebPImageFile"),
    "HEIC": ("pillow_heif", "HeifImageFile"),
    "AVIF": ("PIL.AvifImagePlugin", "AvifImageFile"),
    "GIF": ("PIL.GifImagePlugin", "GifImageFile"),
}
_HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}
_AVIF_BRANDS = {b"avif", b"avis"}
_MARKUP = (b"<html", b"<!doctype", b"<svg", b"<script", b"<?xml", b"%pdf")
_SIDEWAYS = {5, 6, 7, 8}


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """What the header promises. Width and height are those of the upright picture."""

    format: str  # JPEG, PNG, WEBP, HEIC, AVIF or GIF
    content_type: str
    width: int
    height: int


def probe(data: bytes, *, max_bytes: int = MAX_BYTES) -> Probe:
    """Format and upright size from the header alone.

    Raises a BadImageError whose detail names the limit and the actual value.
    """
    check_bytes(len(data), max_bytes)
    form = sniff(data)
    with open_header(data, form) as image:
        width, height = upright_size(image)
    return Probe(format=form, content_type=CONTENT_TYPES[form], width=width, height=height)


def check_bytes(size: int, max_bytes: int = MAX_BYTES) -> None:
    """Raises EmptyFileError or FileTooLargeError, the latter with size and limit in MB."""
    if size == 0:
        raise EmptyFileError
    if size > max_bytes:
        raise FileTooLargeError(
            f"The file has {size / 1e6:.1f} MB; the limit is {max_bytes / 1e6:g} MB."
        )


def sniff(data: bytes) -> str:
    """The format that the first bytes name. Raises UnsupportedFormatError for all but our six."""
    if data.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "WEBP"
    if data[4:8] == b"ftyp":
        return _sniff_brands(data)
    raise UnsupportedFormatError


@contextmanager
def open_header(data: bytes, form: str) -> Iterator[ImageFile]:
    """The picture with its header read and its size within the limits; no pixel decoded yet.

    Only the decoder of `form` is ever tried. Raises a BadImageError.
    """
    if form == "JPEG":
        check_markers(data)
    _check_declared_sizes(data, form)
    with quiet():
        image = _opened(data, form)
    with image:
        _check_size(*upright_size(image))
        yield image


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps Pillow from warning about metadata that we do not use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def refusal(data: bytes, error: Exception) -> BadImageError:
    """The error of ours that a decoder's exception means."""
    if isinstance(error, BadImageError):
        return error
    if "MAX_TEXT" in str(error) or "too large" in str(error):
        return ImageTooLargeError("The photo carries a text block of more than 1 MB when unpacked.")
    head = data[:4096].lower()
    if any(mark in head for mark in _MARKUP):
        return UnsupportedFormatError()
    return CorruptImageError()


def upright_size(image: ImageFile) -> tuple[int, int]:
    """Width and height after the EXIF orientation is applied."""
    width, height = image.size
    try:
        turned = orientation(image.info.get("exif")) in _SIDEWAYS
    except ExifUnreadableError:
        turned = False
    return (height, width) if turned else (width, height)


def _check_size(width: int, height: int) -> None:
    size = f"The photo has {width} x {height} pixels"
    if width * height > MAX_PIXELS:
        found = f"{size}, {width * height / 1e6:.1f} megapixels"
        raise ImageTooLargeError(f"{found}; the limit is {MAX_PIXELS / 1e6:g} megapixels.")
    if max(width, height) > MAX_SIDE:
        raise ImageTooLargeError(f"{size}; the limit is {MAX_SIDE} pixels a side.")
    if min(width, height) < MIN_SIDE:
        raise ImageTooSmallError(f"{size}; it needs at least {MIN_SIDE} pixels a side.")


def _sniff_brands(data: bytes) -> str:
    """HEIC and AVIF share a container; the major brand decides, then the compatible ones."""
    (length,) = struct.unpack(">I", data[:4])
    end = min(max(length, 16), 256)
    brands = [data[8:12], *(data[at : at + 4] for at in range(16, end, 4))]
    if brands[0] in _AVIF_BRANDS:
        return "AVIF"
    generic = brands[0] in {b"mif1", b"msf1"}
    if generic and _AVIF_BRANDS.intersection(brands):
        return "AVIF"
    if brands[0] in _HEIC_BRANDS:
        return "HEIC"
    raise UnsupportedFormatError


def _check_declared_sizes(data: bytes, form: str) -> None:
    """Refuses a HEIC, AVIF or WebP by its own boxes, before a decoder reserves memory for it."""
    if form == "WEBP" and data[12:16] == b"VP8X" and len(data) >= 30:
        canvas = [int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27)]
        _check_size(*canvas)
    if form not in {"HEIC", "AVIF"}:
        return
    check_tables(data)
    check_canvases(data, _check_part)
    at = data.find(b"ispe")
    while at >= 0 and at + 16 <= len(data):
        width, height = struct.unpack_from(">II", data, at + 8)
        if data[at - 4 : at] == b"\0\0\0\x14":
            _check_part(width, height)
        at = data.find(b"ispe", at + 4)


def _check_part(width: int, height: int) -> None:
    """Of a picture inside the file; thumbnails may be small."""
    _check_size(max(width, MIN_SIDE), max(height, MIN_SIDE))


def _opened(data: bytes, form: str) -> ImageFile:
    try:
        return _decoder(form)(io.BytesIO(data))
    except MemoryError:
        raise
    except Exception as error:  # decoders raise whatever they like on bad bytes
        raise refusal(data, error) from error


def _decoder(form: str) -> type[ImageFile]:
    """The plugin class itself, so that Pillow never tries another one."""
    module, name = _PLUGINS[form]
    plugin: type[ImageFile] = getattr(import_module(module), name)
    return plugin
