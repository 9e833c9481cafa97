"""What a worker works with, by its settings; built at its first job, kept for the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from process_image_job.garment_model import garment_model
from process_image_job.namers.own_model import OwnModelNamer
from process_image_job.namers.port import Named, Namer, unnamed
from process_image_job.namers.vision_endpoint import VisionEndpointNamer
from process_image_job.segmenters.local import LocalSegmenter
from process_image_job.segmenters.remote import RemoteSegmenter
from process_image_job.values import CutOut, Floats, Photo, Pixels, Segmenter
from shared.bootstrap import access_token, settings
from shared.domain.pictures import Color
from shared.settings import Settings

_AZURE_OPENAI = "https://cognitiveservices.azure.com/.default"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """The segmenter of the settings, the one to fall back to, and the namer."""

    segmenter: Segmenter
    local_segmenter: Segmenter
    name: Namer


def current_tools() -> Tools:
    """The tools of this process's settings."""
    return tools_for(settings())


@cache
def tools_for(values: Settings) -> Tools:
    """One set a process: models are loaded once."""
    local = LocalSegmenter(prior=None if values.segmenter == "classical" else _garment_mask)
    remote = RemoteSegmenter(url=values.processor_url, key=values.processor_key)
    return Tools(
        segmenter=remote if values.processor_url else local,
        local_segmenter=local,
        name=_namer(values),
    )


def _garment_mask(rgb: Pixels) -> Floats:
    """The prior of the own model."""
    return garment_model().predict(rgb).mask


def _namer(values: Settings) -> Namer:
    if values.metadata_provider == "model":
        return OwnModelNamer(garment_model(), values.categories)
    if values.metadata_provider == "openai":
        return VisionEndpointNamer(
            endpoint=values.openai_endpoint,
            model=values.openai_model,
            bearer=_bearer(values),
            categories=values.categories,
        )
    return _the_person_says


def _bearer(values: Settings) -> Callable[[], str]:
    """A key where one is set, else a token of the app's identity (Azure OpenAI)."""
    if values.openai_key:
        return lambda: values.openai_key
    return lambda: access_token(_AZURE_OPENAI)


def _the_person_says(
    photo: Photo, cut_out: CutOut | None, colors: tuple[Color, ...], *, last: bool
) -> Named:
    """`METADATA_PROVIDER` none: the colours are read, the category is the person's to say."""
    return unnamed(colors)
