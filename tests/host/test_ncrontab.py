"""The cron dialect of timer triggers, field by field."""

from datetime import datetime

import pytest

from devhost.ncrontab import NEVER, Crontab


def wall(text: str) -> datetime:
    """A wall time; zones are not this module's business."""
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("expression", "base", "following"),
    [
        ("* * * * * *", "2026-08-01T10:00:00", "2026-08-01T10:00:01"),
        ("0 */5 * * * *", "2026-08-01T10:00:00", "2026-08-01T10:05:00"),
        ("0 0 3 * * *", "2026-08-01T03:00:00", "2026-08-02T03:00:00"),
        ("30 15 10 * * *", "2026-12-31T10:15:30", "2027-01-01T10:15:30"),
        ("0 0 0 31 * *", "2026-08-31T12:00:00", "2026-10-31T00:00:00"),
        ("0 0 0 29 2 *", "2026-08-01T00:00:00", "2028-02-29T00:00:00"),
        ("0 0 9-11 * * *", "2026-08-01T11:00:00", "2026-08-02T09:00:00"),
        ("0 0 9,17 * * *", "2026-08-01T09:00:00", "2026-08-01T17:00:00"),
        ("10/20 * * * * *", "2026-08-01T10:00:30", "2026-08-01T10:00:50"),
        ("0 10-20/5 * * * *", "2026-08-01T10:15:00", "2026-08-01T10:20:00"),
    ],
)
def test_crontab_finds_the_next_time(expression: str, base: str, following: str) -> None:
    """Values, lists, ranges and steps select the seconds at which it fires."""
    assert Crontab.parse(expression).next_after(wall(base)) == wall(following)


def test_crontab_with_five_fields_fires_at_second_zero() -> None:
    """Without a field for seconds the second is 0."""
    crontab = Crontab.parse("*/5 * * * *")
    assert crontab.next_after(wall("2026-08-01T10:00:01")) == wall("2026-08-01T10:05:00")


def test_crontab_next_time_is_strictly_after_and_without_fraction() -> None:
    """A base on the schedule is not its own successor, and its fraction is dropped."""
    crontab = Crontab.parse("* * * * * *")
    assert crontab.next_after(wall("2026-08-01T10:00:00.999")) == wall("2026-08-01T10:00:01")


def test_crontab_day_of_month_and_day_of_week_must_both_match() -> None:
    """Other crons would fire on either; this fires on a Friday that is a 13th."""
    crontab = Crontab.parse("0 0 0 13 * FRI")
    assert crontab.next_after(wall("2026-08-01T00:00:00")) == wall("2026-11-13T00:00:00")


def test_crontab_sunday_is_zero() -> None:
    """The week starts with Sunday."""
    crontab = Crontab.parse("0 0 0 * * 0")
    assert crontab.next_after(wall("2026-08-01T00:00:00")) == wall("2026-08-02T00:00:00")


@pytest.mark.parametrize("name", ["mon", "MONDAY", "m", "Mond"])
def test_crontab_names_match_by_prefix_in_any_case(name: str) -> None:
    """The first name that starts with the text is meant."""
    assert Crontab.parse(f"0 0 0 * * {name}").weekdays == {1}


def test_crontab_month_names_are_known() -> None:
    """Months have names as well."""
    assert Crontab.parse("0 0 0 1 jan,Dec *").months == {1, 12}


def test_crontab_with_a_reversed_range_swaps_it() -> None:
    """It does not wrap around."""
    assert Crontab.parse("0 0 20-4 * * *").hours == frozenset(range(4, 21))


def test_crontab_with_a_value_and_a_step_runs_to_the_end_of_the_field() -> None:
    """`a/n` means every n-th from a on."""
    assert Crontab.parse("0 40/10 * * * *").minutes == {40, 50}


@pytest.mark.parametrize(
    "expression",
    [
        "0 0 0 * * 7",
        "60 * * * * *",
        "0 60 * * * *",
        "0 0 24 * * *",
        "0 0 0 0 * *",
        "0 0 0 32 * *",
        "0 0 0 * 13 *",
        "0 0 0 L * *",
        "0 0 0 ? * *",
        "0 0 0 * * 5#2",
        "0 0 0 15W * *",
        "@hourly",
        "* * * *",
        "* * * * * * *",
        "0 0 0 1, * *",
        "0 */x * * * *",
        "mon * * * * *",
        "",
    ],
)
def test_crontab_outside_the_grammar_is_refused(expression: str) -> None:
    """Neither the extensions of other crons nor values out of range are read."""
    with pytest.raises(ValueError, match=r"fields|outside|no value|no step"):
        Crontab.parse(expression)


def test_crontab_that_never_matches_says_never() -> None:
    """A day that no month has is no error, it just does not come."""
    assert Crontab.parse("0 0 0 31 2 *").next_after(wall("2026-08-01T00:00:00")) == NEVER
