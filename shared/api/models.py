"""What callers may send as JSON: the models that check it and describe it in the OpenAPI page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic.alias_generators import to_camel

from shared.api.exchange import Request
from shared.api.forms import require_length
from shared.domain.draft import MAX_NOTES, MAX_TITLE, ImageUse
from shared.domain.errors import RequestError
from shared.image_probe import MAX_BYTES

MAX_JSON_BYTES = 64_000
MAX_COLORS = 8


def _whole(value: object) -> object:
    """JSON knows one kind of number: 7.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
type Line = Annotated[
    str, StringConstraints(strip_whitespace=True, pattern=r"\S", max_length=MAX_TITLE)
]
type Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_NOTES)]
type Hex = Annotated[str, StringConstraints(pattern="^#[0-9a-fA-F]{6}$", to_lower=True)]
type Name = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"\S", max_length=40)]


class Sent(BaseModel):
    """Camel case, nothing guessed, nothing unknown."""

    model_config = ConfigDict(
        alias_generator=to_camel, strict=True, extra="forbid", frozen=True, validate_by_name=False
    )


class UploadRequest(Sent):
    """The photo that is going to be sent directly to storage."""

    file_name: Annotated[str, StringConstraints(max_length=1000)] | None = None
    content_type: str = Field(
        max_length=100,
        description="What the bytes will be sent as.",
        json_schema_extra={"pattern": "^(image/.*|application/octet-stream)$"},  # else 415
    )
    size: Whole = Field(
        ge=0, description="Bytes.", json_schema_extra={"minimum": 1, "maximum": MAX_BYTES}
    )
    skip_segmentation: bool = False


class SentColor(Sent):
    """A colour that a person names; without `share` the colours count alike."""

    name: Name
    hex: Hex
    share: float | None = Field(default=None, ge=0, le=1)


def _without_defaults(schema: dict[str, Any]) -> None:
    for field in schema["properties"].values():
        field.pop("default", None)


class DraftPatch(Sent):
    """What a person corrects. A field that is left out stays as it is."""

    model_config = ConfigDict(json_schema_extra=_without_defaults)

    category: str = Field(default="", max_length=100, description="One of the allowed categories.")
    colors: list[SentColor] = Field(default_factory=list, max_length=MAX_COLORS)
    title: Line | None = Field(default=None, description="Null removes it.")
    notes: Text | None = Field(default=None, description="Null removes them.")
    use_image: ImageUse = Field(
        default=ImageUse.CUTOUT, description="`original` undoes the cut-out."
    )


class ReprocessRequest(Sent):
    """`from` is the first stage that runs again; `Segmented` runs everything."""

    first: Literal["Segmented", "Analyzed"] = Field(default="Segmented", alias="from")


class RetryFailedRequest(Sent):
    """Which Failed drafts an operator wants to be tried again; those longest failed come first."""

    code: str | None = Field(default=None, max_length=64, description="Only with this error code.")
    since: AwareDatetime | None = Field(default=None, description="Only if failed since then.")
    max: Whole = Field(default=100, ge=1, le=1000)
    dry_run: bool = Field(default=False, description="Say which; nothing is retried.")


def read_json[T: Sent](request: Request, kind: type[T]) -> T:
    """The body as a `kind`. Raises RequestError: 400, 411, 413, 415, or 422 naming each field."""
    require_length(request)
    if len(request.body) > MAX_JSON_BYTES:
        raise RequestError(
            413, "BODY_TOO_LARGE", f"A JSON body may have {MAX_JSON_BYTES // 1000} KB at most."
        )
    sent_as = request.headers.get("content-type", "application/json").split(";")[0].strip().lower()
    if sent_as != "application/json" and not sent_as.endswith("+json"):
        raise RequestError(415, "UNSUPPORTED_MEDIA_TYPE", "Send application/json.")
    try:
        return kind.model_validate_json(request.body)
    except ValidationError as error:
        raise _refused(error) from error


def _refused(error: ValidationError) -> RequestError:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    if any(fault["type"] == "json_invalid" for fault in found):
        return RequestError(400, "INVALID_REQUEST", "The body is not JSON.")
    faults = [{"field": _path(fault["loc"]), "detail": fault["msg"]} for fault in found]
    named = "; ".join(f"{fault['field']}: {fault['detail']}" for fault in faults)
    return RequestError(422, "VALIDATION", named[:1000], errors=faults)


def _path(location: Sequence[Any]) -> str:
    return ".".join(str(part) for part in location) or "body"
