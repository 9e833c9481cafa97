"""Turns pixels the way the EXIF orientation says."""

from __future__ import annotations

from typing import overload

import cv2

from process_image_job.values import Pixels


@overload
def upright(pixels: Pixels, orientation: int) -> Pixels: ...
@overload
def upright(pixels: None, orientation: int) -> None: ...


def upright(pixels: Pixels | None, orientation: int) -> Pixels | None:
    """The plane or picture turned and mirrored so that orientation 1 describes it."""
    if pixels is None or orientation == 1:
        return pixels
    if orientation in {5, 6, 7, 8}:
        pixels = cv2.transpose(pixels)
    flip = {2: 1, 3: -1, 4: 0, 6: 1, 7: -1, 8: 0}.get(orientation)
    return pixels if flip is None else cv2.flip(pixels, flip)
