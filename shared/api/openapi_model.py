"""The parts that the description of a route is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

type Json = dict[str, Any]
type Problems = Mapping[int, tuple[str, ...]]

TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer", "minimum": 1}
FILE: Json = {"type": "string", "format": "binary"}
RETRY_AFTER = {"Retry-After": ("Seconds to wait before asking again.", WHOLE)}
LOCATION = {"Location": ("Where to go on.", {"type": "string", "format": "uri"})}
ETAG = {"ETag": ("Of what is shown; for `If-Match`.", TEXT)}


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One query parameter or header; path parameters follow from the route."""

    name: str
    place: str = "query"
    schema: Json = field(default_factory=lambda: dict(TEXT))
    says: str = ""
    required: bool = False

    def described(self) -> Json:
        described: Json = {
            "name": self.name,
            "in": self.place,
            "required": self.required,
            "description": self.says,
            "schema": self.schema,
        }
        if self.place == "query" and not self.required:
            described["allowEmptyValue"] = True  # the host drops a parameter without a value
        return described


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One good answer."""

    says: str
    view: type[BaseModel] | None = None
    content: str = "application/json"  # of an answer without a view: "" for no body
    headers: Mapping[str, tuple[str, Json]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One route, as it is described."""

    summary: str
    says: str = ""
    tag: str = "Drafts"
    parameters: tuple[Parameter, ...] = ()
    body: Mapping[str, type[BaseModel] | Json] = field(default_factory=dict)
    body_required: bool = True
    answers: Mapping[int, Shown] = field(default_factory=dict)
    problems: Problems = field(default_factory=dict)


def form_of(most: int, *, switch: bool = True) -> Json:
    """The multipart form of an upload of up to `most` files."""
    files: Json = {"type": "array", "items": FILE, "minItems": 1, "maxItems": most}
    fields: Json = {"files": files if most > 1 else FILE}
    if switch:
        says = "Keep the background; nothing is cut out."
        fields["skipSegmentation"] = {"type": "boolean", "description": says}
    return {"type": "object", "required": ["files"], "properties": fields}


def merged(*several: Problems) -> Problems:
    """The codes of all, by status."""
    codes_by_status: dict[int, tuple[str, ...]] = {}
    for problems in several:
        for status, codes in problems.items():
            codes_by_status[status] = (*codes_by_status.get(status, ()), *codes)
    return codes_by_status
