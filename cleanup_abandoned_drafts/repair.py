"""Every five minutes: what nobody attends to is sent again, what is unfinished is finished.

A backlog is never multiplied: a draft whose message waits behind the head of the queue is not
unattended. What the nightly cleanup had no time for is gone on with here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta

from cleanup_abandoned_drafts.due_entries import Attention, attend_all
from cleanup_abandoned_drafts.handler import CLEANUP
from cleanup_abandoned_drafts.poison_watch import move_stuck, watch_stuck
from cleanup_abandoned_drafts.policy import Verdict
from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain.errors import StorageUnavailableError
from shared.jobs import JobContext, ScheduledJob, Tick, run
from shared.queue_state import tell_depths
from shared.records import jobruns
from shared.records.due import DueEntry
from shared.records.jobruns import JobReport, JobRuns

_VERDICTS = frozenset({Verdict.RESEND, Verdict.FAIL_STUCK, Verdict.FINISH})
_FRESH = timedelta(hours=1)
_WHOLE_TICK = timedelta(minutes=9)  # functionTimeout is 10: past it the host kills other calls too


def repair(context: JobContext) -> JobReport:
    """Gauges first; then drafts, dead ends of the queues, and the rest of the cleanup."""
    deps = context.deps
    report = JobReport(failed_rows=tell_depths(deps))
    attention = Attention.paid_to(_VERDICTS, deps)
    report += attend_all(_entries(deps), attention, context) + move_stuck(deps)
    return report + _go_on_with_cleanup(context)


def _entries(deps: Dependencies) -> Iterator[DueEntry]:
    """Drafts that people wait for, then deletions; one that storage refuses waits for the night."""
    now = deps.clock()
    yield from (entry for entry in deps.due.due(now) if entry.is_for_repair)
    for entry in deps.due.due(now):
        if entry.deletion and now - entry.due_at < _FRESH:
            yield entry


REPAIR = ScheduledJob(name=jobruns.REPAIR, work=repair)


class NotThroughError(RuntimeError):
    """The repair has not seen all that is due: the host has to run it again soon."""


def repair_and_watch(
    tick: Tick, deps: Dependencies, *, pause: Callable[[float], None] = time.sleep
) -> None:
    """A tick of the timer: the job, and afterwards an eye on what is stuck in the poison queue.

    Raises NotThroughError after a run that is recorded as partial with something remaining.
    """
    done = run(REPAIR, tick, deps)
    if done is None:
        return
    if done.report.remaining:
        raise NotThroughError(f"{done.report.remaining} or more are left")
    watch_stuck(deps, until=done.started_at + _WHOLE_TICK, pause=pause)


def _go_on_with_cleanup(context: JobContext) -> JobReport:
    """The cleanup records what it does itself; here only that it could not be gone on with."""
    try:
        last = next(JobRuns(context.deps.jobruns_table).newest(CLEANUP.name), None)
        if last is not None and last.report.remaining and not context.time_is_up():
            run(CLEANUP, Tick(trigger="repair"), context.deps, until=context.deadline)
    except StorageUnavailableError as error:
        telemetry.sweep_interrupted(step="cleanup", code=error.code)
        return JobReport(failed_rows=1)
    return JobReport()
