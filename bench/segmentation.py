"""How well the cut-out finds garments: overlap and outline error against reference masks.

    python -m bench.segmentation [--photos N] [--prior model|u2netp] [--sheet worst.png] [--json]

The masks are those of ../shared/data/garments-validation. A flagged photo (low confidence) counts
as 0 in the columns named so.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageDraw

from bench.peers import u2netp_prior
from process_image_job.segmenters.local import LocalSegmenter, Prior
from process_image_job.steps.decode import decode
from process_image_job.values import LEAST_CONFIDENCE, Pixels, Segmenter

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "garments-validation"
WORST = 24


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """One photo: overlap 0..1, mean distance of the outlines in px of a 400-px photo, CPU."""

    name: str
    iou: float
    outline: float
    confidence: float
    cpu_ms: float

    @property
    def flagged(self) -> bool:
        return self.confidence < LEAST_CONFIDENCE


def pairs(count: int | None = None) -> list[tuple[str, Path, Path]]:
    """(name, photo, mask), evenly taken from all classes. Ends the program where there are none."""
    photos = sorted(DATA.glob("*/*.jpg"))
    found = [
        (f"{photo.parent.name}/{photo.stem}", photo, DATA / "masks" / f"{photo.stem}.png")
        for photo in photos
        if (DATA / "masks" / f"{photo.stem}.png").exists()
    ]
    if not found:
        raise SystemExit(f"There are no reference photos with masks in {DATA}.")
    return found if count is None else found[:: max(1, len(found) // count)][:count]


def score(name: str, photo: Path, mask: Path, segmenter: Segmenter) -> tuple[Score, Pixels]:
    """The score of one photo and the alpha it was given."""
    picture = decode(photo.read_bytes())
    started = time.process_time()
    seen = segmenter(picture)
    cpu_ms = (time.process_time() - started) * 1000
    true = np.asarray(Image.open(mask).convert("L")) > 127
    alpha = cv2.resize(seen.alpha, true.shape[::-1], interpolation=cv2.INTER_AREA)
    found = alpha > 127
    union = int((found | true).sum())
    return (
        Score(
            name=name,
            iou=float((found & true).sum() / union) if union else 1.0,
            outline=outline_error(found, true),
            confidence=seen.confidence,
            cpu_ms=cpu_ms,
        ),
        alpha,
    )


def outline_error(found: np.ndarray, true: np.ndarray) -> float:
    """Mean distance between the two outlines, both ways; half the diagonal where one is empty."""
    outlines = [_outline(found), _outline(true)]
    if not all(outline.any() for outline in outlines):
        return float(np.hypot(*true.shape) / 2)
    away = [
        cv2.distanceTransform((~outline).astype(np.uint8), cv2.DIST_L2, 5) for outline in outlines
    ]
    return float((away[1][outlines[0]].mean() + away[0][outlines[1]].mean()) / 2)


def summary(scores: Sequence[Score]) -> dict[str, float]:
    """The figures of a run."""
    iou = np.array([each.iou for each in scores])
    counted = np.where([each.flagged for each in scores], 0, iou)
    return {
        "photos": len(scores),
        "meanIou": float(iou.mean()),
        "medianIou": float(np.median(iou)),
        "p5Iou": float(np.percentile(iou, 5)),
        "meanIouFlaggedAsZero": float(counted.mean()),
        "p5IouFlaggedAsZero": float(np.percentile(counted, 5)),
        "flaggedShare": float(np.mean([each.flagged for each in scores])),
        "meanOutlinePx": float(np.mean([each.outline for each in scores])),
        "medianOutlinePx": float(np.median([each.outline for each in scores])),
        "meanCpuMs": float(np.mean([each.cpu_ms for each in scores])),
    }


def worst_sheet(worst: Sequence[tuple[Score, Path, Path, Pixels]]) -> Image.Image:
    """Each photo with what was cut away darkened, and the true outline in red."""
    cell, columns = (200, 280), 8
    rows = -(-len(worst) // columns)
    sheet = Image.new("RGB", (columns * cell[0], rows * (cell[1] + 16)), "white")
    for number, (result, photo, mask, alpha) in enumerate(worst):
        shown = _overlay(photo, mask, alpha)
        shown.thumbnail((cell[0] - 6, cell[1]))
        left, top = number % columns * cell[0], number // columns * (cell[1] + 16)
        sheet.paste(shown, (left, top + 16))
        text = f"{result.iou:.2f} c{result.confidence:.2f} {result.name[:18]}"
        ImageDraw.Draw(sheet).text((left + 2, top + 2), text, fill="black")
    return sheet


def main() -> None:
    options = _options()
    segmenter = LocalSegmenter(_prior(options.prior))
    results = []
    for name, photo, mask in pairs(options.photos):
        found, alpha = score(name, photo, mask, segmenter)
        results.append((found, photo, mask, alpha))
    results.sort(key=lambda each: each[0].iou)
    figures = summary([each[0] for each in results])
    if options.sheet:
        worst_sheet(results[:WORST]).save(options.sheet)
    if options.json:
        scores = [asdict(each[0]) for each in results]
        print(json.dumps({"summary": figures, "photos": scores}, indent=1))
    else:
        print("\n".join(f"{name:22} {value:.4f}" for name, value in figures.items()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=int, help="only so many, evenly taken")
    parser.add_argument("--prior", choices=["none", "model", "u2netp"], default="none")
    parser.add_argument("--sheet", type=Path, help="where the worst 24 are drawn")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _prior(name: str) -> Prior | None:
    choices: dict[str, Callable[[], Prior | None]] = {
        "none": lambda: None,
        "model": own_model,
        "u2netp": u2netp_prior,
    }
    return choices[name]()


def own_model() -> Prior:
    """The model of the bundle as a prior."""
    from process_image_job.garment_model import garment_model

    model = garment_model()
    return lambda rgb: model.predict(rgb).mask


def _outline(mask: np.ndarray) -> np.ndarray:
    square = np.ones((3, 3), np.uint8)
    edge: np.ndarray = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_GRADIENT, square) > 0
    return edge


def _overlay(photo: Path, mask: Path, alpha: Pixels) -> Image.Image:
    rgb = decode(photo.read_bytes()).rgb.copy()
    size = rgb.shape[1], rgb.shape[0]
    rgb[cv2.resize(alpha, size) <= 127] //= 4
    true = np.asarray(Image.open(mask).convert("L").resize(size))
    rgb[_outline(true > 127)] = (255, 0, 0)
    return Image.fromarray(rgb)


if __name__ == "__main__":
    main()
