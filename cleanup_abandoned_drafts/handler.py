"""The nightly cleanup: what is due is ended or deleted, oldest first, as far as the time goes."""

from __future__ import annotations

from datetime import timedelta

from cleanup_abandoned_drafts.due_entries import Attention, attend_all
from cleanup_abandoned_drafts.policy import Verdict
from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain.errors import StorageUnavailableError
from shared.jobs import JobContext, ScheduledJob, Tick, run
from shared.records import jobruns
from shared.records.jobruns import JobReport, JobRun, JobRuns

_VERDICTS = frozenset(Verdict) - {Verdict.WAIT, Verdict.RESEND}  # the repair sends again
_PATIENCE = timedelta(minutes=3)  # of an operator: Azure's front end cuts an answer off at 230 s


def sweep(context: JobContext) -> JobReport:
    """Abandoned uploads, stuck drafts, old failed ones, tombstones, expired keys."""
    deps = context.deps
    attention = Attention.paid_to(_VERDICTS, deps)
    return attend_all(deps.due.due(deps.clock()), attention, context) + _drop_records(context)


CLEANUP = ScheduledJob(name=jobruns.CLEANUP, work=sweep)


def run_cleanup_now(deps: Dependencies) -> JobRun:
    """The operator's run; what remains the repair goes on with.

    Raises RequestError (409) where the job is switched off.
    """
    done = run(CLEANUP, Tick(trigger="operator"), deps, until=deps.clock() + _PATIENCE)
    assert done is not None
    return done


def _drop_records(context: JobContext) -> JobReport:
    """Dead letters after 30 days, records of runs after 90, as far as the time goes."""
    deps, now = context.deps, context.deps.clock()
    runs = JobRuns(deps.jobruns_table)
    try:
        through = deps.letters.drop_old(now, context.time_is_up)
        for job in jobruns.JOBS:
            through &= runs.drop_old(job, now, context.time_is_up)
    except StorageUnavailableError as error:
        telemetry.sweep_interrupted(step="old_records", code=error.code)
        return JobReport(failed_rows=1)
    return JobReport(remaining=int(not through))
