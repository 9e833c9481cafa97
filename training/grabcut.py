"""GrabCut (Rother et al., 2004) started from a soft mask: the second teacher."""

import cv2
import numpy as np

SURE_GARMENT, SURE_BACKGROUND = 0.9, 0.1  # certainty that GrabCut must keep
ROUNDS = 3
_LEAST_SEED_PIXELS = 50


def seeded_grabcut(rgb: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Bool mask [H,W] of RGB [H,W,3] and probabilities [H,W].

    The soft mask's own where either side has hardly a pixel to learn from.
    """
    seeds = np.where(probability > 0.5, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
    seeds[probability > SURE_GARMENT] = cv2.GC_FGD
    seeds[probability < SURE_BACKGROUND] = cv2.GC_BGD
    garment = (seeds & 1).astype(bool)  # both garment labels are odd
    if min(garment.sum(), (~garment).sum()) < _LEAST_SEED_PIXELS:
        return probability > 0.5
    cv2.setRNGSeed(1)
    background_model, garment_model = np.zeros((1, 65)), np.zeros((1, 65))
    bgr = np.ascontiguousarray(rgb[..., ::-1])
    mode = cv2.GC_INIT_WITH_MASK
    cv2.grabCut(bgr, seeds, None, background_model, garment_model, ROUNDS, mode)
    return (seeds & 1).astype(bool)
