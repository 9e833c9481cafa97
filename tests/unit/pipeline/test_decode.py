"""Decoding: every odd upload becomes one upright sRGB photo, or an error that names the reason."""

import io
import struct

import cv2
import numpy as np
import pytest
from PIL import Image, ImageCms
from PIL.JpegImagePlugin import JpegImageFile
from PIL.WebPImagePlugin import WebPImageFile

from process_image_job.steps.decode import decode
from process_image_job.steps.quick_read import quick_jpeg, quick_webp
from shared.domain import errors
from shared.domain.pictures import Caution
from tests.unit.pipeline import drawing

UPRIGHT = drawing.asymmetric()


def lying(orientation: int) -> np.ndarray:
    """UPRIGHT as a camera stores it that writes this orientation."""
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM, 5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE, 8: Image.Transpose.ROTATE_270,
    }  # fmt: skip
    image = Image.fromarray(UPRIGHT)
    return np.asarray(image if orientation == 1 else image.transpose(undo[orientation]))


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "AVIF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_decode_of_each_orientation(orientation: int, form: str) -> None:
    """All eight orientations give the same upright picture."""
    photo = decode(drawing.saved(lying(orientation), form, exif=drawing.exif(orientation)))
    assert photo.rgb.shape == UPRIGHT.shape
    assert (photo.full_width, photo.full_height) == (96, 64)
    assert np.abs(photo.rgb.astype(int) - UPRIGHT).mean() < 3


def test_decode_of_alpha_with_orientation() -> None:
    """Alpha turns with the colours."""
    alpha = np.zeros((64, 96), np.uint8)
    alpha[:, :40] = 255
    lying_rgba = np.dstack([np.rot90(UPRIGHT), np.rot90(alpha)])
    photo = decode(drawing.saved(lying_rgba, "PNG", exif=drawing.exif(6)))
    assert photo.alpha is not None
    assert np.array_equal(photo.alpha, alpha)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(b"Exif\0\0", id="empty"),
        pytest.param(b"Exif\0\0" + drawing.exif(6), id="written-twice"),
        pytest.param(b"Exif\0\0garbage garbage", id="garbage"),
        pytest.param(b"Exif\0\0II*\0\xff\xff\xff\x7f", id="directory-outside"),
        pytest.param(b"Exif\0\0MM\0*\0\0\0\x08\x00\x09\x01", id="directory-cut"),
    ],
)
def test_decode_of_broken_exif(block: bytes) -> None:
    """A broken EXIF block costs a warning, not the photo."""
    photo = decode(drawing.with_segment(drawing.saved(UPRIGHT), 0xE1, block))
    assert photo.cautions == (Caution.METADATA_UNREADABLE, Caution.SMALL_SOURCE)
    assert photo.rgb.shape == UPRIGHT.shape


def test_decode_of_undefined_orientation() -> None:
    """Orientation 0 or 9 means upright."""
    photo = decode(drawing.saved(UPRIGHT, exif=drawing.exif(9)))
    assert (photo.full_width, Caution.METADATA_UNREADABLE in photo.cautions) == (96, False)


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
def test_decode_of_truncated_jpeg(share: float, progressive: bool) -> None:
    """Half a photo is CORRUPT_IMAGE, never a photo with a grey half."""
    noise = np.random.default_rng(1).integers(0, 255, (300, 300, 3), np.uint8)
    whole = drawing.saved(noise, progressive=progressive, quality=60)
    with pytest.raises(errors.CorruptImageError):
        decode(whole[: int(len(whole) * share)])


