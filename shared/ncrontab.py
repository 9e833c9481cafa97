"""NCRONTAB, in which the host reads the schedules of timers: here it is read as there.

Other crons differ: Sunday is 0 and never 7, a reversed range is swapped and does not wrap, names
match by prefix, `a/n` runs to the end of its field, and there is no `L`, `#`, `?` or `@daily`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_STEP = re.compile("-?[0-9]+")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")


def values_of(schedule: str) -> list[list[int]]:
    """What each of the six fields allows, seconds first; of five, the second is 0.

    Raises ValueError saying what is wrong.
    """
    texts = schedule.split()
    if len(texts) == 5:
        texts.insert(0, "0")
    if len(texts) != len(_FIELDS):
        raise ValueError(f"'{schedule}' has {len(texts)} fields, not six or five")
    return [field.values(text) for field, text in zip(_FIELDS, texts, strict=True)]


@dataclass(frozen=True, slots=True)
class _Field:
    """One field: its numbers, and the names that stand for them from `low` on."""

    title: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    def values(self, text: str) -> list[int]:
        return sorted({value for item in text.split(",") for value in self._item(item)})

    def _item(self, item: str) -> range:
        """`*`, a value or a range, each with or without a step."""
        body, slash, step_text = item.partition("/")
        if slash and not _STEP.fullmatch(step_text):
            raise ValueError(f"'{item}' has no step for the {self.title}")
        step = max(1, int(step_text)) if slash else 1  # the host reads a step under 1 as 1
        first_text, dash, last_text = body.partition("-")
        if body == "*":
            first, last = self.low, self.high
        elif dash:
            first, last = sorted((self._value(first_text), self._value(last_text)))
        else:
            first = self._value(body)
            last = self.high if slash else first
        return range(first, last + 1, step)

    def _value(self, text: str) -> int:
        if text.isascii() and text.isdigit() and self.low <= int(text) <= self.high:
            return int(text)
        for number, name in enumerate(self.names, self.low):
            if text and name.startswith(text.lower()):
                return number
        raise ValueError(f"'{text}' is no {self.title} from {self.low} to {self.high}")


_FIELDS = (
    _Field("second", 0, 59),
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 6, _WEEKDAYS),
)
