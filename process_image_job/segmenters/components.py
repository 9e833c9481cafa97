"""Clears a mask of crumbs and pinholes; real holes stay open."""

from __future__ import annotations

import cv2
import numpy as np

from process_image_job.values import Mask

_PINHOLE = 0.001  # of the picture; the inside of a hanger or between straps is larger


def tidied(mask: Mask, crumb: float) -> Mask:
    """The mask without loose parts smaller than `crumb` of the largest, and without pinholes."""
    return _without_pinholes(_without_crumbs(mask, crumb))


def _without_crumbs(mask: Mask, crumb: float) -> Mask:
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    if count <= 2:
        return mask
    areas = stats[:, cv2.CC_STAT_AREA].copy()
    areas[0] = 0
    kept = areas >= crumb * areas.max()
    cleared: Mask = kept[labels]
    return cleared


def _without_pinholes(mask: Mask) -> Mask:
    _, labels, stats, _ = cv2.connectedComponentsWithStats((~mask).astype(np.uint8), connectivity=4)
    filled = stats[:, cv2.CC_STAT_AREA] < _PINHOLE * mask.size
    filled[0] = False
    filled[np.unique(np.concatenate([labels[[0, -1]].ravel(), labels[:, [0, -1]].ravel()]))] = False
    closed: Mask = mask | filled[labels]
    return closed
