"""Makes the description beside the exported network: temperature, threshold, SHA-256."""

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np

from process_image_job.garment_model import GarmentModel
from training.drawings import draw_nothing
from training.photos import CLASSES, list_photos, read_rgb

FILE, DESCRIPTION = "garment.onnx", "garment.json"
INPUT_SIDE, CLOSER_SIDE = 192, 224  # of the first look and of the second, at the garment
ERROR_BINS = 10
LEAST_KEPT = 0.97  # share of the rightly named validation photos that must stay above the threshold


def write_description(folder: Path, *, temperature: float, below: float) -> None:
    """Writes garment.json for the garment.onnx that lies in `folder`."""
    from training.pixels import PIXEL_MEAN, PIXEL_STD

    told = {
        "file": FILE,
        "sha256": hashlib.sha256((folder / FILE).read_bytes()).hexdigest(),
        "inputSide": INPUT_SIDE,
        "closerSide": CLOSER_SIDE,
        "pixelMean": PIXEL_MEAN,
        "pixelDeviation": PIXEL_STD,
        "channelOrder": "RGB",
        "classes": list(CLASSES),
        "temperature": round(temperature, 3),
        "uncategorisedBelow": round(below, 3),
    }
    (folder / DESCRIPTION).write_text(json.dumps(told, indent=2) + "\n")


def calibrate(folder: Path, validation: Path) -> None:
    """Fits the temperature on validation, then sets the threshold with it."""
    write_description(folder, temperature=1.0, below=0.0)
    labels, probabilities = named(GarmentModel(folder), validation)
    temperature = fit_temperature(probabilities, labels)
    calibrated = at_temperature(probabilities, temperature)
    right = calibrated.argmax(1) == labels
    below = float(np.quantile(calibrated.max(1)[right], 1 - LEAST_KEPT))
    write_description(folder, temperature=temperature, below=below)
    print(f"temperature {temperature:.3f}, uncategorised below {below:.3f}")
    print(f"drawings above it: {_drawings_above(folder, below):.0%}")


def named(model: GarmentModel, photos: Path) -> tuple[np.ndarray, np.ndarray]:
    """True labels and predicted probabilities of every photo of a folder."""
    listed = list_photos(photos)
    predicted = [model.predict(read_rgb(photo.path)).probabilities for photo in listed]
    return np.array([photo.label for photo in listed]), np.array(predicted)


def at_temperature(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities [N,C] as the same logits give them at another temperature."""
    powers = np.maximum(probabilities, 1e-12) ** (1 / temperature)
    return powers / powers.sum(1, keepdims=True)


def fit_temperature(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The temperature of the least mean log loss (Guo et al., 2017), to 0.01."""
    rows = np.arange(len(labels))
    tried = np.arange(0.3, 3.0, 0.01)
    losses = [-np.log(at_temperature(probabilities, t)[rows, labels]).mean() for t in tried]
    return float(tried[int(np.argmin(losses))])


def expected_calibration_error(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Mean gap of confidence and accuracy (Guo et al., 2017), over bins of equally many photos."""
    confidence, right = probabilities.max(1), probabilities.argmax(1) == labels
    bins = np.array_split(np.argsort(confidence), ERROR_BINS)
    gaps = [abs(confidence[part].mean() - right[part].mean()) * len(part) for part in bins]
    return float(sum(gaps) / len(labels))


def two_fold_calibration_error(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The same with the temperature of each half fitted on the other."""
    halves = np.arange(len(labels)) % 2
    calibrated = probabilities.copy()
    for half in (0, 1):
        fitted = fit_temperature(probabilities[halves != half], labels[halves != half])
        calibrated[halves == half] = at_temperature(probabilities[halves == half], fitted)
    return expected_calibration_error(calibrated, labels)


def _drawings_above(folder: Path, below: float, count: int = 50) -> float:
    model = GarmentModel(folder)
    drawings = [draw_nothing(320, np.random.default_rng([99, seed])) for seed in range(count)]
    return float(np.mean([model.predict(drawing).confidence >= below for drawing in drawings]))


def main() -> None:
    """Command line: the folder of garment.onnx and the validation photos."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--validation", type=Path, required=True)
    options = parser.parse_args()
    calibrate(options.models, options.validation)


if __name__ == "__main__":
    main()
