"""Time spans as .NET writes them, in host.json and in timer schedules."""

import re
from datetime import timedelta

_DAYS = re.compile(r"(-)?(\d+)")
_CLOCK = re.compile(r"(-)?(?:(\d+)\.)?(\d+):(\d+)(?::(\d+)(?:\.(\d{1,7}))?)?")
_DAYS_AND_CLOCK = re.compile(r"(-)?(\d+):(\d+):(\d+):(\d+)(?:\.(\d{1,7}))?")


def parse_timespan(text: str) -> timedelta:
    """`hh:mm[:ss[.fffffff]]` with or without `d.` before, or days alone.

    `24:00:00` is 24 days: hours end at 23, so its first part is read as days. Raises ValueError.
    """
    text = text.strip()
    if found := _DAYS.fullmatch(text):
        return _signed(found[1], timedelta(days=int(found[2])))
    if found := _DAYS_AND_CLOCK.fullmatch(text):
        sign, days, hours, minutes, seconds, fraction = found.groups()
        return _signed(sign, _span(days, hours, minutes, seconds, fraction))
    if found := _CLOCK.fullmatch(text):
        sign, days, hours, minutes, seconds, fraction = found.groups()
        if days is None and fraction is None and seconds is not None and int(hours) > 23:
            days, hours, minutes, seconds = hours, minutes, seconds, None
        return _signed(sign, _span(days, hours, minutes, seconds, fraction))
    raise ValueError(f"'{text}' is not a time span")


def format_timespan(span: timedelta) -> str:
    """The shortest .NET form: days and fractions only where they are not zero."""
    days, rest = divmod(span, timedelta(days=1))
    seconds, micros = divmod(rest, timedelta(seconds=1))
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    fraction = micros // timedelta(microseconds=1)
    return (f"{days}." if days else "") + text + (f".{fraction:06}0" if fraction else "")


def _span(
    days: str | None, hours: str, minutes: str, seconds: str | None, fraction: str | None
) -> timedelta:
    if int(hours) > 23 or int(minutes) > 59 or int(seconds or 0) > 59:
        raise ValueError("hours end at 23, minutes and seconds at 59")
    return timedelta(
        days=int(days or 0),
        hours=int(hours),
        minutes=int(minutes),
        seconds=int(seconds or 0),
        microseconds=int((fraction or "").ljust(7, "0")) // 10,
    )


def _signed(sign: str | None, span: timedelta) -> timedelta:
    return -span if sign else span
