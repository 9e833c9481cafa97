"""The upload window of an owner: exact across all instances, by one conditional row."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta

from shared import telemetry
from shared.domain.errors import ConflictError, StorageUnavailableError
from shared.domain.ids import owner_key
from shared.ports import Insert, Replace, Row, Table

ROW_KEY = "r~upload"
WINDOW = timedelta(minutes=1)
_RACES = 50  # each lost race is another request that was counted


def count_upload(table: Table, owner_id: str, *, limit: int, now: datetime) -> timedelta | None:
    """Count one request, or how long to wait where the last minute holds `limit` of them.

    The row keeps the times of the counted requests. Raises StorageUnavailableError.
    """
    partition = owner_key(owner_id)
    for _ in range(_RACES):
        row = table.get(partition, ROW_KEY)
        recent = [at for at in _times(row) if at > now - WINDOW]
        if len(recent) >= limit:
            return recent[-limit] + WINDOW - now
        try:
            _write(table, partition, row, [*recent, now])
        except ConflictError:
            continue
        return None
    raise StorageUnavailableError("too many uploads at once", unknown=False)


def _times(row: Row | None) -> list[datetime]:
    """None of a damaged row, which is told: the next write mends it, and nobody is shut out."""
    packed = row.values.get("times") if row else b""
    try:
        if not isinstance(packed, bytes):
            raise TypeError("no times")
        numbers = struct.iter_unpack(">Q", packed)
        return [datetime.fromtimestamp(ms / 1000, UTC) for (ms,) in numbers]
    except (TypeError, ValueError, OverflowError, struct.error) as error:
        telemetry.row_unreadable(kind="Window", row_key=ROW_KEY, code=type(error).__name__)
        return []


def _write(table: Table, partition: str, row: Row | None, times: list[datetime]) -> None:
    packed = b"".join(struct.pack(">Q", round(at.timestamp() * 1000)) for at in sorted(times))
    values = {"times": packed}
    if row is None:
        table.transact([Insert(Row(partition, ROW_KEY, values))])
    else:
        table.transact([Replace(Row(partition, ROW_KEY, values, row.etag))])
