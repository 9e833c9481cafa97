"""Idempotency keys: what a key stands for, so that a repeated request is recognised.

(none) ──begin──▶ InFlight, 2 minutes ──in the drafts' transaction──▶ Done, 24 hours
                     │
                     └── expired: taken over by ETag, so that the old request's transaction
                         fails as a whole
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from shared.domain.errors import ConflictError, StorageUnavailableError
from shared.domain.ids import idempotency_row_key, owner_key
from shared.ports import Change, Insert, Replace, Row, Table, Value
from shared.records.due import DueEntry, DueIndex

IN_FLIGHT = timedelta(minutes=2)
KEPT = timedelta(hours=24)
_RACES = 3


@dataclass(frozen=True, slots=True)
class Begun:
    """The key is this request's now; `finish` belongs into the transaction of its drafts."""

    row: Row

    def finish(self, draft_ids: Sequence[str], now: datetime) -> Change:
        """Refused when another request has taken the key over."""
        done: dict[str, Value] = {
            "state": "Done",
            "until": now + KEPT,
            "draftIds": json.dumps(list(draft_ids)),
        }
        return Replace(replace(self.row, values={**self.row.values, **done}))


@dataclass(frozen=True, slots=True)
class AlreadyDone:
    """The same request was answered before, with these drafts."""

    draft_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InFlight:
    """Another request with this key is being answered."""

    until: datetime


@dataclass(frozen=True, slots=True)
class UsedForAnother:
    """The key stands for another request."""


type Verdict = Begun | AlreadyDone | InFlight | UsedForAnother


class IdempotencyKeys:
    """Rows `k~…` beside the drafts of their owner; a key of one owner means nothing to another."""

    def __init__(self, table: Table, due: DueIndex) -> None:
        self._table = table
        self._due = due

    def begin(self, owner_id: str, key: str, fingerprint: str, now: datetime) -> Verdict:
        """Take the key, or say what it stands for. Raises StorageUnavailableError."""
        partition, row_key = owner_key(owner_id), idempotency_row_key(key)
        for _ in range(_RACES):
            found = self._table.get(partition, row_key)
            if found is not None and (verdict := _standing(found, fingerprint, now)):
                return verdict
            try:
                return self._take(Row(partition, row_key, {}), found, fingerprint, now)
            except ConflictError:
                continue
        return InFlight(now + IN_FLIGHT)

    def give_back(self, begun: Begun) -> None:
        """Nothing was accepted: the key is free again. Where this fails it expires by itself."""
        try:
            self._table.delete(begun.row)
        except (ConflictError, StorageUnavailableError):
            return

    def _take(self, place: Row, found: Row | None, fingerprint: str, now: datetime) -> Begun:
        """The due entry comes first; it removes the row when its time is over."""
        entry = DueEntry(owner_key=place.partition, row_key=place.key, due_at=now + KEPT)
        self._due.put(entry)
        values: dict[str, Value] = {
            "state": "InFlight",
            "until": now + IN_FLIGHT,
            "fingerprint": fingerprint,
            "dueAt": entry.due_at,
            "claim": uuid.uuid4().hex,
        }
        row = replace(place, values=values, etag=found.etag if found else "")
        try:
            [etag] = self._table.transact([Replace(row) if found else Insert(row)])
        except StorageUnavailableError as error:
            return self._taken_after_all(row, error)
        return Begun(row.with_etag(etag))

    def _taken_after_all(self, row: Row, error: StorageUnavailableError) -> Begun:
        """The key carries our claim: only the answer was lost. Else the error stands.

        A key left in flight by its own request would refuse the repeated one for two minutes.
        """
        stored = self._table.get(row.partition, row.key) if error.unknown else None
        if stored is None or stored.values.get("claim") != row.values["claim"]:
            raise error
        return Begun(stored)


def _standing(row: Row, fingerprint: str, now: datetime) -> Verdict | None:
    """What a row still stands for at `now`; None where it has expired, or does not say when."""
    until = row.values.get("until")
    if not isinstance(until, datetime) or until <= now:
        return None
    if row.values["fingerprint"] != fingerprint:
        return UsedForAnother()
    if row.values["state"] != "Done":
        return InFlight(until)
    return AlreadyDone(tuple(json.loads(str(row.values["draftIds"]))))
