"""What a run makes of a photo, as values: the crop, the renditions, the colours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Segmentation(StrEnum):
    """How the cut-out came about."""

    APPLIED = "Applied"  # the garment was cut out
    SKIPPED = "Skipped"  # the caller asked for none
    DEGRADED = "Degraded"  # the remote processor was away; a later run may mend it
    LOW_CONFIDENCE = "LowConfidence"  # the mask cannot be trusted; renditions show the original


class Caution(StrEnum):
    """What a person may want to know about a draft that is Ready all the same."""

    METADATA_UNREADABLE = "METADATA_UNREADABLE"  # broken EXIF; taken as upright
    ANIMATION_DROPPED = "ANIMATION_DROPPED"  # only the first frame was used
    SMALL_SOURCE = "SMALL_SOURCE"  # shorter than 256 px on its longest side
    LOW_CONFIDENCE_MASK = "LOW_CONFIDENCE_MASK"  # the cut-out was not used
    SEGMENTATION_DEGRADED = "SEGMENTATION_DEGRADED"  # made without the remote processor
    MODEL_UNAVAILABLE = "MODEL_UNAVAILABLE"  # cut out and named without the learned model
    CATEGORY_NOT_ALLOWED = "CATEGORY_NOT_ALLOWED"  # the provider's answer is not in the list
    METADATA_UNAVAILABLE = "METADATA_UNAVAILABLE"  # the provider was away
    REPROCESS_FAILED = "REPROCESS_FAILED"  # the last reprocess failed; the old picture stays


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """A rectangle in pixels of the upright photo: left, top, width, height."""

    left: int
    top: int
    width: int
    height: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Color:
    """One colour of the garment: palette name, `#rrggbb`, and its share of the garment 0..1."""

    name: str
    hex: str
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendition:
    """One picture that is stored: full blob name, size in pixels and in bytes."""

    blob: str
    width: int
    height: int
    size: int  # bytes
