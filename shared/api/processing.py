"""POST process-image: a photo in, its cut-out back; nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Protocol

from shared.api.exchange import Answer, Request
from shared.api.forms import read_form
from shared.api.v1 import one_file
from shared.domain.errors import RequestError
from shared.domain.pictures import Segmentation
from shared.image_probe import probe

_RETRY_AFTER_SECONDS = 2
_SLOT = Lock()


class CutOut(Protocol):
    """What the worker makes of a photo: WebP with alpha, upright, not cropped."""

    @property
    def webp(self) -> bytes: ...
    @property
    def segmentation(self) -> Segmentation: ...
    @property
    def confidence(self) -> float: ...


def process_image(request: Request, *, cut_out: Callable[[bytes], CutOut]) -> Answer:
    """200 `image/webp`. Raises BadImageError, or RequestError (429) while another one is made."""
    data = one_file(read_form(request)).data
    probe(data)
    if not _SLOT.acquire(blocking=False):
        raise RequestError(
            429,
            "BUSY",
            "Another picture is being processed here.",
            retryable=True,
            retry_after=_RETRY_AFTER_SECONDS,
        )
    try:
        made = cut_out(data)
    finally:
        _SLOT.release()
    return Answer(
        status=200,
        body=made.webp,
        content_type="image/webp",
        headers={
            "Cache-Control": "no-store",
            "X-Segmentation": made.segmentation,
            "X-Confidence": f"{made.confidence:.3f}",
        },
    )
