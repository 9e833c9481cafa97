"""The frame of scheduled jobs: kill switch, time limit, a record of each run, two policies.

An *idempotent* job may run again and overlap: nothing is claimed, its run is recorded afterwards.
A job of the policy *at most once a window* claims its window before it acts, and never acts on a
claimed one, whoever triggers it:

    trigger ──▶ insert window row ──▶ act ──▶ outcome on the row
                   │ exists              │ fails, or the process dies
                   └──▶ refused          └──▶ dead letter for a person; never a second run
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain.errors import AlreadyExistsError, ConflictError, RequestError
from shared.domain.retention import SETTLED
from shared.records.deadletters import DeadLetter
from shared.records.jobruns import JobReport, JobRun, JobRuns, Outcome
from shared.windows import occasion_of, window_of

TIME_LIMIT = timedelta(minutes=8)  # functionTimeout is 10
_LOST = "The run was lost: whether it did its work is not known."


class Policy(StrEnum):
    """Whether a second run of the same occasion does harm."""

    IDEMPOTENT = "idempotent"
    AT_MOST_ONCE = "at_most_once"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tick:
    """Why a job runs now."""

    trigger: str = "timer"  # timer | operator | repair (the rest of a cleanup)
    scheduled_at: datetime | None = None  # the planned time, where the host says it
    past_due: bool = False

    @classmethod
    def of_timer(cls, timer: Mapping[str, Any]) -> Tick:
        """As the host tells it: the status is that before this run, so `Next` is this run's."""
        status = timer.get("schedule_status") or {}
        return cls(scheduled_at=_time(status.get("Next")), past_due=bool(timer.get("past_due")))


@dataclass(frozen=True, kw_only=True, slots=True)
class JobContext:
    """What a job's work is given: its means and its time."""

    deps: Dependencies
    deadline: datetime

    def time_is_up(self) -> bool:
        return self.deps.clock() >= self.deadline


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduledJob:
    """One job; `schedule` is needed where it runs at most once a window."""

    name: str
    work: Callable[[JobContext], JobReport]
    policy: Policy = Policy.IDEMPOTENT
    schedule: str = ""


def run(
    job: ScheduledJob, tick: Tick, deps: Dependencies, *, until: datetime | None = None
) -> JobRun | None:
    """Run the job as its policy allows, by `until` at the latest; None where it may not run.

    Raises what the work raises, after recording it. An operator who may not run it is told by a
    RequestError.
    """
    if not deps.settings.job_enabled(job.name):
        _refuse(tick.trigger, "JOB_DISABLED", f"{job.name} is switched off.")
        return None
    now = deps.clock()
    planned = JobRun(
        job=job.name,
        trigger=tick.trigger,
        started_at=now,
        scheduled_at=tick.scheduled_at,
        past_due=tick.past_due,
    )
    context = JobContext(deps=deps, deadline=min(until or now + TIME_LIMIT, now + TIME_LIMIT))
    if job.policy is Policy.IDEMPOTENT:
        return _act(job, planned, context, JobRuns(deps.jobruns_table).record)
    return _run_window(job, planned, context)


def _run_window(job: ScheduledJob, planned: JobRun, context: JobContext) -> JobRun | None:
    runs = JobRuns(context.deps.jobruns_table)
    window = window_of(job.schedule, occasion_of(planned.started_at, planned.scheduled_at))
    try:
        claimed = runs.open_window(replace(planned, window=window, schedule=job.schedule))
    except AlreadyExistsError:
        _close_lost(job.name, context.deps)
        _refuse(planned.trigger, "WINDOW_TAKEN", f"The window of {window:%Y-%m-%d %H:%M} was run.")
        return None

    def close(ended: JobRun) -> None:
        if ended.outcome is Outcome.FAILED:
            _keep_letter(ended, context.deps)
        runs.close_window(ended)

    done = _act(job, claimed, context, close)
    _close_lost(job.name, context.deps)
    return done


def _act(
    job: ScheduledJob, planned: JobRun, context: JobContext, record: Callable[[JobRun], None]
) -> JobRun:
    _tell_started(planned)
    try:
        report = job.work(context)
    except Exception as error:
        failed = replace(planned, outcome=Outcome.FAILED, error=f"{type(error).__name__}: {error}")
        record(_ended(failed, context))
        raise
    ended = _ended(replace(planned, outcome=report.outcome, report=report), context)
    record(ended)
    return ended


def _close_lost(job: str, deps: Dependencies) -> None:
    """Windows that were claimed by a run that died: a dead letter each, and failed."""
    runs, now = JobRuns(deps.jobruns_table), deps.clock()
    runs.drop_old(job, now)
    lost = [
        found
        for found in runs.newest(job)
        if found.outcome is None and found.started_at < now - SETTLED
    ]
    for found in lost:
        failed = replace(found, outcome=Outcome.FAILED, error=_LOST, finished_at=now)
        _keep_letter(failed, deps)
        try:
            runs.close_window(failed)
        except ConflictError:  # another host has said so
            continue


def _refuse(trigger: str, code: str, detail: str) -> None:
    """A timer that may not run the job has nothing to do; an operator is told why."""
    if trigger == "operator":
        raise RequestError(409, code, detail)


def _keep_letter(run: JobRun, deps: Dependencies) -> None:
    """Timed by its window, so that saying it twice keeps one."""
    assert run.window is not None
    letter = DeadLetter(
        at=run.window,
        queue=f"job {run.job}",
        reason=run.error or "",
        code="JOB_FAILED",
        body=run.window.isoformat().encode(),
    )
    deps.letters.keep(letter, name=run.job)


def _tell_started(planned: JobRun) -> None:
    at = planned.scheduled_at
    telemetry.cleanup_started(
        job=planned.job,
        trigger=planned.trigger,
        scheduled_at=at.isoformat() if at else None,
        started_at=planned.started_at.isoformat(),
        past_due=planned.past_due,
    )


def _ended(run: JobRun, context: JobContext) -> JobRun:
    now, report = context.deps.clock(), run.report
    telemetry.cleanup_finished(
        job=run.job,
        trigger=run.trigger,
        outcome=str(run.outcome),
        duration_ms=telemetry.milliseconds(run.started_at, now),
        examined=report.examined,
        failed=report.failed,
        purged=report.purged,
        failed_blob_deletions=report.failed_blob_deletions,
        remaining=report.remaining,
    )
    return replace(run, finished_at=now)


def _time(text: str | None) -> datetime | None:
    """ISO with up to seven digits; the host's "never" (year 1) and what is no time are null."""
    try:
        read = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    aware = read if read.tzinfo else read.replace(tzinfo=UTC)
    return aware.astimezone(UTC) if aware.year > 1 else None


if __name__ == "__main__":
    from shared.verifying import main

    sys.exit(main(sys.argv[1:]))
