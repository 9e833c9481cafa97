"""Draft ids, owner keys and row keys: the names under which everything is stored."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime

import uuid_utils

_PLAIN_OWNER = re.compile(r"^(?!h-)[A-Za-z0-9-]{1,64}\Z")
_OWNER_BYTES = 128
_MILLISECONDS = 2**48 - 1


def new_draft_id() -> str:
    """A UUID version 7: ids sort by the millisecond in which they were made."""
    return str(uuid_utils.uuid7())


def is_draft_id(text: str) -> bool:
    """Whether `text` is a UUID version 7 in lower case and D form; any other id is unknown."""
    try:
        parsed = uuid.UUID(text)
    except ValueError:
        return False
    return parsed.version == 7 and str(parsed) == text


def _created_ms(draft_id: str) -> int:
    """The Unix millisecond inside a draft id."""
    return uuid.UUID(draft_id).int >> 80


def is_owner_id(text: str) -> bool:
    """1 to 128 bytes of UTF-8 without control characters: small enough for any message."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return 0 < size <= _OWNER_BYTES and text.isprintable() and bool(text.strip())


def owner_key(owner_id: str) -> str:
    """The partition of an owner: the id itself where it is a safe key, else its hash."""
    if _PLAIN_OWNER.match(owner_id):
        return owner_id
    return "h-" + hashlib.sha256(owner_id.encode()).hexdigest()[:40]


def draft_row_key(draft_id: str) -> str:
    """Computed from the id alone; a partition reads newest first."""
    return f"d~{_inverted_ms(_created_ms(draft_id))}~{draft_id}"


def neighbours(keys: Iterable[str], within_ms: int) -> Iterator[list[str]]:
    """Sorted row keys of drafts, in groups in which each was created that close to the next."""
    group: list[str] = []
    for key in keys:
        if group and int(key[2:14], 16) - int(group[-1][2:14], 16) > within_ms:
            yield group
            group = []
        group.append(key)
    if group:
        yield group


def event_row_key(draft_id: str, seq: int) -> str:
    return f"e~{draft_id}~{seq:06d}"


def idempotency_row_key(key: str) -> str:
    return "k~" + hashlib.sha256(key.encode()).hexdigest()


def _inverted_ms(unix_ms: int) -> str:
    """A fixed-width text that sorts newest first."""
    return f"{_MILLISECONDS - unix_ms:012x}"


def inverted(at: datetime) -> str:
    """The same for a time."""
    return _inverted_ms(int(at.timestamp() * 1000))


def raw_blob(key: str, draft_id: str) -> str:
    return f"{key}/{draft_id}/raw"


def draft_prefix(key: str, draft_id: str) -> str:
    """Everything of one draft, in both containers, lies under this prefix."""
    return f"{key}/{draft_id}/"


def run_prefix(key: str, draft_id: str, generation: int, attempt: int) -> str:
    """What one run writes; nobody else writes there."""
    return f"{key}/{draft_id}/{generation}-{attempt}/"
