"""Event rows: numbered on the draft row, written in its transaction, the outbox of events out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shared.domain.draft import Draft
from shared.domain.errors import StorageUnavailableError
from shared.domain.events import FINAL_EVENTS, MAX_EVENTS, MAX_PROGRESS_EVENTS, Event
from shared.domain.ids import event_row_key
from shared.ports import Change, Insert, Replace, Row, Span, Table
from shared.records.codec import to_values


def number(draft: Draft, events: Sequence[Event], *, outbox: bool) -> tuple[Draft, list[Event]]:
    """The draft that counts these events, and the events with their numbers.

    Progress ends early, so that final events always find room (`make_room`); a final one is
    unsent where anybody is told (`outbox`).
    """
    count, unsent, numbered = draft.events, draft.unsent_since, []
    for event in events:
        final = event.type in FINAL_EVENTS
        if not final and count >= MAX_PROGRESS_EVENTS:
            continue
        count += 1
        out = outbox and final
        unsent = (unsent or count) if out else unsent
        numbered.append(replace(event, seq=count, unsent=out))
    return replace(draft, events=count, unsent_since=unsent), numbered


def inserts(draft: Draft, events: Sequence[Event]) -> list[Change]:
    """The rows of new events, for the transaction of their draft."""
    return [
        Insert(Row(draft.owner_key, event_row_key(draft.id, event.seq), to_values(event)))
        for event in events
    ]


def make_room(table: Table, draft: Draft, seen: int) -> None:
    """Delete what the events after number `seen` push out, once they are written.

    By itself and not in their transaction: a row too many harms nobody, a lost outcome would.
    """
    try:
        for row in _pushed_out(draft, seen):
            table.delete(row)
    except StorageUnavailableError:
        # The outcome stands: an old row that stays behind is deleted with its draft.
        return


def _pushed_out(draft: Draft, seen: int) -> list[Row]:
    """The oldest final events after the progress; one that nobody was told of yet stays."""
    untold = draft.unsent_since or draft.events + 1
    room = MAX_EVENTS - MAX_PROGRESS_EVENTS
    old = (seq - room for seq in range(max(seen, MAX_EVENTS) + 1, draft.events + 1))
    return [Row(draft.owner_key, event_row_key(draft.id, seq), {}) for seq in old if seq < untold]


def rows_of(table: Table, draft: Draft, *, most: int | None = None) -> list[Row]:
    """The event rows of a draft, oldest first; the first `most` of them."""
    rows = []
    for row in table.query(Span.prefix(draft.owner_key, f"e~{draft.id}~"), page=most or 1000):
        rows.append(row)
        if len(rows) == most:
            break
    return rows


def unsent_seq(row: Row) -> int | None:
    """The number of an event that did not go out yet. Raises ValueError for a damaged row."""
    seq = row.values.get("seq")
    if not isinstance(seq, int):
        raise ValueError("an event without its number")
    return seq if row.values.get("unsent") else None


def sent(rows: Sequence[Row], up_to: int) -> list[Change]:
    """What marks the unsent events up to that number as sent."""
    return [
        Replace(replace(row, values={**row.values, "unsent": False}))
        for row in rows
        if (seq := unsent_seq(row)) is not None and seq <= up_to
    ]
