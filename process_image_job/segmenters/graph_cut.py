"""GrabCut (Rother et al. 2004) in CIELAB: once to guess, once to place the outline."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from process_image_job.segmenters.working import Working
from process_image_job.values import Mask, Pixels

_CHROMA = 2.0  # hue counts double
_FRAME, _CORNERS = 0.03, 0.015  # share of the sides that is surely background
_GUESS_ROUNDS = 3


def guess_from_frame(small: Working) -> Mask:
    """Everything inside a frame of background."""
    state = np.where(small.frame(_FRAME), cv2.GC_BGD, cv2.GC_PR_FGD)
    return _cut(small.rgb, state, _GUESS_ROUNDS)


def guess_from_ellipse(small: Working) -> Mask:
    """What fills the middle; only the corners are surely background."""
    outside = small.from_centre(0.9, 0.9)
    state = np.where(outside > 1, cv2.GC_PR_BGD, cv2.GC_PR_FGD)
    state[small.frame(_CORNERS) & (outside > 1.2)] = cv2.GC_BGD
    return _cut(small.rgb, state, _GUESS_ROUNDS)


def outlined(rgb: Pixels, rough: Mask, surely: Mask, surely_not: Mask, sample: int) -> Mask:
    """The rough mask with its outline moved to the edges of the picture; sure pixels stay.

    The first colours are looked for on a copy reduced `sample` times.
    """
    state = np.where(rough, cv2.GC_PR_FGD, cv2.GC_PR_BGD)
    state[surely] = cv2.GC_FGD
    state[surely_not] = cv2.GC_BGD
    return _cut(rgb, state, rounds=1, sample=sample)


def _cut(rgb: Pixels, state: NDArray[np.integer], rounds: int, sample: int = 1) -> Mask:
    """GrabCut from a state; the state itself where it names no garment or no background.

    The clusters of colours that it starts from are found on a copy reduced `sample` times: from a
    good state as well as on the whole picture, in two thirds of the time.
    """
    mask = state.astype(np.uint8)
    lab = _lab(rgb)
    few = cv2.resize(lab, None, fx=1 / sample, fy=1 / sample, interpolation=cv2.INTER_AREA)
    few_mask = cv2.resize(mask, few.shape[1::-1], interpolation=cv2.INTER_NEAREST)
    garment = (few_mask & 1).astype(bool)
    if garment.all() or not garment.any():
        return (mask & 1).astype(bool)
    cv2.setRNGSeed(1)  # its clusters start at random; the same photo must give the same mask
    models = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.grabCut(few, few_mask, None, *models, 0, cv2.GC_INIT_WITH_MASK)
    cv2.grabCut(lab, mask, None, *models, rounds, cv2.GC_EVAL)
    return (mask & 1).astype(bool)


def _lab(rgb: Pixels) -> Pixels:
    lab = cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB).astype(np.float32)
    lab[..., 1:] = (lab[..., 1:] - 128) * _CHROMA + 128
    return lab.clip(0, 255).astype(np.uint8)
