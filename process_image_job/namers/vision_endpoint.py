"""`METADATA_PROVIDER` openai: any endpoint that speaks OpenAI's chat completions with pictures.

One call a run. What may pass (429, 5xx, time-outs) is asked again by the next run; what may not
(a refused key, an unknown model, an answer that breaks the schema) leaves the naming to the person
at once.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from typing import Any, cast

import cv2
import requests
from pydantic import BaseModel, Field

from process_image_job.namers.port import (
    Named,
    allowed_category,
    suggested_title,
    unnamed,
)
from process_image_job.slow_answers import body_within
from process_image_job.steps.scale import flattened, shrink
from process_image_job.values import CutOut, Photo
from shared import telemetry
from shared.domain.draft import MAX_TITLE, UNCATEGORISED, Metadata
from shared.domain.errors import ProviderUnavailableError
from shared.domain.pictures import Caution, Color

_LONGEST_SIDE = 512  # pixels: enough to tell garments apart, a fraction of the price
_JPEG_QUALITY = 80
_TIMEOUTS = (5, 30)  # seconds to connect, to wait for each piece of the answer
_TOTAL_SECONDS = 45.0  # an answer that drips in is no answer
_TRANSIENT = frozenset({408, 409, 425, 429})
_NEEDS_REVIEW_BELOW = 0.6
_MOST_BYTES = 1_000_000

_QUESTION = (
    "Which garment does this photo show? Choose its category from the list, give how sure you are "
    "from 0 to 1, and a short title such as 'Navy T-shirt'. If it shows no garment, say "
    f"'{UNCATEGORISED}'."
)


class _Answer(BaseModel):
    """What we ask the endpoint to answer."""

    category: str
    confidence: float = Field(ge=0, le=1)
    title: str | None = None


class VisionEndpointNamer:
    """`bearer` gives the credential of each call: a key, or a token of a managed identity."""

    def __init__(
        self,
        *,
        endpoint: str,
        model: str,
        bearer: Callable[[], str],
        categories: tuple[str, ...],
        total_seconds: float = _TOTAL_SECONDS,
    ) -> None:
        self._address = endpoint.rstrip("/") + "/chat/completions"
        self._model = model
        self._bearer = bearer
        self._categories = categories
        self._total_seconds = total_seconds

    def __call__(
        self, photo: Photo, cut_out: CutOut | None, colors: tuple[Color, ...], *, last: bool
    ) -> Named:
        try:
            answer = self._ask(photo)
        except ProviderUnavailableError:
            if not last:
                raise
            return unnamed(colors, Caution.METADATA_UNAVAILABLE)
        if answer is None:
            return unnamed(colors, Caution.METADATA_UNAVAILABLE)
        return self._named(answer, colors)

    def _named(self, answer: _Answer, colors: tuple[Color, ...]) -> Named:
        confidence = round(answer.confidence, 3)
        category = allowed_category(answer.category, self._categories)
        if category is None:
            unknown = answer.category.casefold() != UNCATEGORISED.casefold()
            return Named(
                metadata=Metadata(category_confidence=confidence, colors=colors, source="openai"),
                cautions=(Caution.CATEGORY_NOT_ALLOWED,) if unknown else (),
            )
        title = (answer.title or "").strip()[:MAX_TITLE]
        return Named(
            metadata=Metadata(
                category=category,
                category_confidence=confidence,
                colors=colors,
                title=title or suggested_title(category, colors),
                needs_review=confidence < _NEEDS_REVIEW_BELOW,
                source="openai",
            )
        )

    def _ask(self, photo: Photo) -> _Answer | None:
        """The endpoint's answer; None for one that no repetition would mend."""
        start = time.monotonic()
        try:
            response, content = self._post(photo)
        except (requests.RequestException, ProviderUnavailableError) as error:
            self._tell("unreachable", start, {})
            # Not `from error`: its text holds the address, in whose query a secret may stand.
            raise ProviderUnavailableError(f"no answer: {type(error).__name__}") from None
        if response.status_code in _TRANSIENT or response.status_code >= 500:
            self._tell(str(response.status_code), start, {})
            raise ProviderUnavailableError(f"the endpoint answered {response.status_code}")
        body = _body(content)
        answer = _answer(body) if response.ok else None
        outcome = str(response.status_code) if answer or not response.ok else "malformed"
        self._tell(outcome, start, body.get("usage") or {})
        return answer

    def _post(self, photo: Photo) -> tuple[requests.Response, bytes]:
        """The response and its body.

        Raises requests.RequestException; ProviderUnavailableError where the credential is away.
        """
        deadline = time.monotonic() + self._total_seconds
        with requests.post(
            self._address,
            json=self._request(photo),
            headers={"Authorization": f"Bearer {self._bearer()}"},
            timeout=_TIMEOUTS,
            stream=True,
            allow_redirects=False,
        ) as response:
            return response, body_within(response, most_bytes=_MOST_BYTES, deadline=deadline)

    def _tell(self, outcome: str, start: float, usage: Any) -> None:
        counts = usage if isinstance(usage, dict) else {}
        telemetry.provider_called(
            provider="openai",
            outcome=outcome,
            duration_ms=round((time.monotonic() - start) * 1000),
            input_tokens=_count(counts.get("prompt_tokens")),
            output_tokens=_count(counts.get("completion_tokens")),
        )

    def _request(self, photo: Photo) -> dict[str, Any]:
        picture = base64.b64encode(_small_jpeg(photo)).decode("ascii")
        return {
            "model": self._model,
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": _QUESTION},
                        {
                            "type": "image_url",
                            "image_url": {"url": f"data:image/jpeg;base64,{picture}"},
                        },
                    ],
                }
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "garment", "strict": True, "schema": self._schema()},
            },
        }

    def _schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "additionalProperties": False,
            "required": ["category", "confidence", "title"],
            "properties": {
                "category": {"type": "string", "enum": [*self._categories, UNCATEGORISED]},
                "confidence": {"type": "number"},
                "title": {"type": ["string", "null"]},
            },
        }


def _small_jpeg(photo: Photo) -> bytes:
    small = flattened(*shrink(photo.rgb, photo.alpha, _LONGEST_SIDE))
    _, encoded = cv2.imencode(
        ".jpg", cv2.cvtColor(small, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]
    )
    return cast(bytes, encoded.tobytes())


def _body(content: bytes) -> dict[str, Any]:
    if len(content) > _MOST_BYTES:
        return {}
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _answer(body: dict[str, Any]) -> _Answer | None:
    try:
        text = body["choices"][0]["message"]["content"]
        return _Answer.model_validate_json(text)  # refuses half a character, unlike json.loads
    except (LookupError, TypeError, ValueError):  # a ValidationError is a ValueError
        return None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
