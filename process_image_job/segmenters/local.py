"""The local segmenter: no network; better with a learned prior, good without one."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from process_image_job.garment_model import ModelUnavailableError
from process_image_job.segmenters.components import tidied
from process_image_job.segmenters.confidence import confidence, sureness
from process_image_job.segmenters.consensus import Opinion, common_opinion
from process_image_job.segmenters.graph_cut import outlined
from process_image_job.segmenters.matting import full_alpha
from process_image_job.segmenters.openings import opened
from process_image_job.segmenters.own_alpha import MASK_SIDE
from process_image_job.segmenters.working import SIDE, Floats, working_copy
from process_image_job.steps.scale import area, fitted, flattened
from process_image_job.values import Photo, Pixels, Segmented
from shared.domain.pictures import Caution

_OUTLINE_SIDE = 300  # pixels; where the outline is placed before the last refinement
_THINNEST = 8  # pixels of the working copy's shorter side
_UNDECIDED = 0.2  # probabilities closer than this to 0 or 1 are not questioned again

Prior = Callable[[Pixels], Floats]


class LocalSegmenter:
    """A `Segmenter`. `prior` gives a garment probability (h, w) for an RGB picture.

    Where the prior raises ModelUnavailableError, the classical guesses take its place and the
    photo carries the caution MODEL_UNAVAILABLE.
    """

    def __init__(self, prior: Prior | None = None) -> None:
        self._prior = prior

    def __call__(self, photo: Photo) -> Segmented:
        rgb = flattened(photo.rgb, photo.alpha)
        full = area(rgb, fitted(photo.width, photo.height, MASK_SIDE))
        medium = area(full, fitted(photo.width, photo.height, _OUTLINE_SIDE))
        if _too_narrow(medium):
            return Segmented(alpha=np.full(full.shape[:2], 255, np.uint8), confidence=0.0)
        opinion, cautions = self._opinion(medium)
        mask, sure = _placed(medium, opinion)
        return Segmented(alpha=full_alpha(full, mask), confidence=sure, cautions=cautions)

    def _opinion(self, rgb: Pixels) -> tuple[Opinion, tuple[Caution, ...]]:
        if self._prior is None:
            return common_opinion(rgb), ()
        try:
            probability = self._prior(rgb)
        except ModelUnavailableError:
            return common_opinion(rgb), (Caution.MODEL_UNAVAILABLE,)
        return Opinion(probability=probability, agreement=sureness(probability)), ()


def _too_narrow(rgb: Pixels) -> bool:
    """A strip of a few pixels at working size has no outline of a garment to find."""
    height, width = rgb.shape[:2]
    return min(height, width) * min(1.0, SIDE / max(height, width)) < _THINNEST


def _placed(rgb: Pixels, opinion: Opinion) -> tuple[Floats, float]:
    """The garment (h, w) with its outline on the edges of the picture, and its confidence."""
    probability = cv2.resize(opinion.probability.astype(np.float32), (rgb.shape[1], rgb.shape[0]))
    rough = tidied(probability > 0.5)
    cut = outlined(rgb, rough, probability > 1 - _UNDECIDED, probability < _UNDECIDED)
    photo = working_copy(rgb, _OUTLINE_SIDE)
    mask = opened(photo, tidied(cut))
    sure = confidence(photo, mask, probability, opinion.agreement)
    return mask.astype(np.float32), sure
