"""How far a mask can be trusted, as a chance that a person would keep the cut-out."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from process_image_job.segmenters.working import Working
from process_image_job.values import Floats, Mask

_LEAST, _MOST = 0.02, 0.98  # share of the picture a garment may cover
_FAINTEST = 9.0  # colour step across an outline; cloth grain and noise stay below


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """What a mean of agreement and sureness has been worth, on the 328 reference masks.

    `usable` is the share of cut-outs with that mean that overlapped the true garment by at least
    0.8; between the pairs it is interpolated. Of the model's masks hardly any had less than 0.75:
    its values below that are assumed.
    """

    seen: tuple[float, ...]
    usable: tuple[float, ...]

    def chance(self, agreement: float, sure: float) -> float:
        """How likely such a cut-out is usable."""
        return float(np.interp((agreement + sure) / 2, self.seen, self.usable))


OF_GUESSES = Calibration(
    seen=(0.30, 0.60, 0.75, 0.85, 0.92, 1.0), usable=(0.05, 0.50, 0.65, 0.82, 0.98, 1.0)
)
OF_MODEL = Calibration(
    seen=(0.30, 0.60, 0.80, 0.88, 0.94, 1.0), usable=(0.05, 0.50, 0.75, 0.95, 0.99, 1.0)
)


def plausible(photo: Working, mask: Mask) -> bool:
    """Whether a mask (h, w) of a photo of that size covers a garment's share, along an edge."""
    return _LEAST <= float(mask.mean()) <= _MOST and _contrast(photo, mask) >= _FAINTEST


def sureness(probability: Floats) -> float:
    """1 where every pixel that may be garment is decided, 0 where all are a toss-up."""
    possible = probability > 0.2
    if not possible.any():
        return 0.0
    doubt = np.minimum(probability, 1 - probability)[possible]
    return float(1 - 2 * doubt.mean())


def _contrast(photo: Working, mask: Mask) -> float:
    """The median colour step across the outline of the mask."""
    square = np.ones((3, 3), np.uint8)
    outline = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_GRADIENT, square) > 0
    if not outline.any():
        return 0.0
    calm = cv2.GaussianBlur(photo.lab, (0, 0), 0.8)
    steps = sum(cv2.morphologyEx(plane, cv2.MORPH_GRADIENT, square) for plane in cv2.split(calm))
    return float(np.median(steps[outline]))
