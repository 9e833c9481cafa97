"""What passes between the steps of the image pipeline: frozen values, each saying its units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shared.domain.pictures import Box, Caution, Segmentation

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

ARCHIVE_SIDE = 2048  # the longest side of anything that is kept

LEAST_CONFIDENCE = 0.5  # below this a cut-out is not shown


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Photo:
    """The upload as it should be seen: upright, sRGB, first frame, 8 bits a channel."""

    rgb: Pixels  # (H, W, 3); at most 4095 a side, so maybe smaller than the file
    alpha: Pixels | None  # (H, W); None when every pixel is opaque
    full_width: int  # of the upright file, in pixels
    full_height: int
    cautions: tuple[Caution, ...] = ()

    @property
    def width(self) -> int:
        return int(self.rgb.shape[1])

    @property
    def height(self) -> int:
        return int(self.rgb.shape[0])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Segmented:
    """What a segmenter saw: `alpha` covers the whole photo, longest side at most 2048."""

    alpha: Pixels  # (h, w) in the photo's proportions; 255 = garment
    confidence: float  # 0..1, the chance that a person would keep this cut-out
    cautions: tuple[Caution, ...] = ()


class Segmenter(Protocol):
    """Finds the garment in a photo. The whole port: local, learned or remote."""

    def __call__(self, photo: Photo) -> Segmented: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class CutOut:
    """The checkpoint of the cut-out, small enough to store and load at any later stage."""

    mask_png: bytes  # 8-bit grey PNG of the whole photo, longest side at most 2048
    box: Box  # the garment with a margin, in pixels of the full upright photo
    confidence: float  # 0..1
    segmentation: Segmentation  # APPLIED, LOW_CONFIDENCE, or DEGRADED in place of either
    cautions: tuple[Caution, ...] = ()

    @property
    def shown(self) -> bool:
        """Whether the garment is shown without its background."""
        return self.confidence >= LEAST_CONFIDENCE


@dataclass(frozen=True, kw_only=True, slots=True)
class EncodedPicture:
    """One finished rendition: WebP bytes without metadata, size in pixels."""

    name: str  # archive, display, thumb, original-display or original-thumb
    data: bytes
    width: int
    height: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendered:
    """All renditions of a photo and the two placeholders to show while they load."""

    pictures: tuple[EncodedPicture, ...]
    cutout_blur_hash: str
    original_blur_hash: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Processed:
    """The answer of the processor endpoint: WebP with alpha, upright, at most 2048 px a side."""

    webp: bytes
    segmentation: Segmentation
    confidence: float
