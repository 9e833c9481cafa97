"""What training reads: photos with soft mask labels, and bare backgrounds cut from them."""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

SIDE = 256  # photos are kept at this size; training warps them to 128 .. 192
BACKGROUND_SIDE = 128
_GRID = 32  # a background rectangle is looked for on this grid
_LEAST_BACKGROUND_SHARE = 0.08  # of the photo, else its background is not used


@dataclass(frozen=True, kw_only=True)
class Lessons:
    """All photos in memory: RGB and mask label in one four-channel array."""

    rgbm: np.ndarray  # uint8 [N,SIDE,SIDE,4], the last channel is the mask label
    labels: np.ndarray  # int [N]
    trust: np.ndarray  # float32 [N], weight of the photo's mask
    backgrounds: np.ndarray  # uint8 [M,BACKGROUND_SIDE,BACKGROUND_SIDE,3]


def load_lessons(cache: Path) -> Lessons:
    """Reads what `training.teach` wrote."""
    with np.load(cache) as stored:
        rgb, labels = stored["rgb"], stored["labels"]
        teacher, refined = stored["teacher"], stored["refined"]
    rgbm = np.stack([_with_label(*arrays) for arrays in zip(rgb, teacher, refined, strict=True)])
    trust = np.array([_trust(*pair) for pair in zip(teacher, refined, strict=True)], np.float32)
    backgrounds = [crop for picture in rgbm if (crop := bare_background(picture)) is not None]
    return Lessons(rgbm=rgbm, labels=labels, trust=trust, backgrounds=np.stack(backgrounds))


def _with_label(rgb: np.ndarray, teacher: np.ndarray, refined: np.ndarray) -> np.ndarray:
    label = (teacher.astype(np.uint16) + refined + 1) // 2
    joined = np.dstack([rgb, label.astype(np.uint8)])
    return cv2.resize(joined, (SIDE, SIDE), interpolation=cv2.INTER_AREA)


def _trust(teacher: np.ndarray, refined: np.ndarray) -> float:
    """1 where both masks have an IoU of 0.95 or more, 0.1 from 0.6 down."""
    first, second = teacher > 127, refined > 127
    union = np.count_nonzero(first | second)
    overlap = np.count_nonzero(first & second) / union if union else 0.0
    return float(np.clip((overlap - 0.6) / 0.35, 0.1, 1.0))


def bare_background(rgbm: np.ndarray) -> np.ndarray | None:
    """The largest rectangle of the photo without garment, or None where it is too small."""
    spread = cv2.dilate(rgbm[..., 3], np.ones((9, 9), np.uint8))
    taken = cv2.resize(spread, (_GRID, _GRID), interpolation=cv2.INTER_AREA) > 12
    top, bottom, left, right = _largest_free(taken)
    if (bottom - top) * (right - left) < _LEAST_BACKGROUND_SHARE * _GRID * _GRID:
        return None
    scale = rgbm.shape[0] // _GRID
    crop = rgbm[top * scale : bottom * scale, left * scale : right * scale, :3]
    return cv2.resize(crop, (BACKGROUND_SIDE, BACKGROUND_SIDE), interpolation=cv2.INTER_AREA)


def _largest_free(taken: np.ndarray) -> tuple[int, int, int, int]:
    """Top, bottom, left, right of the largest all-False rectangle, by growing row ranges."""
    best, best_area = (0, 0, 0, 0), 0
    for top in range(taken.shape[0]):
        blocked = np.zeros(taken.shape[1], bool)
        for bottom in range(top + 1, taken.shape[0] + 1):
            blocked |= taken[bottom - 1]
            left, right = _longest_run(~blocked)
            if (bottom - top) * (right - left) > best_area:
                best, best_area = (top, bottom, left, right), (bottom - top) * (right - left)
    return best


def _longest_run(free: np.ndarray) -> tuple[int, int]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], free.astype(np.int8), [0]])))
    if not edges.size:
        return 0, 0
    starts, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - starts))
    return int(starts[longest]), int(ends[longest])
