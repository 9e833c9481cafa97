"""A request and an answer as plain values, and the answers every route gives alike."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel

from shared import telemetry
from shared.domain.errors import IngestError, RequestError, SettingsError

PROBLEM_JSON = "application/problem+json"
JSON = "application/json"
_NO_STORE = {"Cache-Control": "no-store"}
_AWAY_SECONDS = 5  # until storage may answer again
_BEFORE_ROUTE = re.compile(r"^(.*?)/(?:v1/)?wardrobe(?:/|$)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a caller sent. Header names are in lower case; `owner_id` is who asks, "" if nobody."""

    method: str
    url: str
    body: bytes = b""
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    owner_id: str = ""

    @property
    def base(self) -> str:
        """The address under which all routes lie, as this caller reached it."""
        parts = urlsplit(self.url)
        proto = self.headers.get("x-forwarded-proto", "").partition(",")[0].strip()
        scheme = proto if proto in ("http", "https") else parts.scheme
        found = _BEFORE_ROUTE.match(parts.path)
        return f"{scheme}://{parts.netloc}{found[1] if found else ''}"

    def path_before(self, route: str) -> str:
        """The path below which all routes lie; of a request for `route`, in any case."""
        path = urlsplit(self.url).path.rstrip("/")
        ending = f"/{route}"
        return path[: -len(ending)] if path.lower().endswith(ending) else path

    @property
    def traceparent(self) -> str:
        """The W3C trace context of this request, or a new one."""
        sent = self.headers.get("traceparent", "")
        return sent if telemetry.trace_id(sent) else telemetry.new_traceparent()


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """Status, headers and body of a response."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


def answer(status: int, view: BaseModel, **headers: str | int | None) -> Answer:
    """JSON that nobody may store; `retry_after=2` becomes the header `Retry-After: 2`."""
    body = view.model_dump_json(by_alias=True).encode()
    return Answer(status=status, body=body, headers=_NO_STORE | _named(headers))


def problem(error: IngestError) -> Answer:
    """RFC 9457. Settings are named to operators only, by the log and by `health/ready`."""
    hidden = isinstance(error, SettingsError) or error.status == HTTPStatus.INTERNAL_SERVER_ERROR
    content: dict[str, Any] = {
        "type": f"urn:fitting-room:problem:{error.code}",
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "detail": error.public_message if hidden else error.detail,
        "code": error.code,
        "retryable": error.retryable,
    }
    away = error.retryable and error.status == HTTPStatus.SERVICE_UNAVAILABLE
    headers: dict[str, str | int | None] = {"retry_after": _AWAY_SECONDS if away else None}
    if isinstance(error, RequestError):
        if error.errors:
            content["errors"] = list(error.errors)
        content |= error.extra
        headers["retry_after"] = error.retry_after or headers["retry_after"]
    return Answer(
        status=error.status,
        body=json.dumps(content, ensure_ascii=False).encode(),
        content_type=PROBLEM_JSON,
        headers=_NO_STORE | _named(headers),
    )


def invalid(field_name: str, detail: str, *, status: int = 400) -> RequestError:
    """A field, query parameter or header that cannot be used."""
    errors = [{"field": field_name, "detail": detail}]
    return RequestError(status, "VALIDATION", f"{field_name}: {detail}", errors=errors)


def number_asked(request: Request, name: str, *, default: int, most: int) -> int:
    """A query parameter from 1 to `most`; the default without it. Raises RequestError (400)."""
    text = request.query.get(name, "")
    if not text:
        return default
    if not re.fullmatch("[0-9]{1,4}", text) or not 1 <= int(text) <= most:
        raise invalid(name, f"must be a whole number from 1 to {most}")
    return int(text)


def not_found() -> RequestError:
    """Word for word the same for an unknown draft and for somebody else's."""
    return RequestError(404, "NOT_FOUND", "There is no such draft.")


def nothing_here() -> RequestError:
    """For an address that nothing answers to."""
    return RequestError(404, "NOT_FOUND", "There is nothing at this address.")


def _named(headers: Mapping[str, str | int | None]) -> dict[str, str]:
    given = {name: value for name, value in headers.items() if value is not None}
    return {_header_name(name): str(value) for name, value in given.items()}


def _header_name(name: str) -> str:
    return "ETag" if name == "etag" else name.replace("_", "-").title()
