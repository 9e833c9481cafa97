"""From a rough mask to an alpha at full size that follows the edges of the photo.

A guided filter (He et al. 2010) with colour as its guide. Its factors are worked out on a smaller
copy and applied to the full picture, as in its fast form (He and Sun 2015).
"""

from __future__ import annotations

import cv2
import numpy as np

from process_image_job.values import Floats, Pixels

_GUIDE_SIDE = 512
_GUIDE_SHARE = 0.6  # of the photo: a finer guide costs more and moves no outline
_RADIUS = 4  # pixels of the guide
_SMOOTHNESS = 2e-4  # squared colour difference that counts as flat
_BAND = 0.012  # of the longest side: how far from the rough outline the alpha may move
_SNAP = 12  # alpha this close to none or all is none or all: it is noise that no one sees
_LEVELS = np.arange(256)
_SNAPPED = np.where(_LEVELS < _SNAP, 0, np.where(_LEVELS > 255 - _SNAP, 255, _LEVELS)).astype(
    np.uint8
)
_STEEPNESS = 2.2  # the filter leaves edges softer than a lens does


def full_alpha(full: Pixels, rough: Floats) -> Pixels:
    """The alpha (H, W) of a photo from a mask (h, w) in 0..1 of any smaller size."""
    height, width = full.shape[:2]
    scale = min(_GUIDE_SHARE, _GUIDE_SIDE / max(height, width))
    size = max(2, round(width * scale)), max(2, round(height * scale))
    guide = cv2.resize(full, size, interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    mask = cv2.resize(rough.astype(np.float32), size, interpolation=cv2.INTER_LINEAR)
    solid = mask > 0.5
    factors, offset = _guided(guide, solid.astype(np.float32))
    alpha = _applied(full, factors, offset)
    alpha -= 0.5
    alpha *= _STEEPNESS * 255
    alpha += 127.5
    return _within_band(cv2.convertScaleAbs(np.maximum(alpha, 0)), solid)


def _guided(guide: Floats, mask: Floats) -> tuple[list[Floats], Floats]:
    """A factor (h, w) of each channel and an offset so that mask = guide . factors + offset nearby.

    Channels are kept apart: arrays of one plane are calculated with several times faster.
    """
    planes = cv2.split(guide)
    means, target = [_mean(plane) for plane in planes], _mean(mask)
    shared = [
        _mean(plane * mask) - mean * target for plane, mean in zip(planes, means, strict=True)
    ]
    pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    spread = {
        (i, j): _mean(planes[i] * planes[j]) - means[i] * means[j]
        + np.float32(_SMOOTHNESS if i == j else 0)
        for i, j in pairs
    }  # fmt: skip
    factors = _solved(spread, shared)
    offset = target - sum(factor * mean for factor, mean in zip(factors, means, strict=True))
    return [_mean(factor) for factor in factors], _mean(offset)


def _solved(spread: dict[tuple[int, int], Floats], right: list[Floats]) -> list[Floats]:
    """The symmetric 3 x 3 systems of all pixels at once, by cofactors."""
    a, b, c = spread[0, 0], spread[0, 1], spread[0, 2]
    d, e, f = spread[1, 1], spread[1, 2], spread[2, 2]
    aside = (b * f - c * e, b * e - c * d, a * e - b * c)  # of rows 1 2, 1 3 and 2 3
    rows = [
        (d * f - e * e, -aside[0], aside[1]),
        (-aside[0], a * f - c * c, -aside[2]),
        (aside[1], -aside[2], a * d - b * b),
    ]
    determinant = a * rows[0][0] + b * rows[0][1] + c * rows[0][2]
    return [(x * right[0] + y * right[1] + z * right[2]) / determinant for x, y, z in rows]


def _mean(plane: Floats) -> Floats:
    side = 2 * _RADIUS + 1
    mean: Floats = cv2.blur(plane, (side, side), borderType=cv2.BORDER_REFLECT)
    return mean


def _applied(full: Pixels, factors: list[Floats], offset: Floats) -> Floats:
    """The factors at full size, one channel at a time: 3 MP of floats are held, not 12."""
    size = full.shape[1], full.shape[0]
    alpha: Floats = cv2.resize(offset, size)
    for channel, factor in enumerate(factors):
        plane = cv2.extractChannel(full, channel).astype(np.float32)
        cv2.multiply(plane, cv2.resize(factor, size), plane, scale=1 / 255)
        cv2.add(alpha, plane, alpha)
    return alpha


def _within_band(alpha: Pixels, solid: np.ndarray) -> Pixels:
    """Alpha only near the outline; solid inside, nothing outside."""
    reach = max(1, round(max(solid.shape) * _BAND))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    mask = solid.astype(np.uint8) * 255
    size = alpha.shape[1], alpha.shape[0]
    inside = cv2.resize(
        cv2.erode(mask, kernel, borderValue=255), size, interpolation=cv2.INTER_NEAREST
    )
    outside = cv2.resize(cv2.dilate(mask, kernel), size, interpolation=cv2.INTER_NEAREST)
    whole: Pixels = cv2.LUT(cv2.min(cv2.max(alpha, inside), outside), _SNAPPED)
    return whole
