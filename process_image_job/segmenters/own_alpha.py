"""A picture that somebody has cut out already."""

from __future__ import annotations

import numpy as np

from process_image_job.steps.scale import area, fitted
from process_image_job.values import ARCHIVE_SIDE, Photo, Segmented

_HIDDEN, _SHOWN = 16, 240  # alpha that counts as background, as garment
_LEAST, _MOST = 0.02, 0.97  # share of the picture a garment may cover


def own_alpha(photo: Photo) -> Segmented | None:
    """The picture's alpha as its mask; None where it does not set a subject apart."""
    if photo.alpha is None:
        return None
    shown = float(np.mean(photo.alpha >= _SHOWN))
    hidden = float(np.mean(photo.alpha <= _HIDDEN))
    if not (_LEAST <= shown <= _MOST and hidden >= 1 - _MOST):
        return None
    size = fitted(photo.width, photo.height, ARCHIVE_SIDE)
    return Segmented(alpha=area(photo.alpha, size), confidence=1.0)
