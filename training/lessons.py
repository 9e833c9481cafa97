"""The training set: photos with the pseudo-labels of `training.teach`, and what is cut out of them.

Bare backgrounds and plain cloth are cut out: random views lay garments on them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

SIDE = 256  # photos are kept at this size; training warps them to 128 .. 224
BACKGROUND_SIDE = 128
_GRID = 32  # a background rectangle is looked for on this grid
_LEAST_SHARE = 0.08  # of the photo, else its background or cloth is not used


@dataclass(frozen=True, kw_only=True)
class Lessons:
    """All photos in memory: RGB and mask label in one four-channel array."""

    rgbm: np.ndarray  # uint8 [N,SIDE,SIDE,4], the last channel is the mask label
    labels: np.ndarray  # int [N]
    trust: np.ndarray  # float32 [N], weight of the photo's mask
    backgrounds: np.ndarray  # uint8 [M,BACKGROUND_SIDE,BACKGROUND_SIDE,3]
    cloths: np.ndarray  # the same of the insides of garments


def load_lessons(cache: Path) -> Lessons:
    """Reads what `training.teach` wrote.

    Raises ValueError where no label leaves background or cloth, as after an epoch or two.
    """
    with np.load(cache) as stored:
        rgb, labels = stored["rgb"], stored["labels"]
        teacher, refined = stored["teacher"], stored["refined"]
    rgbm = np.stack([_with_label(*arrays) for arrays in zip(rgb, teacher, refined, strict=True)])
    trust = np.array([_trust(*pair) for pair in zip(teacher, refined, strict=True)], np.float32)
    return Lessons(
        rgbm=rgbm,
        labels=labels,
        trust=trust,
        backgrounds=_crops(rgbm, bare_background),
        cloths=_crops(rgbm, plain_cloth),
    )


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
    """The largest rectangle that the garment keeps away from, or None where it is too small."""
    spread = cv2.dilate(rgbm[..., 3], np.ones((9, 9), np.uint8))
    return _crop(rgbm, cv2.resize(spread, (_GRID, _GRID), interpolation=cv2.INTER_AREA) <= 12)


def plain_cloth(rgbm: np.ndarray) -> np.ndarray | None:
    """The largest rectangle within the garment, or None where it is too small."""
    label = rgbm[..., 3]
    return _crop(rgbm, cv2.resize(label, (_GRID, _GRID), interpolation=cv2.INTER_AREA) >= 243)


def _crops(rgbm: np.ndarray, cut: Callable[[np.ndarray], np.ndarray | None]) -> np.ndarray:
    found = [crop for picture in rgbm if (crop := cut(picture)) is not None]
    if not found:
        raise ValueError(f"no photo has a {cut.__name__}: its labels are worth nothing")
    return np.stack(found)


def _crop(rgbm: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    top, bottom, left, right = _largest_rectangle(wanted)
    if (bottom - top) * (right - left) < _LEAST_SHARE * _GRID * _GRID:
        return None
    scale = rgbm.shape[0] // _GRID
    crop = rgbm[top * scale : bottom * scale, left * scale : right * scale, :3]
    return cv2.resize(crop, (BACKGROUND_SIDE, BACKGROUND_SIDE), interpolation=cv2.INTER_AREA)


def _largest_rectangle(wanted: np.ndarray) -> tuple[int, int, int, int]:
    """Top, bottom, left, right of the largest all-True rectangle, by growing row ranges."""
    best, best_area = (0, 0, 0, 0), 0
    for top in range(wanted.shape[0]):
        free = np.ones(wanted.shape[1], bool)
        for bottom in range(top + 1, wanted.shape[0] + 1):
            free &= wanted[bottom - 1]
            left, right = _longest_run(free)
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
