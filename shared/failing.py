"""How a draft fails: the reason for a person, the row, its history, and who is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain import lifecycle
from shared.domain.draft import WORKER_LOST, Draft, DraftError, DraftStatus
from shared.domain.events import Event, EventType, event_of
from shared.leftovers import tidy

ATTEMPTS_EXHAUSTED = "ATTEMPTS_EXHAUSTED"

_DETAILS = {
    WORKER_LOST: "Processing this photo stopped our worker again and again. You can try once more.",
    ATTEMPTS_EXHAUSTED: "Processing did not succeed after several attempts. Try again later.",
}
_LAST_WORD = "Processing this photo stops our worker. Choose another photo."


def end_draft(
    draft: Draft, reason: DraftError, deps: Dependencies, *, permanent: bool = False
) -> Draft:
    """Fail a draft that no live run holds; `permanent` says that it is no failure of ours.

    Raises ConflictError when it has changed.
    """
    now = deps.clock()
    failed, events = failed_step(count_lost(draft), reason, now)
    stored = deps.store.save(draft, failed, *events, now=now)
    after_failure(draft, stored, reason, deps, permanent=permanent)
    return stored


def exhausted_error(draft: Draft, now: datetime) -> DraftError:
    """WORKER_LOST where more than half of the runs were lost; it can be retried once."""
    lost = draft.work.lost_runs if draft.work else 0
    if 2 * lost <= draft.attempts:
        return DraftError(
            code=ATTEMPTS_EXHAUSTED,
            detail=_DETAILS[ATTEMPTS_EXHAUSTED],
            retryable=True,
            failed_at=now,
        )
    return DraftError(
        code=WORKER_LOST,
        detail=_LAST_WORD if draft.last_chance else _DETAILS[WORKER_LOST],
        retryable=not draft.last_chance,
        failed_at=now,
    )


def count_lost(draft: Draft) -> Draft:
    """A lease that was never given back is a lost run."""
    if draft.work is None or draft.lease_id is None:
        return draft
    return replace(draft, work=replace(draft.work, lost_runs=draft.work.lost_runs + 1))


def failed_step(draft: Draft, reason: DraftError, now: datetime) -> tuple[Draft, Iterable[Event]]:
    """The failed draft and the event that says so."""
    after = lifecycle.fail(draft, reason, now)
    kind = EventType.FAILED if after.status is DraftStatus.FAILED else EventType.REPROCESS_FAILED
    return after, [event_of(draft, kind, now, code=reason.code)]


def after_failure(
    before: Draft, after: Draft, reason: DraftError, deps: Dependencies, *, permanent: bool
) -> None:
    """The log line, the subscribers, and the blobs that no longer count."""
    work = before.work
    if after.status is DraftStatus.FAILED:
        telemetry.draft_failed(
            reason=work.reason if work else None,
            code=reason.code,
            retryable=reason.retryable,
            permanent=permanent,
            stage=before.stage,
            total_ms=telemetry.milliseconds(work.started_at, reason.failed_at) if work else None,
        )
    tidy(deps.outbox.flush(after, deps.clock()), deps)
