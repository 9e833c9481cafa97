"""Random views of the photos, drawn from a seeded generator: same seed, same pictures."""

from dataclasses import dataclass

import cv2
import numpy as np

from training.drawings import draw_nothing
from training.lessons import BACKGROUND_SIDE, SIDE, Lessons

_LUMA = np.full((3, 3), [0.299, 0.587, 0.114], np.float32)


@dataclass(frozen=True, kw_only=True)
class Chances:
    """How often each change is made, 0 to 1; the last epochs have milder ones."""

    new_background: float = 0.25
    cloth: float = 0.4  # of the new backgrounds: the inside of another garment, as on a bed
    pattern: float = 0.12  # stripes or checks, on the garment or on what it lies on
    low_contrast: float = 0.08
    blur: float = 0.1
    noise: float = 0.15
    grey: float = 0.05
    shuffle_channels: float = 0.15
    erase: float = 0.25
    nothing: float = 0.06  # a picture without any garment
    closer: float = 0.35  # the garment fills the picture, as at the app's second look
    turn: float = 18.0  # degrees either way
    zoom: float = 0.3  # natural logarithm; half as much the other way


@dataclass(frozen=True, kw_only=True)
class Example:
    """One training picture: S = side, mask and weight at S/2."""

    rgb: np.ndarray  # uint8 [S,S,3]
    mask: np.ndarray  # uint8 [S/2,S/2]
    mask_weight: float
    label: int  # -1: no garment


