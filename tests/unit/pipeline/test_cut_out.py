"""The cut-out: right on drawn garments, honest where there is none."""

import io

import cv2
import numpy as np
import pytest
from PIL import Image

from process_image_job.garment_model import ModelUnavailableError
from process_image_job.pipeline import cut_out
from process_image_job.processor import process_image
from process_image_job.segmenters.local import LocalSegmenter, Prior
from process_image_job.steps.crop import mask_from_png
from process_image_job.steps.decode import decode
from process_image_job.values import CutOut, Photo, Segmented
from shared.domain.pictures import Caution, Segmentation
from tests.unit.pipeline import drawing

EXTREME = [(16, 16), (16, 900), (900, 16), (16, 4000), (2500, 20), (20, 6000), (16000, 16)]


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
    assert overlap(found, mask) > 0.95


def test_cut_out_of_plain_wall() -> None:
    """Where there is nothing to cut out, the draft says so and keeps the original."""
    found = cut(drawing.on_wall(np.zeros((640, 480), np.uint8)))
    assert found.segmentation is Segmentation.LOW_CONFIDENCE
    assert Caution.LOW_CONFIDENCE_MASK in found.cautions
    assert (found.box.width, found.box.height) == (480, 640)


@pytest.mark.parametrize(
    ("colour", "wall"),
    [
        pytest.param((255, 255, 255), (238, 238, 240), id="white-on-white"),
        pytest.param((14, 14, 16), (44, 42, 40), id="black-on-black"),
        pytest.param((128, 130, 134), (150, 140, 120), id="grey-on-beige"),
    ],
)
def test_cut_out_of_low_contrast(colour: tuple[int, int, int], wall: tuple[int, int, int]) -> None:
    """Little contrast gives the right shape, or the honest answer that there is none."""
    mask = drawing.tee_mask()
    found = cut(drawing.on_wall(mask, colour, wall, grain=2))
    assert found.segmentation is Segmentation.LOW_CONFIDENCE or overlap(found, mask) > 0.9


def test_cut_out_of_invisible_garment() -> None:
    """White on the same white cannot be cut out, and is not."""
    found = cut(drawing.on_wall(drawing.tee_mask(), (245, 245, 245), (245, 245, 245), grain=1))
    assert found.segmentation is Segmentation.LOW_CONFIDENCE


def test_cut_out_keeps_real_holes() -> None:
    """Inside a ring there is wall: alpha below 30."""
    mask = np.zeros((480, 480), np.uint8)
    cv2.circle(mask, (240, 240), 170, 255, -1, cv2.LINE_AA)
    cv2.circle(mask, (240, 240), 90, 0, -1, cv2.LINE_AA)
    alpha = mask_from_png(cut(drawing.on_wall(mask, drawing.RED, drawing.GREY)).mask_png)
    assert alpha[200:280, 200:280].max() < 30
    assert alpha[240, 110] > 250


def test_cut_out_keeps_thin_straps() -> None:
    """Straps of 6 px in a 640-px photo belong to the garment."""
    mask = np.zeros((640, 480), np.uint8)
    mask[220:560, 140:340] = 255
    mask[100:220, 170:176] = mask[100:220, 304:310] = 255
    alpha = mask_from_png(cut(drawing.on_wall(mask, drawing.RED)).mask_png)
    assert np.median(alpha[130:210, 173]) > 200
    assert np.median(alpha[130:210, 240]) < 30


def test_cut_out_leaves_the_shadow() -> None:
    """The soft shadow under a garment is wall."""
    mask = drawing.tee_mask()
    shadow = cv2.GaussianBlur(np.roll(mask, (18, 18), (0, 1)), (0, 0), 9).astype(np.float32) / 255
    darker = drawing.on_wall(mask).astype(np.float32)
    darker[mask == 0] *= (1 - 0.3 * shadow[mask == 0])[:, None]
    assert overlap(cut(darker.astype(np.uint8)), mask) > 0.94


def test_cut_out_before_a_gradient() -> None:
    """A wall that is bright on one side and dark on the other is still one wall."""
    mask = drawing.tee_mask()
    light = np.linspace(1.1, 0.55, mask.shape[1])[None, :, None]
    picture = drawing.on_wall(mask, drawing.RED) * light
    assert overlap(cut(picture.clip(0, 255).astype(np.uint8)), mask) > 0.95


def test_cut_out_of_garment_at_the_edge() -> None:
    """A garment that touches the frame below is kept down to the edge."""
    mask = drawing.tee_mask(480, 900)[:640]
    found = cut(drawing.on_wall(mask))
    assert found.box.top + found.box.height == 640
    assert overlap(found, mask) > 0.95


def test_cut_out_of_two_shirts() -> None:
    """Two garments side by side are one item with both on it."""
    mask = np.hstack([drawing.tee_mask(300, 400)] * 2)
    assert overlap(cut(drawing.on_wall(mask)), mask) > 0.95


