"""Measures the shipped files, through the code that ships: masks, categories, doubt, speed.

`python -m training.evaluate --data ../shared/data` prints everything that the model card says.
"""

import argparse
import json
import time
from pathlib import Path

import cv2
import numpy as np

from process_image_job.garment_model import MODELS, GarmentModel
from training.calibrate import fit_temperature, named, reheat
from training.grabcut import seeded_grabcut
from training.nongarments import pictures_without_garments
from training.photos import CLASSES, list_photos, read_rgb
from training.validation import overlap

REFINING_SIDE = 320  # longest side at which the plain refinement works
ERROR_BINS = 10


def mask_table(model: GarmentModel, validation: Path) -> dict[str, dict[str, float]]:
    """IoU, boundary error and milliseconds at the photos' own size, raw and refined."""
    rows: dict[str, list[tuple[float, float, float]]] = {"network": [], "network + GrabCut": []}
    for photo in list_photos(validation):
        path = validation / "masks" / f"{photo.path.stem}.png"
        if not path.exists():
            continue
        truth = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE) > 127
        rgb = read_rgb(photo.path)
        started = time.process_time()
        soft = model.predict(rgb).mask
        raw_ms = (time.process_time() - started) * 1000
        refined = refine(rgb, soft)
        all_ms = (time.process_time() - started) * 1000
        raw = _grown(soft, truth.shape) > 0.5
        rows["network"].append((overlap(raw, truth), boundary_error(raw, truth), raw_ms))
        rows["network + GrabCut"].append(
            (overlap(refined, truth), boundary_error(refined, truth), all_ms)
        )
    return {name: _summary(np.array(values)) for name, values in rows.items()}


def refine(rgb: np.ndarray, soft: np.ndarray) -> np.ndarray:
    """Mean of the network's mask and a GrabCut seeded by it, at REFINING_SIDE; bool, full size."""
    height, width = rgb.shape[:2]
    scale = min(1.0, REFINING_SIDE / max(height, width))
    size = (round(width * scale), round(height * scale))
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
    prior = cv2.resize(soft, size, interpolation=cv2.INTER_LINEAR)
    mixed = (prior + seeded_grabcut(small, prior)) / 2
    return _grown(mixed.astype(np.float32), (height, width)) > 0.5


def _grown(soft: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return cv2.resize(soft, (shape[1], shape[0]), interpolation=cv2.INTER_LINEAR)


def boundary_error(found: np.ndarray, truth: np.ndarray) -> float:
    """Mean distance in pixels between the two outlines, taken both ways; NaN where one is empty."""
    outlines = [_outline(mask) for mask in (found, truth)]
    if not all(outline.any() for outline in outlines):
        return float("nan")
    away = [
        cv2.distanceTransform((~outline).astype(np.uint8), cv2.DIST_L2, 5) for outline in outlines
    ]
    return float((away[0][outlines[1]].mean() + away[1][outlines[0]].mean()) / 2)


def _outline(mask: np.ndarray) -> np.ndarray:
    whole = mask.astype(np.uint8)
    return (whole - cv2.erode(whole, np.ones((3, 3), np.uint8))).astype(bool)


def _summary(values: np.ndarray) -> dict[str, float]:
    overlaps, errors, spent = values.T
    return {
        "photos": len(overlaps),
        "mean": round(float(overlaps.mean()), 4),
        "median": round(float(np.median(overlaps)), 4),
        "p5": round(float(np.percentile(overlaps, 5)), 4),
        "boundaryErrorPx": round(float(np.nanmean(errors)), 2),
        "cpuMsMedian": round(float(np.median(spent)), 1),
    }


def expected_calibration_error(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Mean gap of confidence and accuracy over bins of equally many photos."""
    confidence, right = probabilities.max(1), probabilities.argmax(1) == labels
    bins = np.array_split(np.argsort(confidence), ERROR_BINS)
    gaps = [abs(confidence[part].mean() - right[part].mean()) * len(part) for part in bins]
    return float(sum(gaps) / len(labels))


def honest_calibration_error(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The same with every half heated by what the other half says."""
    halves = np.arange(len(labels)) % 2
    reheated = probabilities.copy()
    for half in (0, 1):
        heat = fit_temperature(probabilities[halves != half], labels[halves != half])
        reheated[halves == half] = reheat(probabilities[halves == half], heat)
    return expected_calibration_error(reheated, labels)


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
        "calibrationErrorTwoFold": round(honest_calibration_error(probabilities, labels), 4),
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
    empty = sum(float(said.mask.mean()) < 0.02 for said in asked.values())
    rejected = 1 - len(claimed) / len(pictures)
    return {
        "pictures": len(pictures),
        "rejectedShare": round(rejected, 3),
        "maskNearlyEmpty": empty,
        "named": claimed,
    }


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
        "masks": mask_table(model, validation),
        "category": category_table(model, validation),
        "withoutGarment": doubt_table(model, options.data),
    }
    text = json.dumps(told, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
