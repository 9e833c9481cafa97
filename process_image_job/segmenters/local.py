"""The local segmenter: no network; better with a learned prior, good without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import cv2
import numpy as np

from process_image_job.garment_model import ModelUnavailableError
from process_image_job.segmenters.components import tidied
from process_image_job.segmenters.confidence import (
    OF_GUESSES,
    OF_MODEL,
    Calibration,
    plausible,
    sureness,
)
from process_image_job.segmenters.consensus import common_opinion, overlap
from process_image_job.segmenters.graph_cut import outlined
from process_image_job.segmenters.holes import with_holes
from process_image_job.segmenters.matting import full_alpha
from process_image_job.segmenters.working import working_copy
from process_image_job.steps.scale import area, fitted, flattened
from process_image_job.values import ARCHIVE_SIDE, Floats, Mask, Photo, Pixels, Segmented
from shared.domain.pictures import Caution

_OUTLINE_SIDE = 300  # pixels; where the outline is placed before the last refinement

Prior = Callable[[Pixels], Floats]


@dataclass(frozen=True, kw_only=True, slots=True)
class Refinement:
    """How the outline is placed, given how good the probability before it is."""

    undecided: float  # probabilities closer than this to 0 or 1 are not questioned again
    cuts_holes: bool  # where only the background's colours explain a region of the mask
    crumb: float  # loose parts smaller than this share of the largest are dropped
    sample: int  # the cut's first colours are looked for on a copy reduced that many times
    prior_weight: float  # of the probability in its mean with the cut, which draws the outline
    calibration: Calibration


# The model knows a print from a hole, but sees outlines coarsely: more of them is left to the cut.
# The guesses may leave nothing of a striped garment but its stripes; a second shoe is larger.
GUESSED = Refinement(
    undecided=0.2, cuts_holes=True, crumb=0.05, sample=1, prior_weight=0.0, calibration=OF_GUESSES
)
LEARNED = Refinement(
    undecided=0.1, cuts_holes=False, crumb=0.1, sample=2, prior_weight=0.3, calibration=OF_MODEL
)


class LocalSegmenter:
    """A `Segmenter`. `prior` gives a garment probability (h, w) for an RGB picture.

    Where the prior raises ModelUnavailableError, the classical guesses take its place and the
    photo carries the caution MODEL_UNAVAILABLE.
    """

    def __init__(self, prior: Prior | None = None) -> None:
        self._prior = prior

    def __call__(self, photo: Photo) -> Segmented:
        rgb = flattened(photo.rgb, photo.alpha)
        full = area(rgb, fitted(photo.width, photo.height, ARCHIVE_SIDE))
        small = area(full, fitted(photo.width, photo.height, _OUTLINE_SIDE))
        if self._prior is None:
            return _guessed(full, small)
        try:
            probability = self._prior(small)
        except ModelUnavailableError:
            return replace(_guessed(full, small), cautions=(Caution.MODEL_UNAVAILABLE,))
        return _refined(full, small, probability, None, LEARNED)


def _guessed(full: Pixels, small: Pixels) -> Segmented:
    opinion = common_opinion(small)
    return _refined(full, small, opinion.probability, opinion.agreement, GUESSED)


def _refined(
    full: Pixels, small: Pixels, rough: Floats, agreement: float | None, how: Refinement
) -> Segmented:
    """The garment with its outline on the edges of the photo.

    Without an `agreement` of several guesses, that of the mask with the one guess counts.
    """
    probability = cv2.resize(rough.astype(np.float32), (small.shape[1], small.shape[0]))
    likely = tidied(probability > 0.5, how.crumb)
    surely, surely_not = probability > 1 - how.undecided, probability < how.undecided
    cut = outlined(small, likely, surely, surely_not, how.sample)
    if how.prior_weight:
        cut = _smoothed(cut, probability, how.prior_weight)
    photo, mask = working_copy(small, _OUTLINE_SIDE), tidied(cut, how.crumb)
    if how.cuts_holes:
        mask = with_holes(photo, mask)
    agreed = overlap(mask, likely) if agreement is None else agreement
    chance = how.calibration.chance(agreed, sureness(probability))
    return Segmented(
        alpha=full_alpha(full, mask.astype(np.float32)),
        confidence=chance if plausible(photo, mask) else 0.0,
    )


def _smoothed(cut: Mask, probability: Floats, weight: float) -> Mask:
    """The cut without its thin teeth and notches, but where the probability wants them."""
    evened = cv2.blur(cut.astype(np.float32), (5, 5))
    return (1 - weight) * evened + weight * probability > 0.5
