"""A picture too narrow to show a garment."""

from __future__ import annotations

import numpy as np

from process_image_job.segmenters.working import SIDE
from process_image_job.steps.scale import fitted
from process_image_job.values import ARCHIVE_SIDE, Photo, Segmented

_THINNEST = 8  # pixels of the working copy's shorter side


def strip(photo: Photo) -> Segmented | None:
    """All of a strip of a few pixels, in full doubt: there is no outline to find."""
    width, height = fitted(photo.width, photo.height, ARCHIVE_SIDE)
    if min(width, height) * min(1.0, SIDE / max(width, height)) >= _THINNEST:
        return None
    return Segmented(alpha=np.full((height, width), 255, np.uint8), confidence=0.0)
