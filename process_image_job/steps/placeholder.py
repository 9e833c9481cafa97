"""BlurHash (blurha.sh): a few cosine waves of a picture in about 30 characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from process_image_job.steps.scale import flattened, shrink
from process_image_job.values import Pixels

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"
_SIDE = 64
_LONG, _SHORT = 4, 3  # waves along the longer and the shorter side


def blur_hash(rgb: Pixels, alpha: Pixels | None) -> str:
    """The BlurHash of the picture laid on white."""
    small = flattened(*shrink(rgb, alpha, _SIDE))
    height, width = small.shape[:2]
    across, down = (_LONG, _SHORT) if width >= height else (_SHORT, _LONG)
    factors = _factors(_linear(small), across, down)
    return _text(factors.reshape(-1, 3), across, down)


def _linear(rgb: Pixels) -> NDArray[np.float64]:
    value = rgb / 255.0
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def _gamma(value: NDArray[np.float64]) -> NDArray[np.int64]:
    value = np.clip(value, 0, 1)
    curve = np.where(value <= 0.0031308, value * 12.92, 1.055 * value ** (1 / 2.4) - 0.055)
    return (curve * 255 + 0.5).astype(np.int64)


def _factors(pixels: NDArray[np.float64], across: int, down: int) -> NDArray[np.float64]:
    """Mean of the picture times each wave, (down, across, 3); all but the first count double."""
    height, width = pixels.shape[:2]
    rows = np.cos(np.pi * np.outer(np.arange(down), np.arange(height)) / height)
    columns = np.cos(np.pi * np.outer(np.arange(across), np.arange(width)) / width)
    factors = np.einsum("jy,yxc,ix->jic", rows, pixels, columns) / (width * height)
    double = np.full((down, across, 1), 2.0)
    double[0, 0] = 1.0
    return factors * double


def _text(factors: NDArray[np.float64], across: int, down: int) -> str:
    mean, waves = factors[0], factors[1:]
    level = int(np.clip(np.floor(np.abs(waves).max() * 166 - 0.5), 0, 82))
    scaled = waves / ((level + 1) / 166)
    steps = np.floor(np.sign(scaled) * np.sqrt(np.abs(scaled)) * 9 + 9.5).clip(0, 18)
    red, green, blue = _gamma(mean)
    digits = [_base83(across - 1 + (down - 1) * 9, 1), _base83(level, 1)]
    digits.append(_base83(int(red << 16 | green << 8 | blue), 4))
    digits += [_base83(int(r * 361 + g * 19 + b), 2) for r, g, b in steps]
    return "".join(digits)


def _base83(value: int, length: int) -> str:
    return "".join(_DIGITS[value // 83**place % 83] for place in range(length - 1, -1, -1))
