"""Dead letters: messages that could not be understood, or the end of a draft's attempts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from shared import telemetry
from shared.domain.draft import Draft
from shared.domain.ids import inverted
from shared.ports import Replace, Row, Span, Table
from shared.records.codec import readable, to_values
from shared.records.dropping import TimeIsUp, drop, never

KEPT = timedelta(days=30)
_NEW = "new"
_REPLAYED = "replayed"
_NOT_STORED = frozenset({"id", "etag"})


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetter:
    """One message as it was, why it ended here, and which draft it was about (if any)."""

    id: str = ""  # `<yyyy-mm>~<row key>`
    at: datetime
    queue: str
    reason: str
    code: str  # of the draft's end, or MALFORMED, POISONED, STUCK, JOB_FAILED, WEBHOOK_UNDELIVERED
    body: bytes
    dequeue_count: int = 0
    owner_id: str | None = None
    draft_id: str | None = None
    generation: int | None = None
    attempts: int | None = None
    state: str = _NEW  # new | replayed
    etag: str = ""


class DeadLetters:
    """Partitioned by month, newest first."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def keep(self, letter: DeadLetter, *, name: str) -> DeadLetter:
        """Store the letter; the same `name` and time overwrite, so that a rerun adds none."""
        key = f"{inverted(letter.at)}~{name}"
        row = Row(f"{letter.at:%Y-%m}", key, to_values(letter, leave_out=_NOT_STORED))
        self._table.put(row)
        kept = replace(letter, id=_id(row))
        telemetry.dead_lettered(
            dead_letter_id=kept.id,
            queue=letter.queue,
            code=letter.code,
            dequeue_count=letter.dequeue_count,
        )
        return kept

    def find(self, letter_id: str) -> DeadLetter | None:
        """None also for a damaged one, which is told."""
        month, _, key = letter_id.partition("~")
        row = self._table.get(month, key) if key else None
        return _letter(row) if row else None

    def newest(self, now: datetime) -> Iterator[DeadLetter]:
        """All that are kept, newest first; a damaged one is told and left out."""
        for month in _months(now):
            for row in self._table.query(Span(partition=month)):
                if letter := _letter(row):
                    yield letter

    def mark_replayed(self, letter: DeadLetter) -> None:
        """Raises ConflictError when somebody else replayed it first."""
        month, _, key = letter.id.partition("~")
        values = to_values(replace(letter, state=_REPLAYED), leave_out=_NOT_STORED)
        self._table.transact([Replace(Row(month, key, values, letter.etag))])

    def drop_old(self, now: datetime, time_is_up: TimeIsUp = never) -> bool:
        """Delete what is past its time, as the key alone says; whether there was time for all."""
        oldest = now - KEPT
        span = Span(partition_to=f"{oldest:%Y-%m}~", key_from=f"{inverted(oldest)}~~")
        return drop(self._table, span, time_is_up)


def letter_of(
    draft: Draft, *, body: bytes, queue: str, code: str, reason: str, dequeue_count: int
) -> DeadLetter:
    """The end of a draft's attempts. Timed by the work, so that saying it twice keeps one."""
    at = draft.work.started_at if draft.work else draft.updated_at
    return DeadLetter(
        at=at,
        queue=queue,
        reason=reason,
        code=code,
        body=body,
        dequeue_count=dequeue_count,
        owner_id=draft.owner_id,
        draft_id=draft.id,
        generation=draft.generation,
        attempts=draft.attempts,
    )


def name_of_bytes(content: bytes) -> str:
    """Of a letter that is known by its body or its message's id alone."""
    return hashlib.sha256(content).hexdigest()[:16]


def name_of(draft: Draft) -> str:
    """Of the letter of its generation's end."""
    return f"{draft.id}-{draft.generation}"


def _id(row: Row) -> str:
    return f"{row.partition}~{row.key}"


def _letter(row: Row) -> DeadLetter | None:
    return readable(DeadLetter, row, id=_id(row), etag=row.etag)


def _months(now: datetime) -> list[str]:
    """The months that 30 days back reach into, newest first."""
    oldest, month, months = now - KEPT, now, []
    while f"{month:%Y-%m}" >= f"{oldest:%Y-%m}":
        months.append(f"{month:%Y-%m}")
        month = month.replace(day=1) - timedelta(days=1)
    return months