@pytest.mark.parametrize("form", ["PNG", "WEBP", "AVIF", "GIF"])
def test_decode_of_truncated_file(form: str) -> None:
    """The same holds for the other formats."""
    noise = np.random.default_rng(1).integers(0, 255, (120, 120, 3), np.uint8)
    whole = drawing.saved(noise, form)
    with pytest.raises(errors.CorruptImageError):
        decode(whole[: len(whole) // 2])


def test_decode_never_reads_truncated_files_elsewhere() -> None:
    """The process-wide switch of Pillow stays off."""
    from PIL import ImageFile

    decode(drawing.saved(UPRIGHT))
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False


def test_decode_of_gif_with_huge_second_frame() -> None:
    """Only the first frame is ever decoded."""
    first = drawing.saved(Image.new("P", (64, 64)), "GIF")
    frame = b"," + struct.pack("<HHHHB", 0, 0, 65_535, 65_535, 0) + b"\x08\x02\x44\x01\0"
    photo = decode(first[:-1] + frame + b";")
    assert photo.rgb.shape == (64, 64, 3)
    assert Caution.ANIMATION_DROPPED in photo.cautions


@pytest.mark.parametrize(
    ("form", "count"), [("GIF", 3), ("GIF", 300), ("WEBP", 3), ("PNG", 3), ("AVIF", 3)]
)
def test_decode_of_animation(form: str, count: int) -> None:
    """The first frame is the photo; the warning says that the rest was dropped."""
    first, *rest = drawing.frames(count)
    photo = decode(drawing.saved(first, form, save_all=True, append_images=rest, duration=40))
    assert Caution.ANIMATION_DROPPED in photo.cautions
    assert np.abs(photo.rgb[32, 32].astype(int) - (0, 200, 90)).max() < 12


@pytest.mark.parametrize("profiled", [False, True])
def test_decode_of_cmyk(profiled: bool) -> None:
    """White stays white and red stays red, without a profile and with a useless one."""
    cmyk = Image.new("CMYK", (64, 64), (0, 0, 0, 0))
    cmyk.paste((0, 255, 255, 0), (0, 0, 32, 64))
    extra = {"icc_profile": b"no profile at all"} if profiled else {}
    photo = decode(drawing.saved(cmyk, **extra))
    assert photo.rgb[32, 50].min() >= 250
    assert photo.rgb[32, 10, 0] > 200
    assert photo.rgb[32, 10, 1:].max() < 60


def test_decode_of_cmyk_by_its_profile() -> None:
    """What an ink looks like is the profile's word; white stays white."""
    cmyk = Image.new("CMYK", (64, 64), (0, 0, 0, 0))
    cmyk.paste((0, 255, 0, 0), (0, 0, 32, 64))
    green = drawing.cmyk_profile((130, 40, 200))
    photo = decode(drawing.saved(cmyk, icc_profile=green))
    assert photo.rgb[32, 50].min() >= 250
    assert photo.rgb[32, 10, 1] > photo.rgb[32, 10, [0, 2]].max() + 100


def test_decode_of_cmyk_with_orientation() -> None:
    """A CMYK photo is turned like any other."""
    cmyk = Image.new("CMYK", (64, 40), (0, 0, 0, 0))
    assert decode(drawing.saved(cmyk, exif=drawing.exif(6))).rgb.shape == (64, 40, 3)


def swapped_profile() -> bytes:
    """sRGB with the red and green primaries changed places: a profile one cannot overlook."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    red, green = profile.index(b"rXYZ"), profile.index(b"gXYZ")
    profile[red : red + 4], profile[green : green + 4] = b"gXYZ", b"rXYZ"
    return bytes(profile)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_decode_with_another_profile(form: str) -> None:
    """Colours are moved to sRGB by the profile of the photo."""
    red = np.full((64, 64, 3), (250, 5, 5), np.uint8)
    photo = decode(drawing.saved(red, form, icc_profile=swapped_profile()))
    assert photo.rgb[32, 32, 1] > 230
    assert photo.rgb[32, 32, 0] < 60


def test_decode_with_srgb_profile() -> None:
    """A profile that is sRGB changes nothing."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert np.array_equal(decode(drawing.saved(UPRIGHT, "PNG", icc_profile=profile)).rgb, UPRIGHT)


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
def test_decode_with_broken_profile(form: str) -> None:
    """A profile that cannot be read is left out."""
    photo = decode(drawing.saved(UPRIGHT, form, icc_profile=b"\0" * 128))
    assert np.abs(photo.rgb.astype(int) - UPRIGHT).mean() < 3


def test_decode_of_sixteen_bit_grey() -> None:
    """A ramp of 65,536 greys keeps at least 200 levels."""
    ramp = np.tile(np.linspace(0, 65_535, 512).astype(np.uint16), (32, 1))
    photo = decode(drawing.saved(Image.fromarray(ramp), "PNG"))
    assert len(np.unique(photo.rgb)) >= 200
    assert (photo.rgb.min(), photo.rgb.max()) == (0, 255)


def palette_with_hole() -> Image.Image:
    image = Image.new("P", (64, 64), 1)
    image.putpalette([0, 0, 0, 200, 30, 30])
    image.paste(0, (0, 0, 32, 64))
    image.info["transparency"] = 0
    return image


@pytest.mark.parametrize(
    "image",
    [
        pytest.param(Image.new("RGBA", (64, 64), (200, 30, 30, 90)), id="RGBA"),
        pytest.param(Image.new("LA", (64, 64), (90, 0)), id="LA"),
        pytest.param(palette_with_hole(), id="P"),
    ],
)
def test_decode_keeps_alpha(image: Image.Image) -> None:
    """Transparency of every kind arrives as alpha."""
    options = {"transparency": 0} if image.mode == "P" else {}
    photo = decode(drawing.saved(image, "PNG", **options))
    assert photo.alpha is not None
    assert photo.alpha.min() < 255


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA"])
def test_decode_of_opaque_modes(mode: str) -> None:
    """A picture without holes has no alpha and three channels."""
    photo = decode(drawing.saved(Image.new("RGB", (40, 40), "white").convert(mode), "PNG"))
    assert photo.alpha is None
    assert photo.rgb.shape == (40, 40, 3)
    assert photo.rgb.min() == 255


def test_decode_of_grey_jpeg() -> None:
    """One channel becomes three."""
    assert decode(drawing.saved(Image.new("L", (300, 300), 90))).rgb[9, 9].tolist() == [90] * 3


def test_decode_of_small_photo() -> None:
    """Below 256 px on the longest side the person is told."""
    assert decode(drawing.saved(Image.new("RGB", (255, 16)))).cautions == (Caution.SMALL_SOURCE,)


def test_decode_of_photo_of_256_pixels() -> None:
    """From 256 px on there is no warning."""
    assert decode(drawing.saved(Image.new("RGB", (256, 16)))).cautions == ()


def test_decode_of_large_jpeg_at_reduced_scale() -> None:
    """A JPEG of more than twice the archive is decoded small; the full size is still reported."""
    photo = decode(drawing.saved(Image.new("RGB", (6000, 1500), (10, 120, 90)), quality=50))
    assert (photo.full_width, photo.full_height) == (6000, 1500)
    assert photo.rgb.shape[1] == 3000


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1", "I;16"])
def test_decode_of_large_png_is_bounded(mode: str) -> None:
    """Other formats are halved after decoding, so that no later step sees over 4095 px."""
    photo = decode(drawing.saved(Image.new(mode, (8000, 300), 1), "PNG"))
    assert max(photo.rgb.shape) < 4096
    assert photo.full_width == 8000


def mpo() -> bytes:
    first, second = drawing.frames(2, side=300)
    return drawing.saved(first, "MPO", save_all=True, append_images=[second])


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(mpo(), id="whole"),
        pytest.param(mpo() + b"junk behind the last frame", id="junk"),
        pytest.param(mpo()[: len(mpo()) * 6 // 10], id="second-frame-missing"),
    ],
)
def test_decode_of_mpo(data: bytes) -> None:
    """Of a multi-picture file the main picture counts, whatever became of the others."""
    photo = decode(data)
    assert photo.rgb.shape == (300, 300, 3)
    assert photo.cautions == ()
    assert np.abs(photo.rgb[9, 9].astype(int) - (0, 200, 90)).max() < 6


def test_decode_of_text_bomb_behind_the_pixels() -> None:
    """A text block that unpacks to megabytes is refused also at the end of the file."""
    import zlib

    png = drawing.saved(UPRIGHT, "PNG")
    bomb = drawing.chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"a" * 40_000_000))
    with pytest.raises(errors.ImageTooLargeError):
        decode(png[:-12] + bomb + png[-12:])


