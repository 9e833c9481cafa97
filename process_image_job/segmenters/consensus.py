"""Three independent guesses at the garment, and one opinion out of them."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from process_image_job.segmenters.border_distance import as_evidence, path_distance
from process_image_job.segmenters.colour_fit import fitted_probability
from process_image_job.segmenters.edge_smoothing import EdgeSmoother
from process_image_job.segmenters.graph_cut import guess_from_ellipse, guess_from_frame
from process_image_job.segmenters.working import working_copy
from process_image_job.values import Floats, Mask, Pixels

_CUT_SIDE = 160  # GrabCut loses thin parts below this
_ENCLOSED = 0.8  # weight of being shut off from the border
_FIT_VOTES = 1.8  # of the colour fit, which is right more often than either cut
_VETO, _VETOED = 0.1, 0.4  # what the fit surely calls wall is wall; cuts take shadows for cloth
_LOST = 0.1  # agreement that a cut takes with it when it has no vote
_COLLAPSED = 0.5  # a cut that finds less than this of the fit's area has lost the garment


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Opinion:
    """The probability of garment (h, w) and how far the guesses behind it agree, 0..1."""

    probability: Floats
    agreement: float


def common_opinion(rgb: Pixels) -> Opinion:
    """What the guesses say together about a photo. They fail on different photos."""
    medium = working_copy(rgb, _CUT_SIDE)
    fit = cv2.resize(_colour_fit(rgb), medium.shape[::-1])
    cuts = [guess_from_frame(medium), guess_from_ellipse(medium)]
    area = float((fit > 0.5).mean())
    votes = [cut for cut in cuts if cut.mean() >= _COLLAPSED * area]
    total = _FIT_VOTES * fit + sum(vote.astype(np.float32) for vote in votes)
    probability = total / (_FIT_VOTES + len(votes))
    probability = np.where(fit < _VETO, np.minimum(probability, _VETOED), probability)
    together = probability > 0.5
    agreement = float(np.mean([overlap(guess, together) for guess in (fit > 0.5, *votes)]))
    lost = _LOST * (len(cuts) - len(votes))
    return Opinion(probability=probability, agreement=max(0.0, agreement - lost))


def overlap(one: Mask, other: Mask) -> float:
    """Intersection over union; 1 where both are empty."""
    union = int((one | other).sum())
    return float((one & other).sum()) / union if union else 1.0


def _colour_fit(rgb: Pixels) -> Floats:
    small = working_copy(rgb)
    calm = cv2.GaussianBlur(small.lab, (0, 0), 0.8)
    enclosed = as_evidence(path_distance(calm))
    return fitted_probability(small, EdgeSmoother(small.lab), _ENCLOSED * enclosed)
