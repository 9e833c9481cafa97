"""Renditions: sizes, alpha, privacy and the watermark."""

import io

import numpy as np
import pillow_heif
import pytest
from PIL import Image, PngImagePlugin

from process_image_job.pipeline import render
from process_image_job.steps.crop import garment_box, mask_png
from process_image_job.steps.decode import decode
from process_image_job.values import CutOut, EncodedPicture, Photo, Rendered
from shared.domain.pictures import Segmentation
from tests.unit.pipeline import drawing

SET = ["archive", "display", "thumb", "original-display", "original-thumb"]


def tee_photo(width: int = 1200, height: int = 1600) -> tuple[Photo, np.ndarray]:
    mask = drawing.tee_mask(width, height)
    return decode(drawing.saved(drawing.on_wall(mask), quality=90)), mask


def cut_by(mask: np.ndarray, photo: Photo) -> CutOut:
    return CutOut(
        mask_png=mask_png(mask),
        box=garment_box(mask, photo),
        confidence=0.9,
        segmentation=Segmentation.APPLIED,
    )


def picture(rendered: Rendered, name: str) -> EncodedPicture:
    return next(each for each in rendered.pictures if each.name == name)


def opened(rendered: Rendered, name: str) -> Image.Image:
    return Image.open(io.BytesIO(picture(rendered, name).data))


def test_render_of_cut_out_set() -> None:
    """All five pictures exist, with the sizes they say, none over its limit."""
    photo, mask = tee_photo()
    rendered = render(photo, cut_by(mask, photo))
    assert [each.name for each in rendered.pictures] == SET
    for each in rendered.pictures:
        assert Image.open(io.BytesIO(each.data)).size == (each.width, each.height)
    longest = [max(each.width, each.height) for each in rendered.pictures]
    assert longest[1:] == [1024, 256, 1024, 256]
    assert longest[0] <= 2048


def test_render_of_large_photo() -> None:
    """The archive of a 12-megapixel photo has 2048 px on its longest side."""
    photo = decode(drawing.saved(Image.new("RGB", (4032, 3024), (90, 120, 60)), quality=60))
    assert max(opened(render(photo, None), "archive").size) == 2048


def test_render_of_large_cut_out() -> None:
    """The garment of a 12-megapixel photo is kept with 2048 px on its longest side."""
    photo, mask = tee_photo(3000, 4000)
    rendered = render(photo, cut_by(mask, photo))
    assert max(opened(rendered, "archive").size) == 2048
    assert opened(rendered, "archive").mode == "RGBA"


@pytest.mark.parametrize("cut", [False, True])
def test_render_never_enlarges(cut: bool) -> None:
    """A small photo keeps its own size in every rendition."""
    photo, mask = tee_photo(150, 200)
    rendered = render(photo, cut_by(mask, photo) if cut else None)
    assert [each.name for each in rendered.pictures] == SET
    assert max(each.width for each in rendered.pictures) <= 150
    assert max(each.height for each in rendered.pictures) <= 200


def test_render_keeps_the_garment_whole() -> None:
    """The crop holds every garment pixel and a margin."""
    photo, mask = tee_photo()
    alpha = np.asarray(opened(render(photo, cut_by(mask, photo)), "archive").convert("RGBA"))[
        ..., 3
    ]
    assert alpha[[0, -1]].max() == 0
    assert alpha[:, [0, -1]].max() == 0
    assert alpha.sum() / 255 == pytest.approx(mask.sum() / 255, rel=0.01)


def test_render_of_garment_at_the_frame() -> None:
    """A crop that would pass the edge of the photo stops there."""
    photo, _ = tee_photo(300, 400)
    mask = np.zeros((400, 300), np.uint8)
    mask[100:, :] = 255
    box = garment_box(mask, photo)
    assert (box.left, box.width, box.top + box.height) == (0, 300, 400)


