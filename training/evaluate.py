"""Measures the shipped files, through the code that ships: categories, calibration, doubt.

`python -m training.evaluate --data ../shared/data` prints what the model card says of them; its
masks are measured by `python -m bench.compare`.
"""

import argparse
import json
from pathlib import Path

import cv2
import numpy as np

from process_image_job.garment_model import MODELS, GarmentModel
from process_image_job.segmenters.local import LocalSegmenter
from process_image_job.values import LEAST_CONFIDENCE, Photo
from training.calibrate import (
    expected_calibration_error,
    named,
    two_fold_calibration_error,
)
from training.nongarments import pictures_without_garments
from training.photos import CLASSES


def category_table(model: GarmentModel, validation: Path) -> dict[str, object]:
    """Accuracy, confusion, recall and precision per class, calibration, share in doubt."""
    labels, probabilities = named(model, validation)
    guesses, sure = probabilities.argmax(1), probabilities.max(1)
    confusion = np.zeros((len(CLASSES), len(CLASSES)), int)
    np.add.at(confusion, (labels, guesses), 1)
    kept = sure >= model.description.uncategorised_below
    return {
        "photos": len(labels),
        "accuracy": round(float((guesses == labels).mean()), 4),
        "recall": _shares(confusion.diagonal(), confusion.sum(1)),
        "precision": _shares(confusion.diagonal(), confusion.sum(0)),
        "confusion": confusion.tolist(),
        "calibrationError": round(expected_calibration_error(probabilities, labels), 4),
        "calibrationErrorTwoFold": round(two_fold_calibration_error(probabilities, labels), 4),
        "uncategorisedShare": round(float((~kept).mean()), 4),
        "accuracyWhereNamed": round(float((guesses == labels)[kept].mean()), 4),
    }


def _shares(right: np.ndarray, whole: np.ndarray) -> dict[str, float]:
    shares = right / np.maximum(whole, 1)
    return {name: round(float(share), 3) for name, share in zip(CLASSES, shares, strict=True)}


def doubt_table(model: GarmentModel, data: Path) -> dict[str, object]:
    """How the pictures without garments fare: those named all the same, with their confidence."""
    below = model.description.uncategorised_below
    pictures = pictures_without_garments(data)
    asked = {name: model.predict(np.ascontiguousarray(rgb)) for name, rgb in pictures.items()}
    claimed = {
        name: f"{said.category} {said.confidence:.2f}"
        for name, said in asked.items()
        if said.confidence >= below
    }
    segmenter = LocalSegmenter(lambda rgb: model.predict(rgb).mask)
    cut = {
        name for name in claimed if segmenter(_photo(pictures[name])).confidence >= LEAST_CONFIDENCE
    }
    return {
        "pictures": len(pictures),
        "belowThreshold": len(pictures) - len(claimed),
        "belowThresholdOrNotCutOut": len(pictures) - len(cut),
        "named": claimed,
    }


def _photo(rgb: np.ndarray) -> Photo:
    height, width = rgb.shape[:2]
    return Photo(rgb=np.ascontiguousarray(rgb), alpha=None, full_width=width, full_height=height)


def main() -> None:
    """Command line: the shared data, the models folder, and where the figures go as JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=Path, default=MODELS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    model = GarmentModel(options.models)
    validation = options.data / "garments-validation"
    told = {
        "uncategorisedBelow": model.description.uncategorised_below,
        "temperature": model.description.temperature,
        "megabytes": round((options.models / model.description.file).stat().st_size / 1e6, 2),
        "category": category_table(model, validation),
        "withoutGarment": doubt_table(model, options.data),
    }
    text = json.dumps(told, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
