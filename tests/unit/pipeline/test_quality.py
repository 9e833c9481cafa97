"""The shipped model does on real photos what its card says, within the chance of a sample."""

from pathlib import Path

import cv2
import numpy as np

from process_image_job.garment_model import garment_model
from process_image_job.segmenters.local import LocalSegmenter
from process_image_job.steps.decode import decode

EVERY = 5


def sample(shared_data: Path) -> list[Path]:
    """Every fifth validation photo of each class."""
    classes = garment_model().description.classes
    folder = shared_data / "garments-validation"
    return [path for name in classes for path in sorted((folder / name).glob("*.jpg"))[::EVERY]]


def test_category_of_a_sample(shared_data: Path) -> None:
    """Nine photos of ten are named rightly; a sample of seventy may miss that by a few."""
    photos = sample(shared_data)
    named = [garment_model().predict(decode(path.read_bytes()).rgb).category for path in photos]
    right = [name == path.parent.name for name, path in zip(named, photos, strict=True)]
    assert np.mean(right) >= 0.87


def test_cut_out_of_a_sample(shared_data: Path) -> None:
    """The mean overlap with the reference masks; of the worst, no more than a few are lost."""
    segmenter = LocalSegmenter(lambda rgb: garment_model().predict(rgb).mask)
    found = []
    for path in sample(shared_data):
        reference = path.parents[1] / "masks" / f"{path.stem}.png"
        if reference.exists():
            true = cv2.imread(str(reference), cv2.IMREAD_GRAYSCALE) > 127
            alpha = segmenter(decode(path.read_bytes())).alpha
            seen = cv2.resize(alpha, true.shape[::-1], interpolation=cv2.INTER_AREA) > 127
            found.append((seen & true).sum() / (seen | true).sum())
    assert np.mean(found) >= 0.965
    assert np.percentile(found, 5) >= 0.85
