"""Smooths a probability inside areas of one colour and not across their outlines.

Row and column passes of a tridiagonal system, as in the fast global smoother (Min et al. 2014).
What depends on the picture alone is worked out once and used for every probability.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from process_image_job.values import Floats

_STRENGTH = 100.0
_PASSES = 3
_NOISE = 4.0  # squared colour difference that is never an outline
_WEAKEST = 1e-3  # even a sharp outline lets this much through


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Sweep:
    """One factorised pass along axis 0, or along axis 1 when turned."""

    turned: bool
    upper: Floats  # link to the next row
    carry: Floats
    scale: Floats


class EdgeSmoother:
    """Smooths (h, w) planes along the colours of one picture."""

    def __init__(self, lab: Floats) -> None:
        calm = cv2.GaussianBlur(lab, (0, 0), 0.7)
        steps = [(np.diff(calm, axis=axis) ** 2).sum(axis=-1) for axis in (0, 1)]
        spread = 0.5 * float(steps[0].mean() + steps[1].mean()) + _NOISE
        links = [np.exp(-step / spread) + _WEAKEST for step in steps]
        self._sweeps = [
            _factorised(links[axis].T if axis else links[axis], _strength(turn), turned=bool(axis))
            for turn in range(_PASSES)
            for axis in (0, 1)
        ]

    def __call__(self, plane: Floats) -> Floats:
        for sweep in self._sweeps:
            view = plane.T if sweep.turned else plane
            solved = _solved(sweep, view)
            plane = solved.T if sweep.turned else solved
        return plane


def _strength(turn: int) -> float:
    """Falling from pass to pass, so that the last one leaves no streaks."""
    return 1.5 * _STRENGTH * 4.0 ** (_PASSES - turn - 1) / (4.0**_PASSES - 1)


def _factorised(links: Floats, strength: float, *, turned: bool) -> _Sweep:
    upper = np.ascontiguousarray(links * np.float32(strength))
    rows = len(upper) + 1
    diagonal = np.ones((rows, upper.shape[1]), np.float32)
    diagonal[:-1] += upper
    diagonal[1:] += upper
    carry, scale = np.zeros_like(diagonal), np.empty_like(diagonal)
    scale[0] = 1 / diagonal[0]
    for row in range(1, rows):
        carry[row - 1] = upper[row - 1] * scale[row - 1]
        scale[row] = 1 / (diagonal[row] - upper[row - 1] * carry[row - 1])
    return _Sweep(turned=turned, upper=upper, carry=carry, scale=scale)


def _solved(sweep: _Sweep, right: Floats) -> Floats:
    result = np.ascontiguousarray(right, np.float32) * sweep.scale
    lower = sweep.upper * sweep.scale[1:]
    for row in range(1, len(result)):
        result[row] += lower[row - 1] * result[row - 1]
    for row in range(len(result) - 2, -1, -1):
        result[row] += sweep.carry[row] * result[row + 1]
    return result
