"""What a timer remembers: its last and next time, as the real host writes it."""

from datetime import datetime

import pytest

from devhost.timer_status import Status, check
from tests.host.timer_bench import MINUTE, NOW, SCHEDULE, at


def test_status_is_made_at_the_first_start() -> None:
    """It never ran, and is not past due."""
    assert check(None, SCHEDULE, NOW) == (Status(last=None, next=at(5), last_updated=NOW), False)


def test_status_with_its_next_time_ahead_is_kept() -> None:
    """Nothing is due."""
    status = Status(last=at(0), next=at(5), last_updated=at(0))
    assert check(status, SCHEDULE, NOW) == (status, False)


def test_status_with_its_next_time_missed_is_past_due() -> None:
    """However many were missed, the status is one run behind."""
    status = Status(last=at(0) - 3 * MINUTE * 60, next=at(5) - 3 * MINUTE * 60, last_updated=NOW)
    assert check(status, SCHEDULE, NOW) == (status, True)


def test_status_of_a_run_that_was_killed_is_past_due() -> None:
    """It is written after the run, so its next time is still the one that was killed."""
    status = Status(last=at(0), next=at(5), last_updated=at(0))
    assert check(status, SCHEDULE, at(6))[1] is True


def test_status_that_never_ran_counts_from_its_last_update() -> None:
    """The first run can be missed as well."""
    status = Status(last=None, next=at(5), last_updated=at(1))
    assert check(status, SCHEDULE, at(6)) == (status, True)


def test_status_under_a_changed_schedule_forgets_its_last_run() -> None:
    """The next time is what the new schedule says from the last run on."""
    status = Status(last=at(0), next=at(30), last_updated=at(0))
    expected = Status(last=None, next=at(5), last_updated=at(0))
    assert check(status, SCHEDULE, NOW) == (expected, False)


def test_status_under_a_changed_schedule_is_not_past_due() -> None:
    """What the new schedule would have done in the past is not made up for."""
    status = Status(last=at(0), next=at(30), last_updated=at(0))
    expected = Status(last=None, next=at(10), last_updated=at(7))
    assert check(status, SCHEDULE, at(7)) == (expected, False)


def test_status_as_json_has_local_times_with_their_offset() -> None:
    """A run that never was is the first year."""
    content = Status(last=None, next=at(5), last_updated=NOW).as_json()
    assert content["Last"].startswith("0001-01-01T00:00:00")
    assert datetime.fromisoformat(content["Next"]) == at(5)
    assert datetime.fromisoformat(content["Next"]).utcoffset() is not None


@pytest.mark.parametrize("never", ["0001-01-01T00:00:00", "0001-01-01T00:00:00+00:00"])
def test_status_written_by_the_real_host_is_read(never: str) -> None:
    """Seven digits of a second, and a first year with or without an offset."""
    content = {
        "Last": never,
        "Next": "2026-08-01T12:05:00+02:00",
        "LastUpdated": "2026-08-01T10:02:00.0000001+00:00",
    }
    assert Status.from_json(content) == Status(last=None, next=at(5), last_updated=NOW)
