"""The processor endpoint: a photo in, its cut-out back, nothing stored."""

from __future__ import annotations

from process_image_job.pipeline import cut_out, decode
from process_image_job.steps.crop import cropped, mask_from_png, whole
from process_image_job.steps.encode import QUALITY, webp
from process_image_job.steps.renditions import ARCHIVE
from process_image_job.steps.rim import without_background_rim
from process_image_job.values import Processed, Segmenter


def process_image(raw: bytes, segmenter: Segmenter) -> Processed:
    """The upright photo with the garment's alpha, not cropped, at most 2048 px a side.

    Raises BadImageError for a bad photo, and what the segmenter raises.
    """
    photo = decode(raw)
    found = cut_out(photo, segmenter)
    rgb, alpha = cropped(photo, mask_from_png(found.mask_png), whole(photo), ARCHIVE)
    clean = without_background_rim(rgb, alpha)
    return Processed(
        webp=webp(clean, alpha, quality=QUALITY["archive"]),
        segmentation=found.segmentation,
        confidence=found.confidence,
    )
