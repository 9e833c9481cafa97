"""The job message: ids only, under 1 KB, understood in any casing, plain or base64."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from shared.domain.errors import MalformedMessageError
from shared.domain.ids import is_owner_id

_FIELDS = ("version", "ownerId", "draftId", "generation", "skipSegmentation", "traceparent")
_GENERATIONS = range(1, 2**31)  # no table keeps a number of any length
_TRACEPARENT = 55  # characters of a W3C traceparent, version 00
_BY_FOLDED_NAME = {name.lower(): name for name in _FIELDS}


@dataclass(frozen=True, kw_only=True, slots=True)
class JobMessage:
    """One wish for one run. Everything else is on the row."""

    owner_id: str
    draft_id: str
    generation: int = 1
    skip_segmentation: bool = False
    traceparent: str = ""

    def encode(self) -> str:
        """Base64 of the JSON: safe in the queue's XML, whatever the owner id holds."""
        fields = {
            "version": 1,
            "ownerId": self.owner_id,
            "draftId": self.draft_id,
            "generation": self.generation,
            "skipSegmentation": self.skip_segmentation,
            "traceparent": self.traceparent,
        }
        text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
        return base64.b64encode(text.encode()).decode("ascii")

    @classmethod
    def parse(cls, body: bytes) -> JobMessage:
        """Reads JSON or base64 of JSON. Raises MalformedMessageError with the reason."""
        fields = _known_fields(_read_object(body))
        if fields.get("version", 1) != 1:
            raise MalformedMessageError(f"unknown version {fields['version']!r:.40}")
        return cls(
            owner_id=_text(fields, "ownerId"),
            draft_id=_uuid(fields, "draftId"),
            generation=_generation(fields.get("generation", 1)),
            skip_segmentation=_flag(fields.get("skipSegmentation", False)),
            traceparent=_trace(fields.get("traceparent")),
        )


def _read_object(body: bytes) -> dict[str, Any]:
    for candidate in (body, _unwrap_base64(body)):
        if candidate is None:
            continue
        try:
            parsed = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if not isinstance(parsed, dict):
            raise MalformedMessageError(f"a JSON {type(parsed).__name__}, not an object")
        return parsed
    raise MalformedMessageError("neither JSON nor base64 of JSON")


def _unwrap_base64(body: bytes) -> bytes | None:
    try:
        return base64.b64decode(b"".join(body.split()), validate=True)  # some producers wrap lines
    except (binascii.Error, ValueError):
        return None


def _known_fields(raw: dict[str, Any]) -> dict[str, Any]:
    folded = {name.replace("_", "").replace("-", "").lower(): value for name, value in raw.items()}
    return {name: folded[key] for key, name in _BY_FOLDED_NAME.items() if key in folded}


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not is_owner_id(value):
        raise MalformedMessageError(f"{name} is missing or not a usable text")
    return value


def _uuid(fields: dict[str, Any], name: str) -> str:
    try:
        return str(UUID(_text(fields, name)))
    except ValueError:
        raise MalformedMessageError(f"{name} is not a UUID") from None


def _generation(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value not in _GENERATIONS:
        raise MalformedMessageError("generation is not a whole number from 1, of 32 bits")
    return value


def _trace(value: Any) -> str:
    """Nothing where it is none: a run does not depend on it, and every message can be sent on."""
    return value[:_TRACEPARENT] if isinstance(value, str) and value.isascii() else ""


def _flag(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise MalformedMessageError("skipSegmentation is not true or false")
    return value
