"""The windows of a schedule: from each planned time, in UTC, up to the next."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from croniter import croniter

from shared.ncrontab import values_of

_INSTANT = timedelta(microseconds=1)
_EARLY = timedelta(minutes=1)  # a timer may fire a moment before its time


def occasion_of(started_at: datetime, planned_at: datetime | None) -> datetime:
    """When the run counts as begun: the planned time where the host fired a moment before it.

    Any other planned time says nothing: after missed days it is long past, and a run that was
    asked for by hand carries that of the next.
    """
    early = planned_at is not None and started_at < planned_at <= started_at + _EARLY
    return planned_at if early and planned_at else started_at


def window_of(schedule: str, at: datetime) -> datetime:
    """The planned time that `at` belongs to: the last one not after it."""
    planned: datetime = _schedule(schedule, at + _INSTANT).get_prev(datetime)
    return planned


def windows_between(schedule: str, since: datetime, until: datetime) -> Iterator[datetime]:
    """Every planned time from `since` to `until`, both counted."""
    planned = _schedule(schedule, since - _INSTANT)
    while (window := planned.get_next(datetime)) <= until:
        yield window


def _schedule(text: str, start: datetime) -> croniter:
    """Plain numbers leave no dialect; both kinds of day have to match, as in the host.

    Raises ValueError for what is no NCRONTAB.
    """
    numbers = " ".join(",".join(map(str, values)) for values in values_of(text))
    return croniter(numbers, start, second_at_beginning=True, day_or=False)
