"""The set of pictures of a draft: the garment cut out, and the photo as taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from process_image_job.steps.crop import cropped, mask_from_png
from process_image_job.steps.encode import encoded
from process_image_job.steps.placeholder import blur_hash
from process_image_job.steps.rim import without_background_rim
from process_image_job.steps.scale import shrink
from process_image_job.steps.watermark import with_watermark
from process_image_job.values import ARCHIVE_SIDE, CutOut, EncodedPicture, Photo, Pixels, Rendered

DISPLAY, THUMB = 1024, 256  # longest side in pixels

Layer = tuple[Pixels, Pixels | None]


def renditions(
    photo: Photo, cut_out: CutOut | None, watermark: str, check_time: Callable[[], None]
) -> Rendered:
    """All five pictures and both placeholders. Without a cut-out both sets show the photo."""
    archive = shrink(photo.rgb, photo.alpha, ARCHIVE_SIDE)
    display = shrink(*archive, DISPLAY)
    thumb = shrink(*display, THUMB)
    original = (encoded("original-display", *display), encoded("original-thumb", *thumb))
    original_hash = blur_hash(*thumb)
    check_time()
    if cut_out is None or not cut_out.shown:
        item = _same_set(archive, display, original, watermark)
        return Rendered(
            pictures=item + original,
            cutout_blur_hash=original_hash,
            original_blur_hash=original_hash,
        )
    pictures, item_hash = _cut_out_set(photo, cut_out, watermark, check_time)
    return Rendered(
        pictures=pictures + original, cutout_blur_hash=item_hash, original_blur_hash=original_hash
    )


def _same_set(
    archive: Layer, display: Layer, original: tuple[EncodedPicture, EncodedPicture], watermark: str
) -> tuple[EncodedPicture, ...]:
    """The photo itself as the item. What is the same picture is not encoded twice."""
    shown, small = (
        replace(picture, name=picture.name.removeprefix("original-")) for picture in original
    )
    if watermark:
        shown = encoded("display", *with_watermark(*display, watermark))
    return (encoded("archive", *archive), shown, small)


def _cut_out_set(
    photo: Photo, cut_out: CutOut, watermark: str, check_time: Callable[[], None]
) -> tuple[tuple[EncodedPicture, ...], str]:
    mask = mask_from_png(cut_out.mask_png)
    rgb, alpha = cropped(photo, mask, cut_out.box, ARCHIVE_SIDE)
    archive = without_background_rim(rgb, alpha), alpha
    display = shrink(*archive, DISPLAY)
    thumb = shrink(*display, THUMB)
    check_time()
    pictures = (
        encoded("archive", *archive),
        encoded("display", *with_watermark(*display, watermark)),
        encoded("thumb", *thumb),
    )
    return pictures, blur_hash(*thumb)
