"""Drafts and their events in one table partition per owner; every change is a conditional write."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from shared.domain.draft import Draft, stand_in
from shared.domain.errors import ConflictError, IngestError, StorageUnavailableError
from shared.domain.events import Event
from shared.domain.ids import draft_row_key, is_draft_id, neighbours, owner_key
from shared.domain.retention import Retention, due_at, expires_at
from shared.ports import Change, Delete, Insert, Replace, Row, Span, Table
from shared.records import history
from shared.records.codec import from_values, readable, to_values
from shared.records.due import DueIndex, entry_of

_NOT_STORED = frozenset({"etag"})
_NEIGHBOURS_MS = 60_000  # ids this close together are read as one range
_EVENTS_A_TRANSACTION = 99
_MOST_ROWS = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftPage:
    """A piece of an owner's drafts, newest first; `after` is null at the end."""

    drafts: tuple[Draft, ...]
    after: str | None


class DraftStore:
    """The only writer of draft rows. Keeps row, events and due index in step."""

    def __init__(
        self, table: Table, due: DueIndex, retention: Retention, *, outbox: bool = False
    ) -> None:
        self._table = table
        self._due = due
        self._retention = retention
        self._outbox = outbox

    def find(self, owner_id: str, draft_id: str) -> Draft | None:
        """The owner's draft; None for an unknown, foreign, malformed or buried one.

        Raises ValueError for a damaged row, like `load`: a worker may not take it for gone.
        """
        if not is_draft_id(draft_id):
            return None
        draft = self.load(owner_key(owner_id), draft_row_key(draft_id))
        return None if draft is None or draft.deleted_at else draft

    def find_to_delete(self, owner_id: str, draft_id: str, now: datetime) -> Draft | None:
        """Like `find`; in the place of a damaged row, which is told, what a tombstone needs."""
        if not is_draft_id(draft_id):
            return None
        if (row := self._table.get(owner_key(owner_id), draft_row_key(draft_id))) is None:
            return None
        draft = _readable(row) or stand_in(owner_id, draft_id, now, etag=row.etag)
        return None if draft.deleted_at else draft

    def load(self, partition: str, row_key: str) -> Draft | None:
        """The row as it is, a tombstone too. Raises ValueError for a damaged one."""
        row = self._table.get(partition, row_key)
        return _draft(row) if row else None

    def find_many(self, owner_id: str, draft_ids: Iterable[str]) -> dict[str, Draft]:
        """Those of the ids that the owner has, by as few reads as the ids allow.

        A damaged row is told and left out.
        """
        partition = owner_key(owner_id)
        keys = sorted(draft_row_key(draft_id) for draft_id in draft_ids if is_draft_id(draft_id))
        found: dict[str, Draft] = {}
        for group in neighbours(keys, _NEIGHBOURS_MS):
            for draft in self._load_group(partition, group):
                if draft.deleted_at is None:
                    found[draft.id] = draft
        return found

    def _load_group(self, partition: str, keys: list[str]) -> Iterator[Draft]:
        if len(keys) == 1:
            row = self._table.get(partition, keys[0])
            rows = [row] if row else []
        else:
            span = Span(partition=partition, key_from=keys[0], key_last=keys[-1])
            rows = [row for row in self._table.query(span) if row.key in keys]
        return filter(None, map(_readable, rows))

    def page(
        self,
        owner_id: str,
        *,
        size: int,
        after: str | None = None,
        wanted: Callable[[Draft], bool] | None = None,
    ) -> DraftPage:
        """Up to `size` drafts, of those that are `wanted`, after the row key `after`.

        Reads at most 1,000 rows, and no more than `size` at once where all are wanted. A damaged
        row is told and left out.
        """
        whole = Span.prefix(owner_key(owner_id), "d~")
        span = replace(whole, key_from=None, key_after=after) if after else whole
        drafts: list[Draft] = []
        last = None
        at_once = _MOST_ROWS if wanted else size
        for number, row in enumerate(self._table.query(span, page=at_once), 1):
            last = row.key
            draft = _readable(row)
            if draft and draft.deleted_at is None and (wanted is None or wanted(draft)):
                drafts.append(draft)
            if len(drafts) == size or number == _MOST_ROWS:
                return DraftPage(drafts=tuple(drafts), after=last)
        return DraftPage(drafts=tuple(drafts), after=None)

    def announce(self, drafts: Sequence[Draft], now: datetime) -> list[Draft]:
        """Due entries of drafts that are about to be written: the first step of accepting."""
        return [self._with_due(draft, now) for draft in drafts]

    def add(
        self, announced: Sequence[tuple[Draft, Event]], *, beside: Sequence[Change] = ()
    ) -> list[Draft]:
        """New drafts with their first events, and `beside` them other rows, in one transaction.

        Raises ConflictError when something was in the way, StorageUnavailableError when the
        outcome is unknown: then the caller reads the rows.
        """
        changes: list[Change] = []
        stamped: dict[int, Draft] = {}  # by the place of its row
        for draft, event in announced:
            numbered, events = history.number(_stamp(draft), [event], outbox=self._outbox)
            stamped[len(changes)] = numbered
            changes += [Insert(_row(numbered)), *history.inserts(numbered, events)]
        etags = self._table.transact([*changes, *beside])
        return [replace(draft, etag=etags[at]) for at, draft in stamped.items()]

    def save(self, before: Draft, after: Draft, *events: Event, now: datetime) -> Draft:
        """Write `after` where the row is still `before`, with its events, and keep it due.

        Raises ConflictError when another writer came first. A write whose answer was lost is
        recognised by its `write_id` and counts as done.
        """
        stamped = _stamp(replace(after, etag=before.etag))
        numbered, rows = history.number(stamped, events, outbox=self._outbox)
        due = self._with_due(numbered, now)  # an event that is unsent makes it due
        stored = self._write(due, history.inserts(due, rows))
        self._drop_due(before, stored)
        history.make_room(self._table, stored, before.events)
        return stored

    def _write(self, draft: Draft, events: Sequence[Change]) -> Draft:
        try:
            etags = self._table.transact([Replace(_row(draft)), *events])
        except (ConflictError, StorageUnavailableError) as error:
            return self._written_after_all(draft, error)
        return replace(draft, etag=etags[0])

    def _written_after_all(self, draft: Draft, error: IngestError) -> Draft:
        """The row carries our write: only the answer was lost. Else the error stands."""
        row = self._table.get(draft.owner_key, draft_row_key(draft.id))
        stored = _readable(row) if row else None
        if stored is None or stored.write_id != draft.write_id:
            raise error
        return stored

    def erase(self, draft: Draft) -> None:
        """Delete the events in chunks, then the row last."""
        while rows := history.rows_of(self._table, draft, most=_EVENTS_A_TRANSACTION):
            self._table.transact([Delete(row) for row in rows])
        self._table.delete(_row(draft))

    def erase_events(self, partition: str, draft_id: str) -> None:
        """Events whose draft row is gone."""
        span = Span.prefix(partition, f"e~{draft_id}~")
        for row in self._table.query(span):
            self._table.delete(row)

    def events_of(self, draft: Draft) -> list[Event]:
        """The history, oldest first. A damaged event is told and left out."""
        rows = history.rows_of(self._table, draft)
        return [event for row in rows if (event := readable(Event, row))]

    def unsent_events(self, draft: Draft) -> list[Event]:
        """Raises ValueError for a damaged one: nobody can say that it went out."""
        rows = history.rows_of(self._table, draft)
        events = [from_values(Event, row.values) for row in rows]
        return [event for event in events if event.unsent]

    def mark_sent(self, draft: Draft, *, up_to: int, now: datetime) -> Draft:
        """The events up to that number went out. Raises ConflictError like `save`."""
        rows = history.rows_of(self._table, draft)
        left = [seq for seq in map(history.unsent_seq, rows) if seq is not None and seq > up_to]
        after = self._with_due(replace(draft, unsent_since=min(left, default=None)), now)
        stored = self._write(_stamp(after), history.sent(rows, up_to)[:_EVENTS_A_TRANSACTION])
        self._drop_due(draft, stored)
        return stored

    def _with_due(self, draft: Draft, now: datetime) -> Draft:
        """Write the entry of a new due time before the row that will name it."""
        kept = replace(draft, expires_at=expires_at(draft, self._retention))
        wanted = due_at(kept, self._retention, now)
        if wanted == draft.due_at and draft.due_etag and not kept.unfinished:
            return kept  # an entry of the same time may stand for work that is over
        if wanted is None:
            return replace(kept, due_at=None, due_etag=None)
        due = replace(kept, due_at=wanted, due_etag=None)
        entry = entry_of(due)
        assert entry is not None
        return replace(due, due_etag=self._due.put(entry))

    def _drop_due(self, before: Draft, after: Draft) -> None:
        """The old entry goes last; one that stays behind is dropped by the sweep."""
        old, new = entry_of(before), entry_of(after)
        if old is None or old.etag == (new.etag if new else None):
            return
        if new is not None and new.same_place(old):
            return
        try:
            self._due.remove(old)
        except StorageUnavailableError:
            # The row is written and names its new entry: the stale one is the sweep's to drop.
            return


def _stamp(draft: Draft) -> Draft:
    return replace(draft, write_id=uuid.uuid4().hex)


def _row(draft: Draft) -> Row:
    values = to_values(draft, leave_out=_NOT_STORED)
    return Row(draft.owner_key, draft_row_key(draft.id), values, draft.etag)


def _draft(row: Row) -> Draft:
    return from_values(Draft, row.values, etag=row.etag)


def _readable(row: Row) -> Draft | None:
    return readable(Draft, row, etag=row.etag)
