"""NCRONTAB, the cron dialect of timer triggers.

It differs from other dialects: day of month and day of week must both match, Sunday is 0 and
never 7, a reversed range is swapped, names match by prefix, and `a/n` runs to the field's end.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

MONTHS = ["january", "february", "march", "april", "may", "june", "july", "august"]
MONTHS += ["september", "october", "november", "december"]
WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
NEVER = datetime(9999, 12, 31, 23, 59, 59)  # noqa: DTZ001 - wall time, the zone is the caller's
# The Gregorian calendar repeats after 400 years: what does not fall in them never does.
HORIZON_YEARS = 400
_STEP = re.compile(r"-?\d+")


@dataclass(frozen=True, kw_only=True)
class Crontab:
    """The values each field allows."""

    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]

    @classmethod
    def parse(cls, text: str) -> "Crontab":
        """Read six fields, or five where the second is 0. Raises ValueError."""
        fields = text.split()
        if len(fields) == 5:
            fields.insert(0, "0")
        if len(fields) != 6:
            raise ValueError(f"'{text}' has {len(fields)} fields, not 5 or 6")
        second, minute, hour, day, month, weekday = fields
        return cls(
            seconds=_field(second, 0, 59),
            minutes=_field(minute, 0, 59),
            hours=_field(hour, 0, 23),
            days=_field(day, 1, 31),
            months=_field(month, 1, 12, MONTHS),
            weekdays=_field(weekday, 0, 6, WEEKDAYS),
        )

    def next_after(self, base: datetime) -> datetime:
        """The first matching wall time strictly after `base`, whose fractions are dropped.

        NEVER where there is none, such as a 31 February.
        """
        earliest = base.replace(microsecond=0) + timedelta(seconds=1)
        day = earliest.replace(hour=0, minute=0, second=0)
        last_year = min(base.year + HORIZON_YEARS, NEVER.year - 1)
        while day.year <= last_year:
            if day.month not in self.months:
                day = (day.replace(day=1) + timedelta(days=31)).replace(day=1)
                continue
            if self._on(day) and (found := self._within(day, earliest)):
                return found
            day += timedelta(days=1)
        return NEVER

    def _on(self, day: datetime) -> bool:
        return day.day in self.days and day.isoweekday() % 7 in self.weekdays

    def _within(self, day: datetime, earliest: datetime) -> datetime | None:
        """The first match of this day that is not before `earliest`."""
        for hour in sorted(self.hours):
            if day.replace(hour=hour, minute=59, second=59) < earliest:
                continue
            for minute in sorted(self.minutes):
                if day.replace(hour=hour, minute=minute, second=59) < earliest:
                    continue
                for second in sorted(self.seconds):
                    moment = day.replace(hour=hour, minute=minute, second=second)
                    if moment >= earliest:
                        return moment
        return None


def _field(text: str, low: int, high: int, names: list[str] | None = None) -> frozenset[int]:
    return frozenset(value for item in text.split(",") for value in _item(item, low, high, names))


def _item(item: str, low: int, high: int, names: list[str] | None) -> range:
    """`*`, a value or a range, each with or without a step."""
    body, slash, step_text = item.partition("/")
    if slash and not _STEP.fullmatch(step_text):
        raise ValueError(f"'{step_text}' is no step")
    step = max(1, int(step_text)) if slash else 1  # NCRONTAB reads a step under 1 as 1
    if body == "*":
        return range(low, high + 1, step)
    if "-" in body[1:]:
        first_text, _, last_text = body.partition("-")
        first, last = sorted((_value(first_text, low, names), _value(last_text, low, names)))
    else:
        first = _value(body, low, names)
        last = high if slash else first
    if first < low or last > high or first > high:
        raise ValueError(f"'{item}' is outside {low} to {high}")
    return range(first, last + 1, step)


def _value(text: str, low: int, names: list[str] | None) -> int:
    if re.fullmatch(r"[0-9]+", text):
        return int(text)
    for index, name in enumerate(names or ()):
        if text and name.startswith(text.lower()):
            return index + low
    raise ValueError(f"'{text}' is no value of this field")
