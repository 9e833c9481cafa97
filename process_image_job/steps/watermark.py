"""The owner's name on the picture that is shown to others."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from process_image_job.values import Pixels

_HEIGHT = 0.035  # of the shorter side
_SMALLEST = 10  # pixels
_OPACITY = 150  # of 255


def with_watermark(rgb: Pixels, alpha: Pixels | None, text: str) -> tuple[Pixels, Pixels | None]:
    """The picture with `text` in its lower right corner; unchanged where the text is empty."""
    if not text:
        return rgb, alpha
    base = Image.fromarray(rgb if alpha is None else np.dstack([rgb, alpha])).convert("RGBA")
    signed = np.asarray(Image.alpha_composite(base, _layer(base.size, text)))
    return np.ascontiguousarray(signed[..., :3]), None if alpha is None else signed[..., 3].copy()


def _layer(size: tuple[int, int], text: str) -> Image.Image:
    layer = Image.new("RGBA", size, (0, 0, 0, 0))
    height = max(_SMALLEST, round(min(size) * _HEIGHT))
    ImageDraw.Draw(layer).text(
        (size[0] - height, size[1] - height),
        text,
        font=ImageFont.load_default(size=height),
        fill=(255, 255, 255, _OPACITY),
        stroke_width=max(1, height // 12),
        stroke_fill=(0, 0, 0, _OPACITY),
        anchor="rs",
    )
    return layer
