"""Time spans in .NET's notation."""

from datetime import timedelta

import pytest

from devhost.timespan import format_timespan, parse_timespan


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("00:00:30", timedelta(seconds=30)),
        ("01:02", timedelta(hours=1, minutes=2)),
        ("1.02:03:04", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("1:02:03:04", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("00:00:00.1000000", timedelta(milliseconds=100)),
        ("3", timedelta(days=3)),
        ("-00:00:01", timedelta(seconds=-1)),
        (" 00:01:00 ", timedelta(minutes=1)),
    ],
)
def test_timespan_in_every_form_is_read(text: str, span: timedelta) -> None:
    """Days, fractions, a sign and blanks around are allowed."""
    assert parse_timespan(text) == span


def test_timespan_with_24_hours_is_read_as_24_days() -> None:
    """Hours end at 23, so a larger first part counts days."""
    assert parse_timespan("24:00:00") == timedelta(days=24)


@pytest.mark.parametrize("text", ["", "soon", "00:60:00", "00:00:60", "1.24:00:00", "0:0:0:0:0"])
def test_timespan_out_of_form_is_refused(text: str) -> None:
    """What .NET does not read is an error, not a guess."""
    with pytest.raises(ValueError, match=r"time span|out of range"):
        parse_timespan(text)


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(seconds=90), "00:01:30"),
        (timedelta(days=1, hours=2), "1.02:00:00"),
        (timedelta(milliseconds=1500), "00:00:01.5000000"),
    ],
)
def test_timespan_when_printed_has_its_shortest_form(span: timedelta, text: str) -> None:
    """Days and fractions appear only where they are not zero."""
    assert format_timespan(span) == text
