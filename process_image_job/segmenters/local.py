"""The local segmenter: no network, no learned weights needed, a fraction of a second."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from process_image_job.segmenters.own_alpha import MASK_SIDE
from process_image_job.steps.scale import area, fitted, flattened
from process_image_job.values import Photo, Pixels, Segmented

_WORKING_SIDE = 320
_FRAME = 0.04


class LocalSegmenter:
    """GrabCut started from a model of the border, refined at full size."""

    def __call__(self, photo: Photo) -> Segmented:
        rgb = flattened(photo.rgb, photo.alpha)
        full = area(rgb, fitted(photo.width, photo.height, MASK_SIDE))
        small = area(full, fitted(photo.width, photo.height, _WORKING_SIDE))
        garment = _grab(small)
        alpha = _refined(full, garment)
        share = float(garment.mean())
        return Segmented(alpha=alpha, confidence=1.0 if 0.02 < share < 0.98 else 0.0)


def _grab(small: Pixels) -> NDArray[np.uint8]:
    height, width = small.shape[:2]
    edge_x, edge_y = max(1, round(width * _FRAME)), max(1, round(height * _FRAME))
    state = np.full((height, width), cv2.GC_BGD, np.uint8)
    state[edge_y:-edge_y, edge_x:-edge_x] = cv2.GC_PR_FGD
    cv2.setRNGSeed(1)
    models = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.grabCut(small, state, None, *models, 5, cv2.GC_INIT_WITH_MASK)
    return (state & 1).astype(np.uint8)


def _refined(full: Pixels, garment: NDArray[np.uint8]) -> Pixels:
    size = full.shape[1], full.shape[0]
    soft = cv2.GaussianBlur(garment.astype(np.float32), (0, 0), 1.0)
    return (cv2.resize(soft, size, interpolation=cv2.INTER_CUBIC).clip(0, 1) * 255).astype(np.uint8)
