"""How hard it is to walk from the border of a picture to each pixel.

A wall or a floor reaches the border; a garment is shut off from it by its outline. The geodesic
distance, (h, w) and 0 on the border, is computed by sweeps over rows and columns, as in Criminisi
et al. 2008.
"""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np

from process_image_job.values import Floats

_FAR = 1e6
_SWEEPS = 2
_GRAIN = 2.0  # steps below this are cloth grain and slow light, not outlines


def path_distance(lab: Floats) -> Floats:
    """The least sum of colour steps on any way in; slow changes of light cost nothing."""
    distance = _at_border(lab)
    for _ in range(_SWEEPS):
        for turned in (False, True):
            view, colours = _turned(distance, turned), _turned(lab, turned)
            cost = np.maximum(np.abs(np.diff(colours, axis=0)).sum(axis=-1) - _GRAIN, 0)
            for here, before in _both_ways(len(view)):
                np.minimum(view[here], view[before] + cost[min(here, before)], out=view[here])
    return distance


def as_evidence(distance: Floats) -> Floats:
    """The distance as evidence for the garment, -1..1, zero just below its natural threshold."""
    smooth = cv2.GaussianBlur(distance, (0, 0), 0.7)
    capped = np.minimum(smooth, np.percentile(smooth, 98))
    top = max(float(capped.max()), 1e-6)
    level, _ = cv2.threshold((capped / top * 255).astype(np.uint8), 0, 255, cv2.THRESH_OTSU)
    split = max(level / 255 * top, 1e-3)
    evidence: Floats = np.tanh(2 * np.log((smooth + 0.1 * split) / (0.75 * split)))
    return evidence


def _at_border(lab: Floats) -> Floats:
    distance = np.full(lab.shape[:2], _FAR, np.float32)
    distance[[0, -1]] = 0
    distance[:, [0, -1]] = 0
    return distance


def _turned(plane: Floats, turned: bool) -> Floats:
    return plane.swapaxes(0, 1) if turned else plane


def _both_ways(rows: int) -> Iterator[tuple[int, int]]:
    """Each row with the one it is reached from, downwards and then upwards."""
    yield from ((row, row - 1) for row in range(1, rows))
    yield from ((row, row + 1) for row in range(rows - 2, -1, -1))
