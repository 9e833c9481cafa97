"""Any Pillow mode and profile to 8-bit sRGB, with alpha where the picture has it."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
from PIL import Image, ImageCms

_SIXTEEN_BIT = {"I;16", "I;16L", "I;16B", "I"}
_CLOSE_ENOUGH = 2  # of 255; a profile that moves no colour further is sRGB under another name
_STEPS = 9


def as_srgb(image: Image.Image) -> Image.Image:
    """The picture in mode RGB or RGBA. A profile that cannot be used is left out."""
    profile = image.info.get("icc_profile")
    image = _eight_bit(image)
    if image.mode == "CMYK":
        return _converted(image, profile) or image.convert("RGB")
    wanted = "RGBA" if image.has_transparency_data else "RGB"
    grey = image.mode in {"L", "LA", "1"}
    image = image if image.mode == wanted else image.convert(wanted)
    if not profile or grey:
        return image
    return _converted(image, profile) or image


def _eight_bit(image: Image.Image) -> Image.Image:
    """16-bit grey keeps its upper eight bits; Pillow would clip it to white."""
    if image.mode not in _SIXTEEN_BIT:
        return image
    return Image.fromarray((np.asarray(image).astype(np.uint32) >> 8).clip(0, 255).astype(np.uint8))


def _converted(image: Image.Image, profile: bytes | None) -> Image.Image | None:
    """The picture moved to sRGB; None where the profile is absent, broken or sRGB already."""
    if not profile:
        return None
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if source.profile.xcolor_space.strip() != image.mode.removesuffix("A"):
            return None
        transform = _transform(source, image.mode)
        return (
            None if _is_srgb(transform, image.mode) else ImageCms.applyTransform(image, transform)
        )
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return None


def _transform(source: ImageCms.ImageCmsProfile, mode: str) -> ImageCms.ImageCmsTransform:
    return ImageCms.buildTransform(
        source,
        _srgb(),
        mode,
        "RGB" if mode == "CMYK" else mode,
        renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC,
        flags=ImageCms.Flags.BLACKPOINTCOMPENSATION,
    )


def _is_srgb(transform: ImageCms.ImageCmsTransform, mode: str) -> bool:
    if mode == "CMYK":
        return False
    axis = np.linspace(0, 255, _STEPS).astype(np.uint8)
    cube = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(1, -1, 3)
    before = Image.fromarray(cube).convert(mode)
    after = ImageCms.applyTransform(before, transform)
    moved = np.abs(np.asarray(before).astype(int) - np.asarray(after))
    return int(moved.max()) <= _CLOSE_ENOUGH


@cache
def _srgb() -> ImageCms.ImageCmsProfile:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
