"""From a clean folder to the shipped files: rounds of labels and training, then calibration.

`python -m training --data ../shared/data --work DIR` fills DIR with what lies between (about
5 GB) and writes `garment.onnx` and `garment.json` into --models. Given a DIR in which it was
ended, it goes on from there.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import cv2

from process_image_job.garment_model import MODELS
from training.calibrate import FILE, calibrate, write_description
from training.export import export
from training.plan import QUICK_ROUNDS, ROUNDS, Plan
from training.teach import teach, teach_again
from training.train import Run, train


def main() -> None:
    """Command line: shared data, a folder for what lies between, and where the model goes."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--models", type=Path, default=MODELS)
    parser.add_argument("--quick", action="store_true", help="short rounds, to try things")
    parser.add_argument("--plan", type=json.loads, default={}, help="JSON over the rounds' fields")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    plans = [replace(plan, **options.plan) for plan in (QUICK_ROUNDS if options.quick else ROUNDS)]
    weights = _rounds(plans, options.data, options.work)
    options.models.mkdir(parents=True, exist_ok=True)
    export(weights, options.models / FILE)
    calibrate(options.models, options.data / "garments-validation")


def _rounds(plans: list[Plan], data: Path, work: Path) -> Path:
    """The last round's weights; each has a folder of `work`, with its labels but for the first."""
    teacher, validation = data / "models" / "u2netp.onnx", data / "garments-validation"
    lessons = teach(data / "garments-train", teacher, work / "lessons.npz")
    weights = train(plans[0], Run(lessons=lessons, validation=validation, out=work / "round1"))
    for number, plan in enumerate(plans[1:], 2):
        out = work / f"round{number}"
        again = teach_again(lessons, _exported(weights, out / "before"), out / "lessons.npz")
        weights = train(plan, Run(lessons=again, validation=validation, out=out, start=weights))
    return weights


def _exported(weights: Path, folder: Path) -> Path:
    """A folder with the network as the app reads it, its probabilities as they come."""
    folder.mkdir(parents=True, exist_ok=True)
    export(weights, folder / FILE)
    write_description(folder, temperature=1.0, below=0.0)
    return folder


if __name__ == "__main__":
    main()
