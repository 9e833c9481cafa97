"""Garment or background, by colour and place: two models that explain each other's leftovers."""

from __future__ import annotations

import numpy as np

from process_image_job.segmenters.colour_models import (
    background_histogram,
    garment_histogram,
    likelihood,
    unexplained,
)
from process_image_job.segmenters.edge_smoothing import EdgeSmoother
from process_image_job.segmenters.level_light import LightLeveller
from process_image_job.segmenters.working import Working
from process_image_job.values import Floats

_FRAME = 0.08  # share of the sides that is taken to be background at first
_MID_SIDE = 0.15  # trust in the middle of a side, where garments touch the frame; corners have 1
_AGAINST_FRAME = 2.0
_FOR_CENTRE = 0.8
_CENTRE = 0.95
_COLOUR = 1.3
_MOST_COLOUR = 6.0
_EXPLAINED = 0.8  # share of the background's colours that is taken out of the middle
_ROUNDS = 6
_FIRST_BACKGROUND = 0.2  # weight that the frame keeps in later rounds


def _frame_trust(small: Working) -> Floats:
    """How surely each pixel (h, w) is background by its place alone: 1 in the corners."""
    corner = np.minimum(np.minimum(small.down, small.across) * 1.5, 1) ** 2
    trust = _MID_SIDE + (1 - _MID_SIDE) * corner
    return np.where(small.frame(_FRAME), trust, 0).astype(np.float32)


def fitted_probability(small: Working, smoother: EdgeSmoother, place: Floats) -> Floats:
    """The probability of garment (h, w), given what `place` adds to the evidence of colour.

    The background is modelled twice, as seen and under level light: a floor that is brighter
    between two trouser legs than at the border is still the same floor.
    """
    cells, trust = small.cells, _frame_trust(small)
    level = LightLeveller(small)
    middle = small.from_centre(_CENTRE, _CENTRE)
    prior = place + _FOR_CENTRE * np.clip(1 - middle, -1, 1) - _AGAINST_FRAME * trust
    seen = background_histogram(cells, trust)
    level_cells = level(trust)
    levelled = background_histogram(level_cells, trust)
    inside = garment_histogram(cells, (middle < 1).astype(np.float32))
    garment = unexplained(inside, seen, _EXPLAINED)
    probability = np.zeros(cells.shape, np.float32)
    for _ in range(_ROUNDS):
        background = np.sqrt(likelihood(seen, cells) * likelihood(levelled, level_cells))
        colour = _COLOUR * np.log(likelihood(garment, cells) / background)
        odds = np.clip(colour, -_MOST_COLOUR, _MOST_COLOUR) + prior
        probability = smoother((1 / (1 + np.exp(-odds))).astype(np.float32))
        sure = np.clip((probability - 0.5) * 4 + 0.5, 0, 1)
        ground = (1 - _FIRST_BACKGROUND) * (1 - sure) + _FIRST_BACKGROUND * trust
        seen = _refreshed(seen, background_histogram(cells, 1 - sure))
        level_cells = level(ground)
        levelled = background_histogram(level_cells, ground)
        garment = garment_histogram(cells, sure)
    return probability


def _refreshed(old: Floats, new: Floats) -> Floats:
    return (1 - _FIRST_BACKGROUND) * new + _FIRST_BACKGROUND * old
