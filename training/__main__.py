"""From a clean folder to the shipped files: two rounds of labels and training, then calibration.

`python -m training --data ../shared/data --work DIR` fills DIR with what lies between (about
3 GB) and writes `garment.onnx` and `garment.json` into --models.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import cv2

from process_image_job.garment_model import MODELS
from training.calibrate import FILE, calibrate, write_description
from training.export import export
from training.plan import FIRST, QUICK_FIRST, QUICK_SECOND, SECOND
from training.teach import teach, teach_again
from training.train import Run, train

INPUT_SIDE = 192  # what the shipped file reads; 224 costs 15 ms and gains 0.001 of overlap


def main() -> None:
    """Command line: shared data, a folder for what lies between, and where the model goes."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--models", type=Path, default=MODELS)
    parser.add_argument("--quick", action="store_true", help="short rounds, to try things")
    parser.add_argument("--start", type=Path, help="weights of a first round, which is left out")
    parser.add_argument("--plan", type=json.loads, default={}, help="JSON over the rounds' fields")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    first, second = (QUICK_FIRST, QUICK_SECOND) if options.quick else (FIRST, SECOND)
    validation = options.data / "garments-validation"
    teacher = options.data / "models" / "u2netp.onnx"
    lessons = teach(options.data / "garments-train", teacher, options.work / "lessons.npz")
    start = options.start
    if start is None:
        run = Run(lessons=lessons, validation=validation, out=options.work / "first")
        start = train(replace(first, **options.plan), run)
    again = teach_again(lessons, _exported(start, options.work / "own"), options.work / "again.npz")
    run = Run(lessons=again, validation=validation, out=options.work / "second", start=start)
    weights = train(replace(second, **options.plan), run)
    options.models.mkdir(parents=True, exist_ok=True)
    export(weights, INPUT_SIDE, options.models / FILE)
    calibrate(options.models, validation, input_side=INPUT_SIDE)


def _exported(weights: Path, folder: Path) -> Path:
    """A folder with the network as the app reads it, its probabilities as they come."""
    folder.mkdir(parents=True, exist_ok=True)
    export(weights, INPUT_SIDE, folder / FILE)
    write_description(folder, input_side=INPUT_SIDE, temperature=1.0, below=0.0)
    return folder


if __name__ == "__main__":
    main()
