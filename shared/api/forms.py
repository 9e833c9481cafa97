"""Files and fields of an upload: multipart, or the bare bytes of one picture."""

from __future__ import annotations

import io
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from multipart import MultipartError, MultipartParser, MultipartPart, parse_options_header

from shared.api.exchange import Request, invalid
from shared.domain.errors import RequestError

MAX_FILES = 10
MAX_BODY_BYTES = 102_000_000
_MAX_PARTS = 64
_MAX_PART_HEADER = 16 * 1024  # bytes; a file name may be long
_QUOTED = re.compile('"[^"]*"')
# charset'language'percent-encoded, RFC 8187
_EXTENDED_NAME = re.compile(r"; *filename\*= *(utf-8|iso-8859-1)'[^';]*'([^; ]*)", re.IGNORECASE)
_FLAGS = {"true": True, "1": True, "on": True, "false": False, "0": False, "": False}


@dataclass(frozen=True, kw_only=True, slots=True)
class SentFile:
    """One file as it was sent; its name is the sender's word, and only shown back."""

    name: str | None
    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """What an upload holds. `raw` is a body that is one picture and nothing else."""

    files: tuple[SentFile, ...]
    fields: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    raw: bool = False

    def flag(self, name: str) -> bool:
        """A switch, on where the form or the query says so. Raises RequestError (400)."""
        said = [words.get(name, "").strip().lower() for words in (self.fields, self.query)]
        if not _FLAGS.keys() >= set(said):
            raise invalid(name, "must be true or false")
        return any(_FLAGS[text] for text in said)


def is_picture(content_type: str) -> bool:
    """Whether somebody calls these bytes a picture, or nothing in particular."""
    kind = content_type.lower()
    return kind.startswith("image/") or kind == "application/octet-stream"


def require_length(request: Request) -> None:
    """A body that does not say its length never reaches us whole. Raises RequestError."""
    text = request.headers.get("content-length")
    if text is None:
        raise RequestError(411, "LENGTH_REQUIRED", "Send the header Content-Length.")
    if max(int(text) if text.isdigit() else 0, len(request.body)) > MAX_BODY_BYTES:
        raise RequestError(
            413, "BODY_TOO_LARGE", f"A request may have {MAX_BODY_BYTES / 1e6:g} MB at most."
        )


def read_form(request: Request) -> Form:
    """Raises RequestError: 400 for a broken body, 411, 413, 415 for another content type."""
    require_length(request)
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind == "multipart/form-data":
        form = _read_multipart(request.body, options.get("boundary", ""))
        return replace(form, query=dict(request.query))
    if is_picture(kind):
        name = request.query.get("fileName")
        file = SentFile(name=name, data=request.body)
        return Form(files=(file,), query=dict(request.query), raw=True)
    raise RequestError(
        415, "UNSUPPORTED_MEDIA_TYPE", "Send multipart/form-data, or one picture as image/*."
    )


def _read_multipart(body: bytes, boundary: str) -> Form:
    parser = MultipartParser(
        io.BytesIO(body),
        boundary,
        len(body),
        header_limit=16,
        headersize_limit=_MAX_PART_HEADER,
        part_limit=_MAX_PARTS,
        spool_limit=MAX_BODY_BYTES,
        memory_limit=MAX_BODY_BYTES,
    )
    try:
        parts = parser.parts()
        files = tuple(_file(part) for part in parts if _is_file(part))
        fields = {p.name: p.value for p in parts if _name(p) is None and not _is_file(p)}
    except (MultipartError, UnicodeError, LookupError) as error:
        raise RequestError(400, "INVALID_REQUEST", "The multipart body is broken.") from error
    return Form(files=files, fields=fields)


def _is_file(part: MultipartPart) -> bool:
    """Named, or a picture by its type. A form with no file chosen sends neither name nor bytes."""
    name = _name(part)
    if name is None:
        return is_picture(part.content_type or "")
    return bool(name or part.size)


def _name(part: MultipartPart) -> str | None:
    """The file's name. `filename*` holds what `filename` cannot; some clients send either or both.

    One that cannot be read counts for nothing.
    """
    if found := _EXTENDED_NAME.search(_QUOTED.sub("", part.disposition)):
        with suppress(UnicodeDecodeError):
            return unquote(found[2], found[1], errors="strict") or part.filename
    return part.filename


def _file(part: MultipartPart) -> SentFile:
    """The part's bytes, once: requests of a hundred megabytes meet in one process."""
    file = SentFile(name=_name(part) or None, data=part.raw)
    part.close()
    return file
