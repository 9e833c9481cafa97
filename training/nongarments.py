"""Sixty pictures without garments, for evaluation alone: none of them is trained on.

Photos that the packages scikit-image and scikit-learn bundle, photos of the odd set that show no
garment, walls and floors cut from validation photos, and pages and charts drawn here.
"""

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import skimage
import sklearn.datasets
from PIL import Image, ImageDraw, ImageFont

from training.lessons import bare_background
from training.photos import list_photos, read_rgb
from training.validation import reference_mask

WALLS, PAGES, CHARTS = 10, 5, 4
_BUNDLED = [
    "astronaut.png",
    "brick.png",
    "camera.png",
    "cell.png",
    "chelsea.png",
    "chessboard_RGB.png",
    "coffee.png",
    "coins.png",
    "color.png",
    "grass.png",
    "gravel.png",
    "horse.png",
    "hubble_deep_field.jpg",
    "ihc.png",
    "moon.png",
    "motorcycle_left.png",
    "page.png",
    "retina.jpg",
    "rocket.jpg",
    "text.png",
    "logo.png",
]
_ODD = [
    "exif-orientation-examples__Landscape_1.jpg",
    "exif-orientation-examples__Portrait_1.jpg",
    "exif-samples__jpg_mobile_HMD_Nokia_8.3_5G.jpg",
    "exif-samples__jpg_tests_35-empty.jpg",
    "exif-samples__jpg_tests_36-memory_error.jpg",
    "immich-test-assets__formats_avif_8bit-sRGB.avif",
    "libvips__rgba.png",
    "pillow__1_trns.png",
    "pillow__avif_rot0mir0.avif",
    "pillow__avif_star.gif",
    "pillow__flower.jpg",
    "pillow__hopper_orientation_2.jpg",
    "pillow__iptc.jpg",
    "pillow__iss634.webp",
    "pillow__junk_jpeg_header.jpg",
    "pillow__pil_sample_rgb.jpg",
    "pillow__sugarshack.mpo",
    "pillow__xmp_test.jpg",
]


def pictures_without_garments(data: Path) -> dict[str, np.ndarray]:
    """Name to RGB; `data` holds `photos-odd` and `garments-validation`."""
    found = {f"skimage/{name}": _read(_bundled_folder() / name) for name in _BUNDLED}
    images = sklearn.datasets.load_sample_images()
    for path, rgb in zip(images.filenames, images.images, strict=True):
        found[f"sklearn/{Path(path).name}"] = rgb
    found |= {f"odd/{name}": _read(data / "photos-odd" / name) for name in _ODD}
    found |= _walls(data / "garments-validation")
    found |= {f"drawn/page-{seed}": _drawn(_page, seed) for seed in range(PAGES)}
    found |= {f"drawn/chart-{seed}": _drawn(_chart, seed) for seed in range(CHARTS)}
    return found


def _bundled_folder() -> Path:
    return Path(skimage.__file__).parent / "data"


def _read(path: Path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def _walls(validation: Path) -> dict[str, np.ndarray]:
    """The barest parts of the first photos that have any, looking at every 15th."""
    found: dict[str, np.ndarray] = {}
    for photo in list_photos(validation)[::15]:
        mask = reference_mask(validation, photo)
        if mask is None or len(found) == WALLS:
            continue
        rgb = cv2.resize(read_rgb(photo.path), mask.shape[::-1], interpolation=cv2.INTER_AREA)
        wall = bare_background(np.dstack([rgb, mask.astype(np.uint8) * 255]))
        if wall is not None:
            found[f"wall/{photo.path.stem}"] = wall
    return found


def _drawn(
    draw: Callable[[ImageDraw.ImageDraw, np.random.Generator], None], seed: int
) -> np.ndarray:
    canvas = Image.new("RGB", (600, 800), "white")
    draw(ImageDraw.Draw(canvas), np.random.default_rng([77, seed]))
    return np.asarray(canvas)


def _page(draw: ImageDraw.ImageDraw, rng: np.random.Generator) -> None:
    size = int(rng.integers(12, 30))
    font = ImageFont.load_default(size)
    words = [
        "wardrobe",
        "receipt",
        "total",
        "paid",
        "thank",
        "you",
        "for",
        "your",
        "visit",
        "number",
        "street",
        "city",
    ]
    for top in range(30, 760, size + 8):
        draw.text((40, top), " ".join(rng.choice(words, 7)), "black", font)


def _chart(draw: ImageDraw.ImageDraw, rng: np.random.Generator) -> None:
    for left in range(60, 540, 60):
        colour = tuple(int(value) for value in rng.integers(0, 256, 3))
        draw.rectangle((left, int(rng.integers(100, 650)), left + 40, 700), colour)
    draw.line((40, 700, 560, 700), "black", 3)
    draw.line((40, 60, 40, 700), "black", 3)