def test_decode_of_flipped_bits() -> None:
    """Random damage ends in a photo or a BadImageError, never in another exception."""
    random = np.random.default_rng(3)
    outcomes = set()
    forms = ("JPEG", "PNG", "WEBP", "AVIF", "GIF")
    for good in (*(drawing.saved(UPRIGHT, form) for form in forms), drawing.heic(UPRIGHT)):
        for _ in range(60):
            damaged = bytearray(good)
            for at in random.integers(0, len(good), 6):
                damaged[at] ^= 1 << int(random.integers(8))
            outcomes.add(outcome(bytes(damaged)))
    assert outcomes <= {"Photo", *(each.__name__ for each in errors.BadImageError.__subclasses__())}
    assert len(outcomes) > 1


def outcome(data: bytes) -> str:
    try:
        return type(decode(data)).__name__
    except errors.BadImageError as error:
        return type(error).__name__


@pytest.mark.parametrize("orientation", range(1, 9))
def test_decode_of_heic(orientation: int) -> None:
    """A HEIC is a photo like any other; what its container turns is not turned again by EXIF."""
    stored = np.kron(lying(orientation), np.ones((2, 2, 1), np.uint8))
    photo = decode(drawing.heic(stored, exif=drawing.exif(orientation)))
    assert (photo.full_width, photo.full_height) == (192, 128)
    assert np.abs(photo.rgb[::2, ::2].astype(int) - UPRIGHT).mean() < 3


