"""What colours the garment and its background are made of: smoothed histograms in CIELAB."""

from __future__ import annotations

import cv2
import numpy as np

from process_image_job.segmenters.working import LEVELS, Cells
from process_image_job.values import Floats

_HUE_BLUR = 0.7  # cells
_GARMENT_LIGHT_BLUR = 0.7
_BACKGROUND_LIGHT_BLUR = 1.5  # walls and floors are lit less evenly than a garment
_UNSEEN = 1e-5


def garment_histogram(cells: Cells, weight: Floats) -> Floats:
    """Flat histogram (cells of `LEVELS`) of the pixels, each counted by its weight; sums to 1."""
    return _histogram(cells, weight, _GARMENT_LIGHT_BLUR)


def background_histogram(cells: Cells, weight: Floats) -> Floats:
    """The same, with more tolerance for light and shade."""
    return _histogram(cells, weight, _BACKGROUND_LIGHT_BLUR)


def unexplained(everything: Floats, background: Floats, share: float) -> Floats:
    """What remains of a model when `share` of it is taken to be background."""
    rest = np.maximum(everything - share * np.minimum(background, everything), 0)
    rest += 0.02 * everything
    return _normal(rest)


def likelihood(model: Floats, cells: Cells) -> Floats:
    """How common each pixel's colour is in the model; (h, w), never 0."""
    found: Floats = model[cells] + np.float32(_UNSEEN)
    return found


def _histogram(cells: Cells, weight: Floats, light_blur: float) -> Floats:
    light, green, blue = LEVELS
    counts = np.bincount(cells.ravel(), weight.ravel(), light * green * blue).astype(np.float32)
    # Three blurs along the first axis, the axes moving round by one after each.
    smooth = _blurred(counts.reshape(light, -1), light_blur)
    smooth = _blurred(_rotated(smooth, (light, green, blue)), _HUE_BLUR)
    smooth = _blurred(_rotated(smooth, (green, blue, light)), _HUE_BLUR)
    flat: Floats = _rotated(smooth, (blue, light, green)).ravel()
    return _normal(flat)


def _normal(model: Floats) -> Floats:
    """The same model, summing to 1."""
    return (model / max(float(model.sum()), 1e-9)).astype(np.float32)


def _blurred(rows: Floats, sigma: float) -> Floats:
    kernel = cv2.getGaussianKernel(9 if sigma > 1 else 5, sigma).astype(np.float32)
    one = np.ones(1, np.float32)
    return cv2.sepFilter2D(rows, -1, one, kernel, borderType=cv2.BORDER_CONSTANT)


def _rotated(rows: Floats, shape: tuple[int, int, int]) -> Floats:
    turned = rows.reshape(shape).transpose(1, 2, 0)
    return np.ascontiguousarray(turned).reshape(shape[1], -1)
