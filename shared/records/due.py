"""The due index: what has to be looked at and when, so that a sweep's cost follows what is due."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from shared.domain.draft import Draft
from shared.domain.errors import ConflictError
from shared.domain.ids import draft_row_key
from shared.ports import Row, Span, Table, Value

_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)  # it counts as due


@dataclass(frozen=True, kw_only=True, slots=True)
class DueEntry:
    """One promise to look at a row; the row names its current `due_at`, other entries are stale."""

    owner_key: str
    row_key: str
    due_at: datetime
    queued_at: datetime | None = None  # while work is wanted: when its message became visible
    unfinished: bool = False  # events to send or leftovers to remove
    deletion: bool = False  # a live draft stands behind it where the tombstone was not written
    damaged: bool = False  # nobody can tell what it promises; a person has to mend it
    etag: str = ""

    @property
    def is_for_repair(self) -> bool:
        """It does not wait for the night."""
        return self.queued_at is not None or self.unfinished or self.damaged

    @property
    def is_draft(self) -> bool:
        return self.row_key.startswith("d~")

    @property
    def draft_id(self) -> str:
        return self.row_key.rsplit("~", 1)[-1]

    def same_place(self, other: DueEntry) -> bool:
        return _keys(self) == _keys(other)


class DueIndex:
    """Order of writes around a row: new entry, row, delete the old entry."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def put(self, entry: DueEntry) -> str:
        """Write the entry and return its ETag, which the row keeps beside the due time."""
        values: dict[str, Value] = {"dueAt": entry.due_at}
        if entry.queued_at is not None:
            values["queuedAt"] = entry.queued_at
        if entry.unfinished:
            values["unfinished"] = True
        if entry.deletion:
            values["deletion"] = True
        partition, key = _keys(entry)
        return self._table.put(Row(partition, key, values))

    def remove(self, entry: DueEntry) -> None:
        """Delete the entry unless somebody wrote it anew meanwhile."""
        partition, key = _keys(entry)
        try:
            self._table.delete(Row(partition, key, {}, entry.etag))
        except ConflictError:  # it stands for a newer due time now, and is needed
            return

    def move(self, entry: DueEntry, due_at: datetime) -> None:
        """Bring the same row up at another time; the new entry first."""
        later = replace(entry, due_at=due_at)
        self.put(later)
        if not later.same_place(entry):
            self.remove(entry)

    def realign(self, draft: Draft, entry: DueEntry) -> None:
        """`entry` is not the one the row names: drop it, or write the named one in its place."""
        named = entry_of(draft)
        if named is not None and named.same_place(entry):
            self.put(named)
        else:
            self.remove(entry)

    def everything(self) -> Iterator[DueEntry]:
        """Also what is due only later; for operators and audits."""
        for row in self._table.query(Span()):
            yield _entry(row)

    def due(self, now: datetime) -> Iterator[DueEntry]:
        """What is due, by hour oldest first, in one range query."""
        for row in self._table.query(Span(partition_to=f"{now:%Y%m%d%H}~")):
            entry = _entry(row)
            if entry.due_at <= now:
                yield entry


def entry_of(draft: Draft) -> DueEntry | None:
    """The entry that the draft's row names."""
    if draft.due_at is None:
        return None
    return DueEntry(
        owner_key=draft.owner_key,
        row_key=draft_row_key(draft.id),
        due_at=draft.due_at,
        queued_at=draft.work.queued_at if draft.work else None,
        unfinished=draft.unfinished,
        deletion=draft.deleted_at is not None,
        etag=draft.due_etag or "",
    )


def _keys(entry: DueEntry) -> tuple[str, str]:
    """`<UTC hour>-<hex digit>` spreads an hour over 16 partitions; the digit is the id's last."""
    partition = f"{entry.due_at:%Y%m%d%H}-{entry.row_key[-1]}"
    return partition, f"{entry.owner_key}~{entry.row_key}"


def _entry(row: Row) -> DueEntry:
    """As it is stored; one that cannot be read says so, and neither vanishes nor stops others."""
    owner_key, _, row_key = row.key.partition("~")
    due_at, queued_at = row.values.get("dueAt"), row.values.get("queuedAt")
    if row_key and isinstance(due_at, datetime) and isinstance(queued_at, datetime | None):
        return DueEntry(
            owner_key=owner_key,
            row_key=row_key,
            due_at=due_at,
            queued_at=queued_at,
            unfinished=bool(row.values.get("unfinished")),
            deletion=bool(row.values.get("deletion")),
            etag=row.etag,
        )
    return DueEntry(owner_key=owner_key, row_key=row_key, due_at=_NO_TIME, damaged=True)
