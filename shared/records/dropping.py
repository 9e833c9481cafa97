"""Rows that are past their time go by the hundred, for as long as there is time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import batched, groupby

from shared.domain.errors import ConflictError
from shared.ports import Delete, Span, Table

type TimeIsUp = Callable[[], bool]

_AT_ONCE = 100  # a transaction holds no more


def never() -> bool:
    return False


def drop(table: Table, span: Span, time_is_up: TimeIsUp) -> bool:
    """Delete the rows of a span, damaged ones too; whether there was time for all of them."""
    for _, rows in groupby(table.query(span, page=_AT_ONCE), key=lambda row: row.partition):
        for some in batched(rows, _AT_ONCE, strict=False):
            if time_is_up():
                return False
            with suppress(ConflictError):  # another run drops them, or one was changed just now
                table.transact([Delete(row) for row in some])
    return True
