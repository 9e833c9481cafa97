"""From a clean folder to the shipped files: teacher masks, training, export, calibration.

`python -m training --data ../shared/data --work DIR` fills DIR with what lies between (about
1.2 GB) and writes `garment.onnx` and `garment.json` into --models.
"""

import argparse
import json
from pathlib import Path

import cv2

from process_image_job.garment_model import MODELS
from training.calibrate import FILE, calibrate
from training.export import export
from training.plan import POLISH, QUICK, Plan
from training.teach import teach
from training.train import Run, train

INPUT_SIDE = 192  # what the shipped file reads; 160 saves 8 ms and loses 0.001 of overlap


def main() -> None:
    """Command line: shared data, a folder for what lies between, and where the model goes."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--models", type=Path, default=MODELS)
    parser.add_argument("--quick", action="store_true", help="a short plan, to try things")
    parser.add_argument("--start", type=Path, help="polish these weights; nothing is trained anew")
    parser.add_argument("--plan", type=json.loads, default={}, help="JSON over the plan's fields")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    teacher = options.data / "models" / "u2netp.onnx"
    lessons = teach(options.data / "garments-train", teacher, options.work / "lessons.npz")
    validation = options.data / "garments-validation"
    kind = POLISH if options.start else QUICK if options.quick else {}
    plan = Plan(**(kind | options.plan))
    train(
        plan,
        Run(lessons=lessons, validation=validation, out=options.work, start=options.start),
    )
    options.models.mkdir(parents=True, exist_ok=True)
    export(options.work / "network.pt", INPUT_SIDE, options.models / FILE)
    calibrate(options.models, validation, input_side=INPUT_SIDE)


if __name__ == "__main__":
    main()
