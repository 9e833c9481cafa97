"""The frame of scheduled jobs: records, switches, time, and what the host says of a timer."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from cleanup_abandoned_drafts.handler import CLEANUP, run_cleanup_now
from cleanup_abandoned_drafts.repair import REPAIR
from shared.domain.errors import RequestError
from shared.jobs import ScheduledJob, Tick, run
from shared.ports import Row
from shared.records.jobruns import JobReport, JobRuns, Outcome
from shared.settings import Settings
from tests.factories import make_world
from tests.fakes import NOW


def job(work=lambda turn: JobReport()):
    return ScheduledJob(name="some_job", work=work)


def records(world, name="some_job"):
    return list(JobRuns(world.deps.jobruns_table).newest(name))


def test_job_that_ends_well_is_recorded(world):
    """When it was planned, began and ended, and what it did."""
    report = JobReport(examined=3, purged=2)

    def work(turn):
        world.clock.pass_(seconds=4)
        return report

    planned = NOW - timedelta(seconds=1)
    run(job(work), Tick(scheduled_at=planned), world.deps)
    [found] = records(world)
    assert (found.scheduled_at, found.started_at, found.finished_at) == (
        planned,
        NOW,
        NOW + timedelta(seconds=4),
    )
    assert (found.outcome, found.report, found.trigger) == (Outcome.SUCCESS, report, "timer")


def test_job_that_fails_is_recorded_and_raises(world):
    """The host logs the failure; the record says what it was."""

    def work(turn):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run(job(work), Tick(), world.deps)
    [found] = records(world)
    assert (found.outcome, found.error) == (Outcome.FAILED, "ValueError: no")


@pytest.mark.parametrize(
    ("report", "outcome", "success"),
    [
        (JobReport(), Outcome.SUCCESS, True),
        (JobReport(failed_blob_deletions=1), Outcome.PARTIAL, True),
        (JobReport(failed_rows=1), Outcome.PARTIAL, True),
        (JobReport(remaining=1), Outcome.PARTIAL, False),
    ],
)
def test_outcome_of_a_run(world, report, outcome, success):
    """What is left over makes it partial; only what was not looked at keeps the alarm waiting."""
    done = run(job(lambda turn: report), Tick(), world.deps)
    assert (done.outcome, done.is_success) == (outcome, success)


def test_runs_may_overlap_and_each_is_recorded(world):
    """An idempotent job claims nothing, not even its millisecond."""
    run(job(lambda turn: run(job(), Tick(), world.deps) and JobReport()), Tick(), world.deps)
    assert len(records(world)) == 2


def test_records_come_newest_first(world):
    """The last run is the first to be read."""
    for _ in range(3):
        run(job(), Tick(), world.deps)
        world.clock.pass_(minutes=5)
    started = [found.started_at for found in records(world)]
    assert started == sorted(started, reverse=True)
    since = JobRuns(world.deps.jobruns_table).newest("some_job", since=NOW + timedelta(minutes=5))
    assert len(list(since)) == 2


def test_job_has_eight_minutes(world):
    """The host's ten are never reached."""
    seen = []

    def work(turn):
        seen.append(turn.time_is_up())
        world.clock.pass_(minutes=7, seconds=59)
        seen.append(turn.time_is_up())
        world.clock.pass_(seconds=1)
        seen.append(turn.time_is_up())
        return JobReport()

    run(job(work), Tick(), world.deps)
    assert seen == [False, False, True]


@pytest.mark.parametrize("scheduled", [CLEANUP, REPAIR], ids=lambda scheduled: scheduled.name)
def test_switch_turns_a_job_off(scheduled):
    """`JOB_<NAME>_ENABLED=false`: nothing runs, nothing is recorded, the alarm on its age rings."""
    switch = {f"job_{scheduled.name}_enabled": False}
    world = make_world(settings=Settings(auth_mode="local", **switch))
    assert run(scheduled, Tick(), world.deps) is None
    assert records(world, scheduled.name) == []


def test_operator_is_told_that_the_job_is_off():
    """The switch holds for people too."""
    world = make_world(
        settings=Settings(auth_mode="local", job_cleanup_abandoned_drafts_enabled=False)
    )
    with pytest.raises(RequestError) as caught:
        run_cleanup_now(world.deps)
    assert (caught.value.status, caught.value.code) == (409, "JOB_DISABLED")


@pytest.mark.parametrize(
    ("timer", "planned"),
    [
        (
            {"schedule_status": {"Next": "2026-08-01T05:00:00+02:00"}},
            datetime(2026, 8, 1, 3, 0, tzinfo=UTC),
        ),
        (
            {"schedule_status": {"Next": "2026-08-01T03:00:00.0012345Z"}},
            datetime(2026, 8, 1, 3, 0, 0, 1234, tzinfo=UTC),
        ),
        ({"schedule_status": {"Next": "0001-01-01T00:00:00"}}, None),
        ({"schedule_status": {"Next": "soon"}}, None),
        ({"schedule_status": {}}, None),
        ({"schedule_status": None}, None),
        ({}, None),
    ],
)
def test_planned_time_as_the_host_says_it(timer, planned):
    """In UTC; null where the host says nothing that can be read."""
    assert Tick.of_timer(timer).scheduled_at == planned


def test_host_says_that_it_is_late():
    """`pastDue` is passed on, and decides nothing."""
    assert Tick.of_timer({"past_due": True}).past_due


def test_lines_of_a_job_say_when_and_why(world, caplog):
    """The alarm on drift reads the planned and the actual time."""
    caplog.set_level("INFO", logger="fitting_room")
    run(job(), Tick(scheduled_at=NOW - timedelta(minutes=2), past_due=True), world.deps)
    begun, ended = [json.loads(record.message) for record in caplog.records]
    assert (begun["event"], ended["event"]) == ("cleanup_started", "cleanup_finished")
    assert (begun["scheduledAt"], begun["startedAt"]) == (
        "2026-08-01T11:58:00+00:00",
        "2026-08-01T12:00:00+00:00",
    )
    assert (begun["pastDue"], ended["outcome"]) == (True, "success")


def test_record_that_is_damaged_proves_nothing(world):
    """It may be the second run of a window: the list leaves it out, a proof does not."""
    run(job(), Tick(), world.deps)
    world.deps.jobruns_table.put(Row("some_job", "0", {}))
    kept = JobRuns(world.deps.jobruns_table)
    assert len(list(kept.newest("some_job"))) == 1
    with pytest.raises(ValueError, match="JobRun"):
        list(kept.every("some_job"))