def test_cut_out_of_stripes() -> None:
    """Stripes, one of them close to the wall's colour, do not cut the garment to pieces."""
    mask = drawing.tee_mask()
    picture = drawing.on_wall(mask, drawing.BLUE)
    rows = (np.arange(640) // 20 % 2 == 0)[:, None] & (mask > 127)
    picture[rows] = (232, 226, 214)
    assert overlap(cut(picture), mask) > 0.85


def test_cut_out_that_covers_everything() -> None:
    """A close-up of cloth has no outline to cut along."""
    cloth = np.random.default_rng(2).normal(120, 9, (640, 480, 3)).clip(0, 255)
    assert cut(cloth.astype(np.uint8)).segmentation is Segmentation.LOW_CONFIDENCE


@pytest.mark.parametrize("size", EXTREME)
@pytest.mark.parametrize("prior", [None, lambda rgb: np.zeros((80, 80), np.float32)])
def test_cut_out_of_extreme_shapes(size: tuple[int, int], prior: Prior | None) -> None:
    """The smallest and the narrowest photos pass through, plain or noisy."""
    noise = np.random.default_rng(3).integers(0, 255, (*size, 3), dtype=np.uint8)
    for picture in (np.full((*size, 3), 200, np.uint8), noise):
        found = cut_out(decode(drawing.saved(picture, "PNG")), LocalSegmenter(prior=prior))
        assert (found.box.width, found.box.height) == (size[1], size[0])


def test_cut_out_is_repeatable() -> None:
    """The same photo gives the same mask, also after others."""
    picture = drawing.on_wall(drawing.tee_mask(), drawing.GREY)
    first = cut(picture)
    cut(drawing.on_wall(drawing.tee_mask(300, 300), drawing.RED))
    assert cut(picture) == first


def test_cut_out_with_a_prior() -> None:
    """A learned prior leads; its outline is refined on the photo."""
    mask = drawing.tee_mask()
    rough = cv2.resize(mask, (64, 64)).astype(np.float32) / 255
    segmenter = LocalSegmenter(lambda rgb: rough)
    found = cut_out(decode(drawing.saved(drawing.on_wall(mask), quality=92)), segmenter)
    assert Caution.MODEL_UNAVAILABLE not in found.cautions
    assert overlap(found, mask) > 0.95


def by_prior(picture: np.ndarray, prior: np.ndarray) -> CutOut:
    """The cut-out of a photo of which a model says this."""
    small = cv2.resize(prior, (96, 96), interpolation=cv2.INTER_AREA).astype(np.float32)
    return cut_out(decode(drawing.saved(picture, quality=92)), LocalSegmenter(lambda rgb: small))


def test_cut_out_of_print_in_the_colour_of_the_wall() -> None:
    """A model that is sure of a print is believed, though the print looks like wall."""
    mask = drawing.tee_mask()
    picture = drawing.on_wall(mask)
    cv2.circle(picture, (240, 330), 60, drawing.WALL, -1, cv2.LINE_AA)
    alpha = mask_from_png(by_prior(picture, mask / 255).mask_png)
    assert alpha[300:360, 210:270].min() == 255


def test_cut_out_by_a_model_that_is_unsure() -> None:
    """Where the model hardly prefers garment to wall, the cut-out is not believed as much."""
    mask = drawing.tee_mask()
    picture = drawing.on_wall(mask)
    sure, unsure = by_prior(picture, mask / 255), by_prior(picture, 0.35 + mask / 255 * 0.3)
    assert unsure.confidence < 0.6 < 0.95 < sure.confidence


def test_cut_out_that_the_photo_takes_away_from_its_model() -> None:
    """A mask that moves far from what the model saw is not believed as much."""
    mask = drawing.tee_mask()
    elsewhere = np.roll(mask, 120, axis=1) / 255 * 0.9
    moved = by_prior(drawing.on_wall(mask), np.clip(elsewhere, 0.06, 0.94))
    assert moved.confidence < by_prior(drawing.on_wall(mask), mask / 255).confidence - 0.1


@pytest.mark.parametrize(("share", "kept"), [(0.07, False), (0.15, True)])
def test_cut_out_leaves_what_lies_loose_beside_it(share: float, kept: bool) -> None:
    """A fringe of the rug is smaller than a tenth of the garment, a second shoe is larger."""
    shirt = drawing.tee_mask()
    side = round((share * (shirt > 127).sum()) ** 0.5)
    beside = np.zeros_like(shirt)
    beside[-side - 5 : -5, 5 : 5 + side] = 255
    found = by_prior(drawing.on_wall(shirt | beside), (shirt | beside) / 255)
    alpha = mask_from_png(found.mask_png)
    assert alpha[-side // 2 - 5, 5 + side // 2] == (255 if kept else 0)
    assert alpha[320, 240] == 255


def test_cut_out_without_its_model() -> None:
    """A missing model costs a warning; the classical cut-out takes its place."""

    def missing(rgb: np.ndarray) -> np.ndarray:
        raise ModelUnavailableError("no file")

    mask = drawing.tee_mask()
    segmenter = LocalSegmenter(missing)
    found = cut_out(decode(drawing.saved(drawing.on_wall(mask), quality=92)), segmenter)
    assert found.cautions == (Caution.MODEL_UNAVAILABLE,)
    assert overlap(found, mask) > 0.95


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
