"""The small copy of a photo on which the garment is looked for, and what is measured on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from process_image_job.values import Floats, Pixels

SIDE = 112  # longest side in pixels: enough for the shape, a two-hundredth of the work
_CHROMA = 2.0  # cloth and wall differ in hue more reliably than in light, so hue counts double
LEVELS = (18, 26, 26)  # histogram cells of lightness and of the two hue axes
_HUE_REACH = 70.0  # CIELAB a and b of phone photos stay within this

Cells = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Working:
    """A photo at working size: its colours, their histogram cells, and the place of each pixel."""

    rgb: Pixels  # (h, w, 3)
    lab: Floats  # (h, w, 3) CIELAB, hue axes stretched
    plain_lab: Floats  # (h, w, 3) CIELAB as it is
    down: Floats  # (h, 1) distance from the middle row, 0..1
    across: Floats  # (1, w) distance from the middle column, 0..1

    @property
    def shape(self) -> tuple[int, int]:
        height, width = self.lab.shape[:2]
        return height, width

    @cached_property
    def cells(self) -> Cells:
        """(h, w) index into a flat histogram of `LEVELS`."""
        return cells_of(self.plain_lab)

    def frame(self, share: float) -> NDArray[np.bool_]:
        """True (h, w) in the outermost `share` of the picture."""
        return (self.down > 1 - 2 * share) | (self.across > 1 - 2 * share)

    def from_centre(self, height: float, width: float) -> Floats:
        """Squared distance from the centre; 1 on an ellipse that fills that share of the sides."""
        distance: Floats = (self.down / height) ** 2 + (self.across / width) ** 2
        return distance


def working_copy(rgb: Pixels, side: int = SIDE) -> Working:
    """The photo with its longest side at `side`."""
    height, width = rgb.shape[:2]
    scale = min(1.0, side / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
    lab = cv2.cvtColor(small.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    return Working(
        rgb=small,
        lab=lab * np.array([1, _CHROMA, _CHROMA], np.float32),
        plain_lab=lab,
        down=_from_middle(size[1])[:, None],
        across=_from_middle(size[0])[None],
    )


def cells_of(lab: Floats) -> Cells:
    """The histogram cell of each CIELAB colour."""
    light = lab[..., 0] / 100
    hues = (lab[..., 1:] + _HUE_REACH) / (2 * _HUE_REACH)
    steps = [
        np.clip((plane * count).astype(np.intp), 0, count - 1)
        for plane, count in zip((light, hues[..., 0], hues[..., 1]), LEVELS, strict=True)
    ]
    return (steps[0] * LEVELS[1] + steps[1]) * LEVELS[2] + steps[2]


def _from_middle(length: int) -> Floats:
    return np.abs((np.arange(length, dtype=np.float32) + 0.5) / length * 2 - 1)
