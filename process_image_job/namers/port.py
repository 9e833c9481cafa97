"""The namer port, and the rules that every namer's answer goes through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from process_image_job.values import CutOut, Photo
from shared.domain.draft import MAX_TITLE, UNCATEGORISED, Metadata
from shared.domain.pictures import Caution, Color


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """What a namer says of a garment, and what a person should know about that."""

    metadata: Metadata
    cautions: tuple[Caution, ...] = ()


class Namer(Protocol):
    """Names the garment. Raises ProviderUnavailableError to be asked again, never when `last`."""

    def __call__(
        self, photo: Photo, cut_out: CutOut | None, colors: tuple[Color, ...], *, last: bool
    ) -> Named: ...


def unnamed(colors: tuple[Color, ...], *cautions: Caution) -> Named:
    """The colours are known, the category is the person's to say."""
    return Named(metadata=Metadata(colors=colors), cautions=cautions)


def allowed_category(name: str, allowed: tuple[str, ...]) -> str | None:
    """The spelling of the allow-list, whatever case and punctuation the answer has."""
    return {_folded(entry): entry for entry in allowed}.get(_folded(name))


def suggested_title(category: str, colors: tuple[Color, ...]) -> str | None:
    """Such as "Navy T-shirt": the largest colour and the category."""
    if category == UNCATEGORISED or not colors:
        return None
    return f"{colors[0].name} {category}"[:MAX_TITLE]


def _folded(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
