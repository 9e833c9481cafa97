"""A photo so small that the whole pipeline runs in milliseconds, and tools to match."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
from PIL import Image, ImageDraw

from process_image_job.namers.port import Named
from process_image_job.tools import Tools
from process_image_job.values import CutOut, Photo, Segmented
from shared.domain.draft import Metadata
from shared.domain.pictures import Color

SIZE = (24, 32)


@cache
def tiny_photo(colour: str = "navy") -> bytes:
    """A garment-coloured box before a white wall."""
    picture = Image.new("RGB", SIZE, "white")
    ImageDraw.Draw(picture).rectangle((6, 6, 18, 26), fill=colour)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def box_segmenter(photo: Photo) -> Segmented:
    """The middle of the picture is the garment."""
    alpha = np.zeros((photo.height, photo.width), np.uint8)
    alpha[photo.height // 4 : -photo.height // 4, photo.width // 4 : -photo.width // 4] = 255
    return Segmented(alpha=alpha, confidence=0.9)


def shirt_namer(
    photo: Photo, cut_out: CutOut | None, colors: tuple[Color, ...], *, last: bool
) -> Named:
    """Everything is a shirt."""
    return Named(metadata=Metadata(category="Shirt", colors=colors, source="model"))


TINY_TOOLS = Tools(segmenter=box_segmenter, local_segmenter=box_segmenter, name=shirt_namer)


def tiny_tools() -> Tools:
    return TINY_TOOLS
