"""Time spans as .NET writes them, in host.json and in timer schedules."""

import re
from datetime import timedelta

_SPAN = re.compile(r"(-)?(?:(\d+)\.)?(\d+(?::\d+){1,3})(?:\.(\d{1,7}))?|(-)?(\d+)")


def parse_timespan(text: str) -> timedelta:
    """`hh:mm[:ss[.fffffff]]` with or without `d.` or `d:` before, or days alone.

    `24:00:00` is 24 days: hours end at 23, so its first part is read as days. Raises ValueError.
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"'{text}' is not a time span")
    minus, days, clock, fraction, minus_days, days_alone = found.groups()
    if days_alone is not None:
        return timedelta(days=int(days_alone)) * (-1 if minus_days else 1)
    numbers = [int(part) for part in clock.split(":")]
    if days is None and (len(numbers) == 4 or (len(numbers) == 3 and numbers[0] > 23)):
        days = str(numbers.pop(0))
    hours, minutes, seconds = (*numbers, 0)[:3]
    if len(numbers) > 3 or hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError(f"'{text}' is out of range: hours end at 23, minutes and seconds at 59")
    micros = int((fraction or "").ljust(7, "0")) // 10
    span = timedelta(
        days=int(days or 0), hours=hours, minutes=minutes, seconds=seconds, microseconds=micros
    )
    return -span if minus else span


def format_timespan(span: timedelta) -> str:
    """The shortest .NET form: days and fractions only where they are not zero."""
    minutes, seconds = divmod(span.seconds, 60)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
    fraction = f".{span.microseconds:06}0" if span.microseconds else ""
    return (f"{span.days}." if span.days else "") + clock + fraction
