"""Colour decontamination: the half-transparent rim of a cut-out takes the garment's colour."""

from __future__ import annotations

import cv2
import numpy as np

from process_image_job.steps.scale import fitted
from process_image_job.values import Pixels

_SOLID = 250  # alpha from here on shows garment only
_SIDE = 512  # the colours beside a rim change slowly; they are worked out at this size
_REACH = 5  # pixels of it from which a rim pixel takes its colour
_LEAST = 1e-3


def without_background_rim(rgb: Pixels, alpha: Pixels) -> Pixels:
    """Colours (H, W, 3) with the mixed pixels of the rim replaced by the solid garment's beside it.

    `alpha` is (H, W).
    """
    solid = cv2.threshold(alpha, _SOLID - 1, 255, cv2.THRESH_BINARY)[1]
    rim = cv2.compare(alpha, solid, cv2.CMP_NE)
    if not solid.any() or not rim.any():
        return rgb
    beside, known = _beside(rgb, solid)
    rows, columns = np.nonzero(rim)
    height, width = alpha.shape
    at = rows * known.shape[0] // height, columns * known.shape[1] // width
    found = known[at]
    clean = rgb.copy()
    clean[rows[found], columns[found]] = beside[at][found]
    return clean


def _beside(rgb: Pixels, solid: Pixels) -> tuple[Pixels, np.ndarray]:
    """Mean colour of the solid garment around each pixel (h, w, 3), and where there is any."""
    size = fitted(rgb.shape[1], rgb.shape[0], _SIDE)
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_NEAREST)
    inside = cv2.resize(solid, size, interpolation=cv2.INTER_NEAREST)
    reach = 2 * _REACH + 1
    weight = cv2.blur(inside.astype(np.float32) / 255, (reach, reach))
    colours = cv2.blur(
        cv2.bitwise_and(small, small, mask=inside).astype(np.float32), (reach, reach)
    )
    mean = colours / np.maximum(weight, _LEAST)[..., None]
    return mean.clip(0, 255).astype(np.uint8), weight > _LEAST
