"""Bytes to one upright, sRGB, 8-bit photo: the only place where an upload is decoded."""

from __future__ import annotations

import cv2
import numpy as np
from PIL import Image
from PIL.ImageFile import ImageFile

from process_image_job.steps.colour_space import as_srgb
from process_image_job.steps.orient import upright
from process_image_job.steps.quick_read import quick_jpeg, quick_webp
from process_image_job.values import ARCHIVE_SIDE, Photo, Pixels
from shared.domain.errors import BadImageError
from shared.domain.pictures import Caution
from shared.image_headers.exif_orientation import ExifUnreadableError, orientation
from shared.image_probe import open_header, probe, quiet, refusal, upright_size

_SMALL_SIDE = 256
Planes = tuple[Pixels, Pixels | None]  # RGB and alpha
_MOVING = {"GIF", "PNG", "WEBP", "AVIF"}  # a HEIC with many pictures is an album, not a film


def decode(raw: bytes) -> Photo:
    """The photo as a person should see it. Raises BadImageError for whatever cannot be shown.

    JPEGs are decoded at the smallest DCT scale that still fills the largest rendition.
    """
    cv2.setNumThreads(1)  # a worker has one core; more threads only cost CPU
    form = probe(raw, max_bytes=max(len(raw), 1)).format
    with open_header(raw, form) as image:
        full = upright_size(image)
        planes = _quick_planes(raw, image, form)
        if planes is None:
            _decode_pixels(raw, image)
            planes = _planes(raw, image)
        turn, cautions = _orientation(image)
        if form in _MOVING and _moves(image):
            cautions = (*cautions, Caution.ANIMATION_DROPPED)
    return _photo(upright(planes[0], turn), upright(planes[1], turn), full, cautions)


def _photo(
    rgb: Pixels, alpha: Pixels | None, full: tuple[int, int], cautions: tuple[Caution, ...]
) -> Photo:
    height, width = rgb.shape[:2]
    if (full[0] > full[1]) != (width > height) and full[0] != full[1]:
        full = (full[1], full[0])  # the orientation was written behind the pixels
    if max(full) < _SMALL_SIDE:
        cautions = (*cautions, Caution.SMALL_SOURCE)
    return Photo(rgb=rgb, alpha=alpha, full_width=full[0], full_height=full[1], cautions=cautions)


def _quick_planes(raw: bytes, image: ImageFile, form: str) -> Planes | None:
    """The quick way where it can be taken. A JPEG is drafted, also for Pillow."""
    pixels: Pixels | None = None
    if form == "JPEG":
        full = image.size
        image.draft(None, _draft_size(image))
        pixels = quick_jpeg(raw, image, full)
    elif form == "WEBP":
        pixels = quick_webp(raw, image)
    if pixels is None:
        return None
    profile = image.info.get("icc_profile")
    if profile is None and pixels.shape[2] == 3 and max(pixels.shape) < 2 * ARCHIVE_SIDE:
        return pixels, None
    profiled = Image.fromarray(pixels)
    profiled.info["icc_profile"] = profile
    return _planes(raw, profiled)


def _decode_pixels(raw: bytes, image: ImageFile) -> None:
    """Fills the picture. Truncated and garbled data become a BadImageError."""
    try:
        with quiet():
            image.load()
    except MemoryError:
        raise
    except Exception as error:  # decoders raise whatever they like on bad bytes
        raise refusal(raw, error) from error


def _draft_size(image: ImageFile) -> tuple[int, int]:
    longest = max(image.size)
    return tuple(max(1, side * ARCHIVE_SIDE // longest) for side in image.size)  # type: ignore[return-value]


def _orientation(image: ImageFile) -> tuple[int, tuple[Caution, ...]]:
    try:
        return orientation(image.info.get("exif")), ()
    except ExifUnreadableError:
        return 1, (Caution.METADATA_UNREADABLE,)


def _planes(raw: bytes, image: Image.Image) -> Planes:
    """RGB and, where any pixel is not opaque, alpha; both shrunk below twice the archive size."""
    try:
        pixels = np.asarray(_bounded(as_srgb(_bounded(image))))
    except (BadImageError, MemoryError):
        raise
    except Exception as error:  # lcms and Pillow meet hostile profiles here
        raise refusal(raw, error) from error
    if pixels.shape[2] == 3:
        return pixels, None
    rgb, alpha = np.ascontiguousarray(pixels[..., :3]), np.ascontiguousarray(pixels[..., 3])
    return rgb, (None if int(alpha.min()) == 255 else alpha)


def _bounded(image: Image.Image) -> Image.Image:
    """Halves what no rendition needs: before it is converted if the mode allows it, else after."""
    factor = max(image.size) // ARCHIVE_SIDE
    if factor < 2 or image.mode in {"1", "P", "I;16", "I;16B", "I"}:
        return image
    return image.reduce(factor)


def _moves(image: ImageFile) -> bool:
    """Whether a second frame exists. Called after the first one is copied: it may seek."""
    try:
        with quiet():
            return bool(getattr(image, "is_animated", False))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # a second frame too broken or too large to visit
        return True
