"""The cut-out: right on drawn garments, honest where there is none."""

import io

import cv2
import numpy as np
import pytest
from PIL import Image

from process_image_job.pipeline import cut_out, load_cut_out
from process_image_job.processor import process_image
from process_image_job.segmenters.local import LocalSegmenter
from process_image_job.steps.crop import mask_from_png
from process_image_job.steps.decode import decode
from process_image_job.values import CutOut, Photo, Segmented
from shared.domain.pictures import Caution, Segmentation
from tests.unit.pipeline import drawing


def cut(picture: np.ndarray) -> CutOut:
    return cut_out(decode(drawing.saved(picture, quality=92)), LocalSegmenter())


def overlap(found: CutOut, mask: np.ndarray) -> float:
    """Intersection over union with the drawn shape."""
    alpha = mask_from_png(found.mask_png)
    seen = cv2.resize(alpha, mask.shape[::-1], interpolation=cv2.INTER_AREA) > 127
    true = mask > 127
    return float((seen & true).sum() / max(1, (seen | true).sum()))


def test_cut_out_of_tee_on_wall() -> None:
    """A T-shirt on a plain wall is cut out exactly."""
    mask = drawing.tee_mask()
    found = cut(drawing.on_wall(mask))
    assert found.segmentation is Segmentation.APPLIED
    assert overlap(found, mask) > 0.9


def test_cut_out_of_plain_wall() -> None:
    """Where there is nothing to cut out, the draft says so and keeps the original."""
    found = cut(drawing.on_wall(np.zeros((640, 480), np.uint8)))
    assert found.segmentation is Segmentation.LOW_CONFIDENCE
    assert Caution.LOW_CONFIDENCE_MASK in found.cautions
    assert (found.box.width, found.box.height) == (480, 640)


def test_cut_out_of_cut_out_picture() -> None:
    """A picture that is cut out already keeps its own alpha; no segmenter is asked."""

    def never(photo: Photo) -> Segmented:
        raise AssertionError(photo)

    mask = drawing.tee_mask()
    rgba = np.dstack([drawing.on_wall(mask), mask])
    found = cut_out(decode(drawing.saved(rgba, "PNG")), never)
    assert found.segmentation is Segmentation.APPLIED
    assert np.array_equal(mask_from_png(found.mask_png), mask)


@pytest.mark.parametrize("orientation", [3, 6, 8])
def test_cut_out_of_turned_photo(orientation: int) -> None:
    """The mask lies on the garment whatever way the camera was held."""
    mask = drawing.tee_mask()
    turns = {3: 2, 6: 1, 8: 3}[orientation]
    lying = np.ascontiguousarray(np.rot90(drawing.on_wall(mask), turns))
    raw = drawing.saved(lying, exif=drawing.exif(orientation))
    assert overlap(cut_out(decode(raw), LocalSegmenter()), mask) > 0.95


def test_cut_out_from_checkpoint() -> None:
    """What was stored comes back as it was."""
    found = cut(drawing.on_wall(drawing.tee_mask()))
    again = load_cut_out(
        found.mask_png,
        box=found.box,
        confidence=found.confidence,
        segmentation=found.segmentation,
    )
    assert again == found


def test_processor_answers_with_alpha() -> None:
    """The processor endpoint gives the upright, uncropped photo with the garment's alpha."""
    mask = drawing.tee_mask()
    lying = np.ascontiguousarray(np.rot90(drawing.on_wall(mask)))
    done = process_image(drawing.saved(lying, exif=drawing.exif(6)), LocalSegmenter())
    picture = Image.open(io.BytesIO(done.webp))
    assert (picture.format, picture.mode, picture.size) == ("WEBP", "RGBA", (480, 640))
    assert done.segmentation is Segmentation.APPLIED
    seen = np.asarray(picture)[..., 3] > 127
    assert ((seen & (mask > 127)).sum() / (seen | (mask > 127)).sum()) > 0.95
