"""The nightly cleanup: what is due is ended or deleted, oldest first, as far as the time goes."""

from __future__ import annotations

from cleanup_abandoned_drafts.attending import Attention, attend_all
from cleanup_abandoned_drafts.policy import Verdict
from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain.errors import IngestError
from shared.jobs import ScheduledJob, Tick, Turn, run
from shared.records.jobruns import JobReport, JobRun, JobRuns

_VERDICTS = frozenset(Verdict) - {Verdict.WAIT, Verdict.RESEND}  # the repair sends again
_RECORDED = ("cleanup_abandoned_drafts", "repair_unattended_drafts")


def sweep(turn: Turn) -> JobReport:
    """Abandoned uploads, stuck drafts, old failed ones, tombstones, expired keys."""
    deps = turn.deps
    attention = Attention.paid_to(_VERDICTS, deps)
    return attend_all(deps.due.due(deps.clock()), attention, turn) + _drop_records(deps)


CLEANUP = ScheduledJob(name="cleanup_abandoned_drafts", work=sweep)


def run_cleanup_now(deps: Dependencies) -> JobRun:
    """The operator's run. Raises RequestError (409) where the job is switched off."""
    done = run(CLEANUP, Tick(trigger="operator"), deps)
    assert done is not None
    return done


def _drop_records(deps: Dependencies) -> JobReport:
    """Dead letters after 30 days, records of runs after 90; what cannot be dropped waits."""
    now, runs = deps.clock(), JobRuns(deps.jobruns_table)
    try:
        deps.letters.drop_old(now)
        for job in _RECORDED:
            runs.drop_old(job, now)
    except IngestError as error:
        telemetry.due_entry_failed(code=error.code, draft_id="")
        return JobReport(failed_rows=1)
    return JobReport()
