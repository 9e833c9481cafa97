"""What a worker works with, by its settings; built at its first job, kept for the next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Protocol

from process_image_job.segmenters.local import LocalSegmenter
from process_image_job.values import CutOut, Photo, Segmenter
from shared.bootstrap import settings
from shared.domain.draft import Metadata
from shared.domain.pictures import Caution, Color
from shared.settings import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """What a namer says of a garment, and what a person should know about that."""

    metadata: Metadata
    cautions: tuple[Caution, ...] = ()


class Namer(Protocol):
    """Names the garment; `last` is true in the last run, when it may no longer raise to wait."""

    def __call__(
        self, photo: Photo, cut_out: CutOut | None, colors: tuple[Color, ...], *, last: bool
    ) -> Named: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """The segmenter of the settings, the one to fall back to, and the namer."""

    segmenter: Segmenter
    local_segmenter: Segmenter
    name: Namer


@cache
def tools_for(settings: Settings) -> Tools:
    """One set a process: models are loaded once."""
    local = LocalSegmenter()
    return Tools(segmenter=local, local_segmenter=local, name=_leave_it_to_the_person)


def _leave_it_to_the_person(
    photo: Photo, cut_out: CutOut | None, colors: tuple[Color, ...], *, last: bool
) -> Named:
    """`METADATA_PROVIDER` none: the colours are read, the category is the person's to say."""
    return Named(metadata=Metadata(colors=colors))


def current_tools() -> Tools:
    """The tools of this process's settings."""
    return tools_for(settings())
