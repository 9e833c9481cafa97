"""When a timer fires, in its time zone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from devhost.errors import FunctionInErrorError
from devhost.schedule import Schedule, parse_schedule

NOW = datetime(2026, 8, 1, 10, 0, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def following(schedule: Schedule, base: datetime, count: int) -> list[str]:
    """The next times after `base`, in UTC."""
    times = [schedule.next_after(base)]
    while len(times) < count:
        times.append(schedule.next_after(times[-1]))
    return [f"{time:%d %H:%M}" for time in times]


def test_schedule_that_is_cron_fires_at_its_times() -> None:
    """Cron is tried first."""
    schedule = parse_schedule("0 */5 * * * *", UTC)
    assert schedule.next_after(NOW) == datetime(2026, 8, 1, 10, 5, tzinfo=UTC)


def test_schedule_that_is_a_time_span_fires_after_it() -> None:
    """What is no cron is a fixed interval, which knows no daylight saving."""
    schedule = parse_schedule("00:00:45")
    assert (schedule.next_after(NOW), schedule.adjusts_for_dst) == (
        NOW + timedelta(seconds=45),
        False,
    )


@pytest.mark.parametrize("text", ["soon", "@daily", "0 0 0 * * 7", "00:00:00", "-00:01:00"])
def test_schedule_that_is_neither_puts_its_function_in_error(text: str) -> None:
    """The message is the host's."""
    with pytest.raises(
        FunctionInErrorError,
        match=r"The schedule expression '.*' was not recognized as a valid cron",
    ):
        parse_schedule(text)


def test_schedule_is_read_in_the_local_zone() -> None:
    """Three o'clock is the wall clock's three."""
    schedule = parse_schedule("0 0 3 * * *", BERLIN)
    assert schedule.next_after(NOW) == datetime(2026, 8, 2, 1, 0, tzinfo=UTC)


def test_schedule_for_a_point_in_a_repeated_hour_fires_once() -> None:
    """Half past two comes twice that night; the second is left out."""
    schedule = parse_schedule("0 30 2 * * *", BERLIN)
    evening = datetime(2026, 10, 24, 20, 0, tzinfo=UTC)
    assert following(schedule, evening, 2) == ["25 00:30", "26 01:30"]


def test_schedule_for_an_interval_goes_on_through_a_repeated_hour() -> None:
    """Every half hour stays every half hour."""
    schedule = parse_schedule("0 */30 * * * *", BERLIN)
    night = datetime(2026, 10, 25, 0, 0, tzinfo=UTC)
    assert following(schedule, night, 4) == ["25 00:30", "25 01:00", "25 01:30", "25 02:00"]


def test_schedule_for_an_interval_in_the_repeated_hour_alone_fires_in_both_passes() -> None:
    """The hour it names comes twice that night."""
    schedule = parse_schedule("0 */30 2 * * *", BERLIN)
    evening = datetime(2026, 10, 24, 20, 0, tzinfo=UTC)
    expected = ["25 00:00", "25 00:30", "25 01:00", "25 01:30", "26 01:00"]
    assert following(schedule, evening, 5) == expected


def test_schedule_for_an_interval_goes_on_where_an_hour_is_left_out() -> None:
    """The clock jumps, the interval does not."""
    schedule = parse_schedule("0 */30 * * * *", BERLIN)
    night = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
    assert following(schedule, night, 3) == ["29 01:00", "29 01:30", "29 02:00"]


@pytest.mark.parametrize(
    ("text", "often"),
    [
        ("*/10 * * * * *", True),
        ("0,30 * * * * *", True),
        ("0 * * * * *", False),
        ("0 */5 * * * *", False),
        ("00:00:59", True),
        ("00:01:00", False),
    ],
)
def test_schedule_more_often_than_a_minute_is_told_apart(text: str, often: bool) -> None:
    """Such a timer is not monitored."""
    assert parse_schedule(text, UTC).more_often_than_a_minute(NOW) is often
