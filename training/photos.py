"""The photo sets: which files, in which order, and the small square copies that training reads."""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

CLASSES = (
    "dress",
    "hat",
    "longsleeve",
    "outwear",
    "pants",
    "shirt",
    "shoes",
    "shorts",
    "skirt",
    "t-shirt",
)

TEACHER_SIDE = 320  # the teacher's own input; masks are made and kept at this size


@dataclass(frozen=True, kw_only=True)
class Photo:
    """One labelled photo on disk."""

    path: Path
    label: int  # index into CLASSES


def list_photos(folder: Path) -> list[Photo]:
    """Every photo of a `<class>/*.jpg` folder, in an order that never depends on the disk."""
    return [
        Photo(path=path, label=label)
        for label, name in enumerate(CLASSES)
        for path in sorted((folder / name).glob("*.jpg"))
    ]


def read_rgb(path: Path) -> np.ndarray:
    """The photo as uint8 RGB, upright; raises ValueError where it cannot be decoded."""
    bgr = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if bgr is None:
        raise ValueError(f"not a picture: {path.name}")
    return np.ascontiguousarray(bgr[..., ::-1])


def squash(rgb: np.ndarray, side: int) -> np.ndarray:
    """The whole picture on a square, aspect ratio given up; the network sees nothing else."""
    return cv2.resize(rgb, (side, side), interpolation=cv2.INTER_AREA)
