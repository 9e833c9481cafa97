"""Windows of a schedule, and the proof that each ran once."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shared.records.jobruns import JobRun, Outcome
from shared.verifying import Standing, windows_of
from shared.windows import window_of, windows_between

NIGHTLY = "0 0 3 * * *"
THREE = datetime(2026, 8, 1, 3, 0, tzinfo=UTC)
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)


@pytest.mark.parametrize(
    ("at", "window"),
    [
        (THREE, THREE),
        (THREE - SECOND, THREE - DAY),
        (THREE + 23 * timedelta(hours=1), THREE),
        (THREE.astimezone(UTC) + timedelta(microseconds=1), THREE),
    ],
)
def test_window_begins_at_its_planned_time(at, window):
    """The planned moment belongs to its own window."""
    assert window_of(NIGHTLY, at) == window


@pytest.mark.parametrize("schedule", ["0 */5 * * * *", "*/5 * * * *"])
def test_window_of_a_schedule_with_five_or_six_fields(schedule):
    """Seconds come first where there are six."""
    assert window_of(schedule, THREE + timedelta(minutes=7)) == THREE + timedelta(minutes=5)


def test_windows_where_both_kinds_of_day_are_given_match_both():
    """As in NCRONTAB: a Monday that is the first of its month."""
    firsts = windows_between("0 0 3 1 * 1", datetime(2026, 1, 1, tzinfo=UTC), THREE + 100 * DAY)
    assert [f"{first:%Y-%m-%d}" for first in firsts] == ["2026-06-01"]


@pytest.mark.parametrize(
    ("schedule", "hours"),
    [
        ("0 0 20-4 * * *", range(4, 21)),  # swapped, not wrapped
        ("0 0 20-4/8 * * sat", (4, 12, 20)),
        ("0 0 5/9 * aug 6", (5, 14, 23)),
        ("0 0 3 * * s", ()),  # the first day that starts so is Sunday
    ],
)
def test_windows_are_those_that_the_host_fires(schedule, hours):
    """What other crons read in another way is read as by NCRONTAB."""
    saturday = THREE - timedelta(hours=3)
    found = windows_between(schedule, saturday, saturday + DAY - SECOND)
    assert [each.hour for each in found] == list(hours)


@pytest.mark.parametrize("schedule", ["0 0 3 * * 7", "0 0 3 L * *", "@daily", "0 0 3 ? * *", "3"])
def test_windows_of_what_is_no_ncrontab_are_refused(schedule):
    """Croniter alone would read some of these."""
    with pytest.raises(ValueError, match=r"is no day|fields"):
        window_of(schedule, THREE)


@pytest.mark.parametrize("zone", ["Europe/Warsaw", "America/New_York", "UTC"])
def test_windows_are_one_a_utc_day_in_every_zone(zone):
    """A laptop's zone and its changes of the clock do not matter."""
    code = (
        "from datetime import *; from shared.windows import windows_between;"
        "start = datetime(2026, 1, 1, tzinfo=UTC);"
        "found = list(windows_between('0 0 3 * * *', start, start + timedelta(days=365)));"
        "print(len(found), {w.hour for w in found}, len({w.date() for w in found}))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"TZ": zone},
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.split() == ["365", "{3}", "365"]


def ran(day, **changes):
    fields = {"job": "x", "trigger": "timer", "outcome": Outcome.SUCCESS}
    return JobRun(**(fields | {"started_at": THREE + day * DAY + SECOND} | changes))


CASES = {
    "once": ([ran(0)], Standing.ONCE),
    "partial": ([ran(0, outcome=Outcome.PARTIAL)], Standing.ONCE),
    "a_moment_early": (
        [ran(0, started_at=THREE - SECOND / 100, scheduled_at=THREE)],
        Standing.ONCE,
    ),
    "late": ([ran(0, started_at=THREE + 20 * timedelta(hours=1))], Standing.ONCE),
    "never": ([], Standing.MISSING),
    "twice": ([ran(0), ran(0)], Standing.REPEATED),
    "failed": ([ran(0, outcome=Outcome.FAILED)], Standing.FAILED),
    "open": ([ran(0, outcome=None, window=THREE)], Standing.OPEN),
    "also_by_an_operator": ([ran(0), ran(0, trigger="operator")], Standing.ONCE),
    "only_by_an_operator": ([ran(0, trigger="operator")], Standing.MISSING),
    "claimed_by_an_operator": ([ran(0, trigger="operator", window=THREE)], Standing.ONCE),
    "gone_on_with": ([ran(0), ran(0, trigger="repair")], Standing.ONCE),
}


@pytest.mark.parametrize(("runs", "standing"), CASES.values(), ids=CASES)
def test_standing_of_a_window(runs, standing):
    """What the records say of one planned time."""
    [window] = windows_of(runs, NIGHTLY, THREE, THREE + SECOND)
    assert window.standing is standing


def test_windows_between_two_times_are_all_judged():
    """A gap is seen although nothing was recorded there."""
    found = windows_of([ran(0), ran(2)], NIGHTLY, THREE, THREE + 2 * DAY)
    assert [window.standing for window in found] == [
        Standing.ONCE,
        Standing.MISSING,
        Standing.ONCE,
    ]
