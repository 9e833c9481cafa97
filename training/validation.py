"""The validation photos in memory, and the two figures that training prints along the way."""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import nn

from training.photos import TEACHER_SIDE, Photo, list_photos, read_rgb, squash
from training.pixels import normalise


@dataclass(frozen=True, kw_only=True)
class Validation:
    """Photos squashed to TEACHER_SIDE; masks only where a reference exists."""

    rgb: np.ndarray  # uint8 [N,T,T,3]
    labels: np.ndarray  # int [N]
    masks: dict[int, np.ndarray]  # place in rgb -> bool [T,T]


def load_validation(folder: Path) -> Validation:
    """Reads `<class>/*.jpg` and `masks/*.png`."""
    photos = list_photos(folder)
    return Validation(
        rgb=np.stack([squash(read_rgb(photo.path), TEACHER_SIDE) for photo in photos]),
        labels=np.array([photo.label for photo in photos]),
        masks={
            place: mask
            for place, photo in enumerate(photos)
            if (mask := reference_mask(folder, photo)) is not None
        },
    )


def reference_mask(folder: Path, photo: Photo) -> np.ndarray | None:
    """The reference as bool on the teacher's square, or None where the photo has none."""
    path = folder / "masks" / f"{photo.path.stem}.png"
    grey = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE) if path.exists() else None
    return None if grey is None else squash(grey, TEACHER_SIDE) > 127


def overlap(first: np.ndarray, second: np.ndarray) -> float:
    """Intersection over union of two bool masks; 1 where both are empty."""
    union = np.count_nonzero(first | second)
    return np.count_nonzero(first & second) / union if union else 1.0


def measure(network: nn.Module, validation: Validation, side: int) -> dict[str, float]:
    """Accuracy and IoU (mean, 5th percentile) at TEACHER_SIDE, nothing refined."""
    network.eval()
    right, overlaps = 0, []
    for place, rgb in enumerate(validation.rgb):
        with torch.inference_mode():
            mask, category = network(normalise(torch.from_numpy(squash(rgb, side)[None])))
        right += int(category.argmax()) == validation.labels[place]
        if place in validation.masks:
            grown = cv2.resize(torch.sigmoid(mask)[0, 0].numpy(), (TEACHER_SIDE, TEACHER_SIDE))
            overlaps.append(overlap(grown > 0.5, validation.masks[place]))
    return {
        "accuracy": round(right / len(validation.labels), 4),
        "iou": round(float(np.mean(overlaps)), 4),
        "iou_p5": round(float(np.percentile(overlaps, 5)), 4),
    }
