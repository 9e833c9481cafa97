"""What a function is told about a queue message, besides its body."""

import base64
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from devhost.worker_process import Data

_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?")


class UndecodableError(Exception):
    """The text on the queue is not what the encoding of the app writes."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message as received. `body` is decoded; facts are None where the admin made it up."""

    body: bytes
    id: str | None = None
    pop_receipt: str | None = None
    dequeue_count: int | None = None
    inserted_on: datetime | None = None
    expires_on: datetime | None = None
    next_visible_on: datetime | None = None

    @property
    def text(self) -> str | None:
        """The body as text, None where it is not UTF-8."""
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            return None


def decode(text: str, *, is_base64: bool) -> bytes:
    """The body of what lies on the queue. Raises UndecodableError."""
    if not is_base64:
        return text.encode()
    try:
        return base64.b64decode(re.sub(r"[ \t\r\n]", "", text), validate=True)
    except ValueError as error:
        raise UndecodableError from error


def encode(body: bytes, *, is_base64: bool) -> str:
    """The text that lies on a queue for this body."""
    return base64.b64encode(body).decode() if is_base64 else body.decode()


def metadata(message: Message) -> dict[str, Data]:
    """The trigger metadata; the members of a JSON object in the body replace what they name."""
    built_in: dict[str, Data | None] = {
        "QueueTrigger": _maybe("string", message.text),
        "DequeueCount": _maybe("json", message.dequeue_count),
        "ExpirationTime": _time(message.expires_on),
        "Id": _maybe("string", message.id),
        "InsertionTime": _time(message.inserted_on),
        "NextVisibleTime": _time(message.next_visible_on),
        "PopReceipt": _maybe("string", message.pop_receipt),
    }
    present = {name: data for name, data in built_in.items() if data is not None}
    return _merge(present, _members(message.text or ""))


def _merge(data: dict[str, Data], members: dict[str, Any]) -> dict[str, Data]:
    """Names are the same in any case; the spelling that came first stays."""
    spelling = {name.lower(): name for name in data}
    for name, value in members.items():
        if value is None or isinstance(value, list):
            continue
        known = spelling.setdefault(name.lower(), name)
        if isinstance(value, dict):
            text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
            data[known] = ("json", text)
        else:
            data[known] = ("string", _scalar_text(value))
    return data


def _members(text: str) -> dict[str, Any]:
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return {}
    try:
        return dict(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _scalar_text(value: str | bool | float) -> str:
    """As .NET turns it into text, with its invariant culture; times lose their form."""
    if isinstance(value, str):
        return _time_text(value) if _ISO_TIME.fullmatch(value) else value
    if isinstance(value, float):
        return _float_text(value)
    return str(value)  # True and False in capitals are .NET's too


def _time_text(text: str) -> str:
    """With an offset it becomes local time."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None and not text.endswith("Z"):
            moment = moment.astimezone()
    except (ValueError, OverflowError):  # no time, or none of the calendar's here
        return text
    return f"{moment:%m/%d/%Y %H:%M:%S}"


def _float_text(value: float) -> str:
    digits, _, exponent = repr(value).removesuffix(".0").partition("e")
    if exponent:
        return f"{digits}E{exponent}"
    if abs(value) >= 1e15:
        mantissa, _, power = f"{value:.16e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}E{power}"
    return digits


def _maybe(kind: str, value: str | int | None) -> Data | None:
    if value is None:
        return None
    return kind, value if kind == "string" else json.dumps(value)


def _time(value: datetime | None) -> Data | None:
    return _maybe("json", value.isoformat() if value else None)