def private(form: str) -> bytes:
    """A photo that tells where it was taken and by whom, in every way its format has."""
    told = Image.Exif()
    told[0x010F] = "SecretCam"
    told.get_ifd(0x8825).update({1: "N", 2: (52.0, 13.0, 48.0), 3: "E", 4: (21.0, 0.0, 36.0)})
    picture = drawing.asymmetric(400, 300)
    if form == "HEIF":
        buffer = io.BytesIO()
        heif = pillow_heif.from_pillow(Image.fromarray(picture))
        heif.save(buffer, exif=told.tobytes(), xmp=b"<x:secret/>")
        return buffer.getvalue()
    options = {"exif": told, "xmp": b"<x:secret/>"}
    if form == "JPEG":
        options["comment"] = b"home address <script>alert(1)</script>"
    if form == "PNG":
        del options["xmp"]
        options["pnginfo"] = PngImagePlugin.PngInfo()
        options["pnginfo"].add_text("Comment", "home address")
        options["pnginfo"].add_itxt("XML:com.adobe.xmp", "<x:secret/>")
    return drawing.saved(picture, form, **options)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "AVIF", "HEIF"])
@pytest.mark.parametrize("name", SET)
def test_render_leaves_no_metadata(name: str, form: str) -> None:
    """No EXIF, GPS, XMP, profile or comment of the upload reaches a rendition."""
    raw = private(form)
    assert b"ecret" in raw
    photo = decode(raw)
    mask = np.zeros((300, 400), np.uint8)
    mask[50:250, 50:350] = 255
    data = picture(render(photo, cut_by(mask, photo)), name).data
    marks = (b"EXIF", b"XMP ", b"ICCP", b"Secret", b"secret", b"home", b"script")
    assert not any(mark in data for mark in marks)
    assert set(Image.open(io.BytesIO(data)).info) <= {"loop", "background", "timestamp", "duration"}


def test_render_never_gives_an_empty_file() -> None:
    """Every rendition has bytes, also of the smallest photo."""
    photo = decode(drawing.saved(Image.new("L", (16, 16), 90), "PNG"))
    rendered = render(photo, None)
    assert {name: opened(rendered, name).size for name in SET} == dict.fromkeys(SET, (16, 16))


def test_render_without_cut_out() -> None:
    """The item's set then shows the photo as taken."""
    photo, _ = tee_photo()
    rendered = render(photo, None)
    assert picture(rendered, "display").data == picture(rendered, "original-display").data
    assert rendered.cutout_blur_hash == rendered.original_blur_hash


def test_render_with_low_confidence() -> None:
    """A mask that is not trusted does not reach the picture."""
    photo, mask = tee_photo()
    doubtful = CutOut(
        mask_png=mask_png(mask * 0),
        box=garment_box(mask, photo),
        confidence=0.1,
        segmentation=Segmentation.LOW_CONFIDENCE,
    )
    assert opened(render(photo, doubtful), "archive").mode == "RGB"


@pytest.mark.parametrize("cut", [False, True])
def test_render_with_watermark(cut: bool) -> None:
    """The watermark is on the display picture and on no other."""
    photo, mask = tee_photo()
    cut_out = cut_by(mask, photo) if cut else None
    plain, marked = render(photo, cut_out), render(photo, cut_out, watermark="Anna's shop")
    changed = [
        a.name for a, b in zip(plain.pictures, marked.pictures, strict=True) if a.data != b.data
    ]
    assert changed == ["display"]


def test_render_of_transparent_picture_has_no_fringe() -> None:
    """The hidden black behind a cut-out does not bleed into its edge."""
    mask = drawing.tee_mask(1200, 1600)
    rgba = np.dstack([np.where(mask[..., None] > 0, np.uint8(240), np.uint8(0)).repeat(3, 2), mask])
    photo = decode(drawing.saved(rgba, "PNG"))
    small = np.asarray(opened(render(photo, None), "thumb").convert("RGBA"))
    assert small[small[..., 3] > 40][:, :3].min() > 200


def test_render_takes_background_from_the_rim() -> None:
    """The half-transparent rim of a dark garment on a white wall is dark."""
    mask = drawing.tee_mask(600, 800)
    photo = decode(drawing.saved(drawing.on_wall(mask, (30, 30, 90), (250, 250, 250)), "PNG"))
    archive = np.asarray(opened(render(photo, cut_by(mask, photo)), "archive").convert("RGBA"))
    rim = archive[(archive[..., 3] > 60) & (archive[..., 3] < 200)]
    assert np.median(rim[:, 0]) < 70


def test_render_asks_for_the_time() -> None:
    """A caller's time limit can end the rendering."""

    def too_late() -> None:
        raise TimeoutError

    photo, _ = tee_photo(150, 200)
    with pytest.raises(TimeoutError):
        render(photo, None, check_time=too_late)
