"""The half-transparent rim of a cut-out takes the colour of the garment, not of the wall."""

from __future__ import annotations

import cv2
import numpy as np

from process_image_job.values import Pixels

_SOLID = 250  # alpha from here on shows garment only
_REACH = 0.004  # of the longest side: how far garment colour is carried outwards


def without_background_rim(rgb: Pixels, alpha: Pixels) -> Pixels:
    """Colours with the mixed pixels of the rim replaced by the nearest solid garment colours."""
    solid = (alpha >= _SOLID).astype(np.uint8)
    rim = (alpha > 0) & (solid == 0)
    if not rim.any() or not solid.any():
        return rgb
    reach = max(2, round(max(alpha.shape) * _REACH)) * 2 + 1
    weight = cv2.blur(solid.astype(np.float32), (reach, reach))
    garment = cv2.blur(cv2.bitwise_and(rgb, rgb, mask=solid).astype(np.float32), (reach, reach))
    known = rim & (weight > 1e-3)
    clean = rgb.copy()
    clean[known] = np.clip(garment[known] / weight[known, None], 0, 255).astype(np.uint8)
    return clean
