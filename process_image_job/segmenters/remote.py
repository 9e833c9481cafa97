"""Asks another service to cut the garment out, by the contract of POST `process-image`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import requests

from process_image_job.slow_answers import body_within
from process_image_job.steps.decode import decode
from process_image_job.steps.encode import webp
from process_image_job.steps.scale import flattened, shrink
from process_image_job.values import ARCHIVE_SIDE, Photo, Pixels, Segmented
from shared.domain import errors
from shared.domain.errors import BadImageError, ProcessorUnavailableError
from shared.domain.pictures import Segmentation
from shared.image_probe import probe

CONNECT_SECONDS = 3.05
READ_SECONDS = 25.0
TOTAL_SECONDS = 45.0  # an answer that drips in is no answer
_MOST_BYTES = 20_000_000
_QUALITY = 90
_PLAUSIBLE = (0.01, 0.99)  # share of the picture a garment may cover
_REFUSALS = frozenset({400, 413, 415, 422})
Headers = Mapping[str, str]
_OF_THE_UPLOAD = (errors.RawMissingError, errors.RawChangedError)  # not the processor's to say
_BY_CODE = {
    each.code: each for each in BadImageError.__subclasses__() if each not in _OF_THE_UPLOAD
}


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteSegmenter:
    """A `Segmenter` behind HTTP. Raises ProcessorUnavailableError, or a BadImageError it names."""

    url: str
    key: str = ""
    read_seconds: float = READ_SECONDS
    total_seconds: float = TOTAL_SECONDS

    def __call__(self, photo: Photo) -> Segmented:
        rgb, _ = shrink(flattened(photo.rgb, photo.alpha), None, ARCHIVE_SIDE)
        answer, headers = self._ask(webp(rgb, None, quality=_QUALITY))
        alpha = _checked_alpha(answer, rgb, headers)
        return Segmented(alpha=alpha, confidence=_confidence(alpha, headers))

    def _ask(self, body: bytes) -> tuple[bytes, Headers]:
        headers = {"Content-Type": "image/webp", "Accept": "image/webp"}
        if self.key:
            headers["x-functions-key"] = self.key
        deadline = time.monotonic() + self.total_seconds
        try:
            with requests.post(
                self.url,
                data=body,
                headers=headers,
                timeout=(CONNECT_SECONDS, self.read_seconds),
                stream=True,
                allow_redirects=False,  # the key must not follow to another address
            ) as response:
                answer = _read(response, deadline)
                _refuse_status(response, answer)
                return answer, response.headers
        except requests.RequestException:
            # Not `from` it: its text holds the address, in whose query a key may stand.
            raise ProcessorUnavailableError from None


def _read(response: requests.Response, deadline: float) -> bytes:
    answer = body_within(response, most_bytes=_MOST_BYTES, deadline=deadline)
    if len(answer) > _MOST_BYTES:
        raise ProcessorUnavailableError
    return answer


def _refuse_status(response: requests.Response, answer: bytes) -> None:
    """Tells a bad photo from a processor that is away or set up wrongly.

    Only a problem with the `code` of a bad photo says so: a proxy before it refuses bodies too.
    """
    if response.status_code == 200:
        return
    kind = _BY_CODE.get(_problem_code(answer)) if response.status_code in _REFUSALS else None
    raise (kind or ProcessorUnavailableError)()


def _problem_code(answer: bytes) -> str:
    try:
        problem = json.loads(answer)
    except (ValueError, RecursionError):
        return ""
    return str(problem.get("code", "")) if isinstance(problem, dict) else ""


def _checked_alpha(answer: bytes, sent: Pixels, headers: Headers) -> Pixels:
    """The alpha of an answer that is a WebP of the size that was sent."""
    try:
        if probe(answer, max_bytes=_MOST_BYTES).format != "WEBP":
            raise ProcessorUnavailableError
        picture = decode(answer)
    except BadImageError as error:
        raise ProcessorUnavailableError from error
    if picture.rgb.shape != sent.shape:
        raise ProcessorUnavailableError
    if picture.alpha is None and not _doubtful(headers):
        raise ProcessorUnavailableError
    return np.full(sent.shape[:2], 255, np.uint8) if picture.alpha is None else picture.alpha


def _confidence(alpha: Pixels, headers: Headers) -> float:
    """What the processor says of itself, unless the mask is plainly none."""
    least, most = _PLAUSIBLE
    if _doubtful(headers) or not least <= float((alpha > 127).mean()) <= most:
        return 0.0
    try:
        return min(1.0, max(0.0, float(headers.get("X-Confidence", "1"))))
    except ValueError:
        return 1.0


def _doubtful(headers: Headers) -> bool:
    return headers.get("X-Segmentation") == Segmentation.LOW_CONFIDENCE
