"""The quick way for what phones send: a whole three-channel JPEG straight into an array.

Pillow reads the same file into four bytes a pixel and copies them, at twice the time and memory.
Both stand on libjpeg-turbo, but only Pillow can tell that a file ends too early; so this way is
taken for files that show their end, and Pillow judges all others.
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


def quick_pixels(raw: bytes, image: ImageFile, full: tuple[int, int]) -> Pixels | None:
    """The picture (H, W, 3) at the size that `image` was drafted to; None where Pillow must judge.

    `full` is the undrafted size. The orientation is not applied, nor is a profile.
    """
    scale = -(-full[0] // image.size[0])
    if image.mode != "RGB" or scale not in _REDUCED or not _shows_its_end(raw):
        return None
    flags = _REDUCED[scale] | cv2.IMREAD_IGNORE_ORIENTATION
    try:
        pixels: Pixels | None = cv2.imdecode(np.frombuffer(raw, np.uint8), flags)
    except cv2.error:
        return None
    if pixels is None or pixels.shape != (image.size[1], image.size[0], 3):
        return None
    return pixels if scale == 1 else cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)


def _shows_its_end(raw: bytes) -> bool:
    return raw.rfind(_END) > raw.rfind(_START_OF_SCAN) > 0