def random_example(
    lessons: Lessons, index: int, side: int, chances: Chances, rng: np.random.Generator
) -> Example:
    """A random view of photo `index`, or now and then a picture that shows no garment."""
    if rng.random() < chances.nothing:
        return _nothing(lessons, side, rng)
    view = _warp(lessons.rgbm[index], side, chances, rng)
    rgb, mask = _restyle(view, lessons, chances, rng)
    rgb = _colour(rgb, chances, rng)
    rgb = _degrade(rgb, chances, rng)
    small = cv2.resize(mask, (side // 2, side // 2), interpolation=cv2.INTER_AREA)
    return Example(
        rgb=rgb,
        mask=small,
        mask_weight=float(lessons.trust[index]),
        label=int(lessons.labels[index]),
    )


def _nothing(lessons: Lessons, side: int, rng: np.random.Generator) -> Example:
    empty = np.zeros((side // 2, side // 2), np.uint8)
    if rng.random() < 0.6:
        return Example(rgb=_background(lessons, side, rng), mask=empty, mask_weight=1.0, label=-1)
    drawing = draw_nothing(side, rng)
    return Example(rgb=drawing, mask=empty, mask_weight=0.0, label=-1)


def _warp(rgbm: np.ndarray, side: int, chances: Chances, rng: np.random.Generator) -> np.ndarray:
    """Turn, zoom, stretch, shift and mirror in one resampling."""
    left, top, width, height = 0.0, 0.0, float(SIDE), float(SIDE)
    if rng.random() < chances.closer:
        left, top, width, height = _around(rgbm[..., 3], rng)
    zoom = np.exp(rng.uniform(-chances.zoom / 2, chances.zoom)) * side
    stretch = np.exp(rng.normal(0, 0.1))
    angle = np.deg2rad(rng.uniform(-chances.turn, chances.turn))
    mirror = -1.0 if rng.random() < 0.5 else 1.0
    cos, sin = np.cos(angle), np.sin(angle)
    linear = np.array([[cos, -sin], [sin, cos]]) @ np.diag(
        [mirror * zoom * stretch / width, zoom / stretch / height]
    )
    centre = np.array([left + width / 2, top + height / 2])
    shift = rng.uniform(-0.08, 0.08, 2) * side + side / 2 - linear @ centre
    matrix = np.column_stack([linear, shift])
    return cv2.warpAffine(
        rgbm, matrix, (side, side), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101
    )


def _around(label: np.ndarray, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Left, top, width, height of the garment with some room; the whole picture without one."""
    left, top, width, height = cv2.boundingRect((label > 127).astype(np.uint8))
    if min(width, height) < SIDE // 8:
        return 0.0, 0.0, float(SIDE), float(SIDE)
    room = rng.uniform(0.04, 0.25)
    return left - room * width, top - room * height, (1 + 2 * room) * width, (1 + 2 * room) * height


def _restyle(
    view: np.ndarray, lessons: Lessons, chances: Chances, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Another background, a pattern, or a garment as pale as what lies behind it."""
    rgb, mask = np.ascontiguousarray(view[..., :3]), view[..., 3]
    draw = rng.random()
    alpha = (mask.astype(np.float32) / 255)[..., None]
    if draw < chances.new_background:
        cloth = rng.random() < chances.cloth
        behind = (_spread if cloth else _background)(lessons, rgb.shape[0], rng)
        return _blend(rgb, behind, alpha), mask
    draw -= chances.new_background
    if draw < chances.pattern:
        if rng.random() < 0.5:
            return _blend(_patterned(rgb, rng), rgb, alpha), mask
        return _blend(rgb, _patterned(rgb, rng), alpha), mask
    draw -= chances.pattern
    if draw < chances.low_contrast:
        return _blend(_near_background(rgb, alpha, rng), rgb, alpha), mask
    return rgb, mask


def _blend(front: np.ndarray, back: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    mixed = back + (front.astype(np.float32) - back) * alpha
    return np.clip(mixed, 0, 255).astype(np.uint8)


def _background(lessons: Lessons, side: int, rng: np.random.Generator) -> np.ndarray:
    bare = lessons.backgrounds[rng.integers(len(lessons.backgrounds))]
    least = BACKGROUND_SIDE // 2
    height, width = rng.integers(least, BACKGROUND_SIDE + 1, 2)
    top = rng.integers(BACKGROUND_SIDE - height + 1)
    left = rng.integers(BACKGROUND_SIDE - width + 1)
    crop = bare[top : top + height, left : left + width]
    if rng.random() < 0.5:
        crop = crop[:, ::-1]
    return cv2.resize(np.ascontiguousarray(crop), (side, side), interpolation=cv2.INTER_LINEAR)


def _spread(lessons: Lessons, side: int, rng: np.random.Generator) -> np.ndarray:
    """Cloth of another garment all over, turned at will, mirrored at its seams."""
    cloth = lessons.cloths[rng.integers(len(lessons.cloths))]
    zoom = side / BACKGROUND_SIDE * np.exp(rng.uniform(-0.9, 0.2))
    turn = cv2.getRotationMatrix2D((side / 2, side / 2), rng.uniform(0, 360), zoom)
    turn[:, 2] += rng.uniform(-0.5, 0.5, 2) * side
    return cv2.warpAffine(
        cloth, turn, (side, side), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101
    )


def _patterned(rgb: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Stripes over the picture, or two sets of them that cross, as on a plaid."""
    angle = rng.choice([0.0, np.pi / 2, rng.uniform(0, np.pi)])
    striped = _striped(rgb, angle, rng)
    return striped if rng.random() < 0.5 else _striped(striped, angle + np.pi / 2, rng)


def _striped(rgb: np.ndarray, angle: float, rng: np.random.Generator) -> np.ndarray:
    side = rgb.shape[0]
    period = rng.uniform(0.03, 0.2) * side
    rows, columns = np.mgrid[:side, :side].astype(np.float32)
    wave = np.sin((columns * np.cos(angle) + rows * np.sin(angle)) * 2 * np.pi / period)
    band = np.clip(wave * 4 - rng.uniform(-3, 3), -1, 1)[..., None] * 0.5 + 0.5
    return _blend(np.full_like(rgb, rng.integers(0, 256, 3)), rgb, band * rng.uniform(0.4, 1.0))


def _near_background(rgb: np.ndarray, alpha: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The garment's mean colour moved most of the way to the background's."""
    inside, outside = alpha.sum() + 1.0, (1 - alpha).sum() + 1.0
    garment = (rgb * alpha).sum((0, 1)) / inside
    background = (rgb * (1 - alpha)).sum((0, 1)) / outside
    moved = rgb + (background - garment) * rng.uniform(0.6, 0.95)
    return np.clip(moved, 0, 255).astype(np.uint8)


def _colour(rgb: np.ndarray, chances: Chances, rng: np.random.Generator) -> np.ndarray:
    """Saturation, hue, channel gains, contrast and brightness as one affine colour map."""
    saturation = 0.0 if rng.random() < chances.grey else rng.uniform(0.5, 1.5)
    matrix = _LUMA + (np.eye(3, dtype=np.float32) - _LUMA) * saturation
    if rng.random() < chances.shuffle_channels:
        matrix = matrix[rng.permutation(3)]
    matrix = np.diag(rng.uniform(0.85, 1.15, 3)) @ matrix
    contrast = rng.uniform(0.65, 1.35)
    offset = 128 * (1 - contrast) + rng.uniform(-40, 40)
    affine = np.column_stack([matrix * contrast, np.full(3, offset)])
    return cv2.transform(rgb, affine)


def _degrade(rgb: np.ndarray, chances: Chances, rng: np.random.Generator) -> np.ndarray:
    """Blur, sensor noise, and a rectangle hidden behind a flat colour."""
    if rng.random() < chances.blur:
        rgb = cv2.GaussianBlur(rgb, (0, 0), rng.uniform(0.5, 1.5))
    if rng.random() < chances.noise:
        noise = np.empty(rgb.shape, np.int16)
        cv2.setRNGSeed(int(rng.integers(2**31)))
        cv2.randn(noise, 0, rng.uniform(2, 12))
        rgb = np.clip(rgb + noise, 0, 255).astype(np.uint8)
    if rng.random() < chances.erase:
        side = rgb.shape[0]
        height, width = (rng.uniform(0.1, 0.35, 2) * side).astype(int)
        top, left = rng.integers(side - height), rng.integers(side - width)
        rgb[top : top + height, left : left + width] = rng.integers(0, 256, 3)
    return rgb
