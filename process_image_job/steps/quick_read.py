"""The quick way for whole JPEGs and still WebPs: straight into an array.

Pillow reads the same files into four bytes a pixel and copies them, a WebP by way of two more
canvases: at twice the time and up to four times the memory. Both stand on the same libraries, but
only Pillow can tell that a file ends too early; so whatever fails here is left to Pillow to judge.
"""

from __future__ import annotations

import cv2
import numpy as np
from PIL.ImageFile import ImageFile

from process_image_job.values import Pixels

_START_OF_SCAN, _END = b"\xff\xda", b"\xff\xd9"
_REDUCED = {  # OpenCV can hand out RGB at full scale only
    1: cv2.IMREAD_COLOR_RGB,
    2: cv2.IMREAD_REDUCED_COLOR_2,
    4: cv2.IMREAD_REDUCED_COLOR_4,
    8: cv2.IMREAD_REDUCED_COLOR_8,
}


def quick_jpeg(raw: bytes, image: ImageFile, full: tuple[int, int]) -> Pixels | None:
    """The picture (H, W, 3) at the size that `image` was drafted to; None where Pillow must judge.

    `full` is the undrafted size. The orientation is not applied, nor is a profile.
    """
    scale = -(-full[0] // image.size[0])
    if image.mode != "RGB" or scale not in _REDUCED or not _shows_its_end(raw):
        return None
    flags = _REDUCED[scale] | cv2.IMREAD_IGNORE_ORIENTATION
    pixels = _read(raw, flags)
    if pixels is None or pixels.shape != (image.size[1], image.size[0], 3):
        return None
    return pixels if scale == 1 else cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)


def quick_webp(raw: bytes, image: ImageFile) -> Pixels | None:
    """The picture (H, W, 3 or 4), alpha last; None for films and where Pillow must judge."""
    if getattr(image, "is_animated", True):
        return None
    pixels = _read(raw, cv2.IMREAD_UNCHANGED)
    if pixels is None or pixels.ndim != 3 or pixels.shape[:2] != image.size[::-1]:
        return None
    swap = cv2.COLOR_BGR2RGB if pixels.shape[2] == 3 else cv2.COLOR_BGRA2RGBA
    return cv2.cvtColor(pixels, swap, dst=pixels)


def _read(raw: bytes, flags: int) -> Pixels | None:
    try:
        return cv2.imdecode(np.frombuffer(raw, np.uint8), flags)
    except cv2.error:
        return None


def _shows_its_end(raw: bytes) -> bool:
    return raw.rfind(_END) > raw.rfind(_START_OF_SCAN) > 0
