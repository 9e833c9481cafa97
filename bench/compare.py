"""Ways to cut a garment out, side by side on the reference masks of the validation photos.

    python -m bench.compare [--photos N]

One core; the time is CPU time a photo, the size is what has to be shipped or downloaded.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from bench.peers import U2NETP, frame_grabcut, u2netp_prior
from bench.segmentation import own_model, pairs, score, summary
from process_image_job.garment_model import MODELS
from process_image_job.segmenters.local import LocalSegmenter, Prior
from process_image_job.steps.scale import area, fitted
from process_image_job.values import ARCHIVE_SIDE, Photo, Segmented, Segmenter

HEADER = (
    "| | mean IoU | median | 5th percentile | outline error, px | CPU ms | MB |\n"
    "| --- | --- | --- | --- | --- | --- | --- |"
)
Row = tuple[str, Segmenter, Path | None]


def as_it_is(prior: Prior) -> Segmenter:
    """A prior's mask enlarged to the photo, nothing refined."""

    def segment(photo: Photo) -> Segmented:
        rgb = area(photo.rgb, fitted(photo.width, photo.height, ARCHIVE_SIDE))
        mask = cv2.resize(prior(rgb), (rgb.shape[1], rgb.shape[0]))
        return Segmented(alpha=np.round(mask * 255).astype(np.uint8), confidence=1.0)

    return segment


def rows() -> Iterator[Row]:
    """Name, segmenter, and the file that it needs."""
    ours, theirs = own_model(), u2netp_prior()
    weights = MODELS / "garment.onnx"
    yield "GrabCut from a frame, 300 px", as_it_is(frame_grabcut), None
    yield "our guesses without a model", LocalSegmenter(), None
    yield "U²-Net-P", as_it_is(theirs), U2NETP
    yield "U²-Net-P with our refinement", LocalSegmenter(theirs), U2NETP
    yield "our model", as_it_is(ours), weights
    yield "our model with our refinement", LocalSegmenter(ours), weights


def row(name: str, segmenter: Segmenter, weights: Path | None, count: int | None) -> str:
    """One line of the table."""
    told = summary([score(*pair, segmenter)[0] for pair in pairs(count)])
    megabytes = weights.stat().st_size / 1e6 if weights else 0.0
    overlaps = " | ".join(f"{told[key]:.4f}" for key in ("meanIou", "medianIou", "p5Iou"))
    rest = f"{told['meanOutlinePx']:.2f} | {told['meanCpuMs']:.0f} | {megabytes:.1f}"
    return f"| {name} | {overlaps} | {rest} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=int, help="only so many, evenly taken")
    count = parser.parse_args().photos
    cv2.setNumThreads(1)
    print(HEADER)
    for each in rows():
        print(row(*each, count), flush=True)


if __name__ == "__main__":
    main()
