"""Takes the slow change of light out of a background: vignettes, flash, a window at one side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from process_image_job.segmenters.working import Cells, Working, cells_of
from process_image_job.values import Floats

_MOST = 25.0  # of 100; light that changes by more is not slow light
_OUTLIER = 12.0
_STIFFNESS = 0.02
_BRIGHTEST = 99.9


class LightLeveller:
    """Fits a second-degree surface to the lightness of the background and takes it away."""

    def __init__(self, small: Working) -> None:
        height, width = small.shape
        down = np.linspace(-1, 1, height)[:, None] * np.ones((1, width))
        across = np.linspace(-1, 1, width)[None] * np.ones((height, 1))
        terms = [np.ones_like(down), across, down, across**2, down**2, across * down]
        self._terms = np.stack(terms, axis=-1).reshape(-1, len(terms))
        self._lab = small.plain_lab

    def __call__(self, background: Floats) -> Cells:
        """Histogram cells (h, w) of the picture as if the background (weights) were lit evenly."""
        surface = self._surface(background)
        surface -= np.average(surface, weights=background)
        lab = self._lab.copy()
        lab[..., 0] = np.clip(lab[..., 0] - np.clip(surface, -_MOST, _MOST), 0, _BRIGHTEST)
        return cells_of(lab)

    def _surface(self, background: Floats) -> NDArray[np.float64]:
        """Least squares, reweighted once with Cauchy weights: what does not fit counts less."""
        light = self._lab[..., 0].ravel().astype(np.float64)
        weight = background.ravel().astype(np.float64)
        stiffness = np.diag([0.0, 1, 1, 1, 1, 1]) * _STIFFNESS * weight.sum()
        fitted = np.zeros_like(light)
        for _ in range(2):
            weighted = self._terms * weight[:, None]
            factors = np.linalg.solve(weighted.T @ self._terms + stiffness, weighted.T @ light)
            fitted = self._terms @ factors
            weight = background.ravel() / (1 + ((light - fitted) / _OUTLIER) ** 2)
        return fitted.reshape(background.shape)
