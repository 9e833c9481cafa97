"""Cuts holes where a mask covers what is plainly background: inside a ring, between two straps."""

from __future__ import annotations

import cv2
import numpy as np

from process_image_job.segmenters.colour_models import (
    background_histogram,
    garment_histogram,
    likelihood,
)
from process_image_job.segmenters.working import Working
from process_image_job.values import Mask

_LIKELY = -0.7  # log-likelihood from which a pixel is looked at
_PLAINLY = 4.0  # and what a whole region must have: a print in the wall's colour has less
_LEAST = 0.004  # of the mask's picture
_LEAST_OUTSIDE = 0.05  # without a view of the background nothing can be compared with it
_SQUARE = np.ones((3, 3), np.uint8)


def with_holes(photo: Working, mask: Mask) -> Mask:
    """The mask (h, w) without regions that only the background's colours explain."""
    if float((~mask).mean()) < _LEAST_OUTSIDE:
        return mask
    outside = cv2.erode((~mask).astype(np.uint8), _SQUARE, iterations=2).astype(np.float32)
    background = likelihood(background_histogram(photo.cells, outside), photo.cells)
    garment = likelihood(garment_histogram(photo.cells, mask.astype(np.float32)), photo.cells)
    doubtful = mask & (cv2.blur(np.log(background / garment), (3, 3)) > _LIKELY)
    regions = cv2.morphologyEx(doubtful.astype(np.uint8), cv2.MORPH_OPEN, _SQUARE)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(regions, connectivity=4)
    result = mask.copy()
    for label in range(1, count):
        region = labels == label
        large = stats[label, cv2.CC_STAT_AREA] >= _LEAST * mask.size
        if large and _stands_out(photo, mask, region, background):
            result &= ~region
    return result


def _stands_out(photo: Working, mask: Mask, region: Mask, background: np.ndarray) -> bool:
    """Whether the rest of the garment has nothing like the region, while the background has."""
    wide = cv2.dilate(region.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    rest = garment_histogram(photo.cells, (mask & ~wide).astype(np.float32))
    odds = np.log(background[region] / likelihood(rest, photo.cells[region]))
    return float(odds.mean()) > _PLAINLY