@pytest.mark.parametrize("scale", [1, 2, 4])
@pytest.mark.parametrize("progressive", [False, True])
def test_decode_the_quick_way(scale: int, progressive: bool) -> None:
    """A plain JPEG goes the quick way, at every scale, and looks as Pillow decodes it."""
    tall = np.repeat(np.repeat(UPRIGHT, 24 * scale, axis=0), 8, axis=1)[:, :768]
    raw = drawing.saved(cv2.GaussianBlur(tall, (0, 0), 5), progressive=progressive)
    image = JpegImageFile(io.BytesIO(raw))
    full = image.size
    image.draft(None, (full[0] // scale, full[1] // scale))
    quick = quick_jpeg(raw, image, full)
    assert quick is not None
    assert quick.shape == (full[1] // scale, full[0] // scale, 3)
    assert np.abs(quick.astype(int) - np.asarray(image)).max() <= 3


def test_decode_the_quick_way_is_not_for_files_without_end() -> None:
    """A JPEG that does not show its end is left to Pillow, which tells truncated from whole."""
    raw = drawing.saved(UPRIGHT)[:-2]
    image = JpegImageFile(io.BytesIO(raw))
    assert quick_jpeg(raw, image, image.size) is None


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_decode_of_still_webp_the_quick_way(mode: str) -> None:
    """A still WebP goes the quick way, colours and alpha in their order."""
    picture = Image.fromarray(UPRIGHT).convert("RGBA")
    picture.putalpha(Image.linear_gradient("L").resize(picture.size))
    raw = drawing.saved(picture.convert(mode), "WEBP", lossless=True, exact=True)
    image = WebPImageFile(io.BytesIO(raw))
    quick = quick_webp(raw, image)
    assert quick is not None
    assert np.array_equal(quick, np.asarray(image))


def test_decode_of_webp_film_the_slow_way() -> None:
    """Only Pillow gives the first frame of a film alone."""
    first, *rest = drawing.frames(3)
    raw = drawing.saved(first, "WEBP", save_all=True, append_images=rest)
    assert quick_webp(raw, WebPImageFile(io.BytesIO(raw))) is None


def test_decode_of_large_webp_is_bounded() -> None:
    """The quick way ends below 4,096 px as well."""
    photo = decode(drawing.saved(Image.new("RGB", (8000, 300), (10, 120, 90)), "WEBP"))
    assert photo.rgb.shape[1] < 4096
    assert photo.full_width == 8000
