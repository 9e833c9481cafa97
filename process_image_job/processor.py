"""The processor endpoint: a photo in, its cut-out back, nothing stored."""

from __future__ import annotations

import numpy as np

from process_image_job.pipeline import cut_out, decode
from process_image_job.steps.crop import cropped, mask_from_png, whole
from process_image_job.steps.encode import QUALITY, webp
from process_image_job.steps.rim import without_background_rim
from process_image_job.values import ARCHIVE_SIDE, Processed, Segmenter
from shared.domain.pictures import Segmentation


def process_image(raw: bytes, segmenter: Segmenter) -> Processed:
    """The upright photo with the garment's alpha, not cropped, at most 2048 px a side.

    Raises BadImageError for a bad photo, and what the segmenter raises.
    """
    photo = decode(raw)
    found = cut_out(photo, segmenter)
    rgb, alpha = cropped(photo, mask_from_png(found.mask_png), whole(photo), ARCHIVE_SIDE)
    if found.segmentation is Segmentation.APPLIED:
        rgb = without_background_rim(rgb, alpha)
    else:
        alpha = np.full_like(alpha, 255)  # a mask in doubt hides nothing
    return Processed(
        webp=webp(rgb, alpha, quality=QUALITY["archive"]),
        segmentation=found.segmentation,
        confidence=found.confidence,
    )
