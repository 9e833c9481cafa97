"""The image pipeline: what happens to a photo, in order.

Each step takes and returns frozen values and can start again from a stored checkpoint. Only the
worker imports this module: it loads numpy, OpenCV and Pillow.
"""

from __future__ import annotations

from collections.abc import Callable

from process_image_job.segmenters.own_alpha import own_alpha
from process_image_job.segmenters.strip import strip
from process_image_job.steps import crop
from process_image_job.steps.colours import garment_colours
from process_image_job.steps.decode import decode
from process_image_job.steps.renditions import renditions
from process_image_job.values import (
    LEAST_CONFIDENCE,
    CutOut,
    Photo,
    Rendered,
    Segmented,
    Segmenter,
)
from shared.domain.pictures import Caution, Color, Segmentation

__all__ = ["STEPS", "analyze", "cut_out", "decode", "render"]


def _never_late() -> None:
    """The time limit of a caller who has none."""


def cut_out(
    photo: Photo, segmenter: Segmenter, *, check_time: Callable[[], None] = _never_late
) -> CutOut:
    """Finds the garment. A picture that is cut out already keeps its own alpha.

    Raises what the segmenter raises: nothing for the local one, ProcessorUnavailableError or a
    BadImageError for the remote one; EncodingError where the mask cannot be packed; and what
    `check_time` raises.
    """
    seen = own_alpha(photo) or strip(photo) or segmenter(photo)
    check_time()
    return _cut_out_of(photo, seen)


def render(
    photo: Photo,
    cut_out: CutOut | None,
    *,
    watermark: str = "",
    check_time: Callable[[], None] = _never_late,
) -> Rendered:
    """All renditions as WebP without metadata, and their placeholders.

    Raises CheckpointLostError where the mask of `cut_out` cannot be read, and what `check_time`
    raises.
    """
    return renditions(photo, cut_out, watermark, check_time)


def analyze(photo: Photo, cut_out: CutOut | None) -> tuple[Color, ...]:
    """The colours of the garment, at most five, largest share first.

    Raises CheckpointLostError where the mask of `cut_out` cannot be read.
    """
    return garment_colours(photo, cut_out)


def _cut_out_of(photo: Photo, seen: Segmented) -> CutOut:
    trusted = seen.confidence >= LEAST_CONFIDENCE
    cautions = seen.cautions if trusted else (*seen.cautions, Caution.LOW_CONFIDENCE_MASK)
    return CutOut(
        mask_png=crop.mask_png(seen.alpha),
        box=crop.garment_box(seen.alpha, photo) if trusted else crop.whole(photo),
        confidence=seen.confidence,
        segmentation=Segmentation.APPLIED if trusted else Segmentation.LOW_CONFIDENCE,
        cautions=cautions,
    )


# Decoding comes first and once: the mask, the crop and the colours share its pixels. Rendering
# needs the mask, analysing only its result, so that either can be repeated from a checkpoint.
STEPS = (decode, cut_out, render, analyze)
