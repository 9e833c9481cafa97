"""The bad endings: why a draft failed, said on its row, in its history and as a dead letter.

The dead letter comes first and is named by the draft's generation: where the row's write is lost,
the next delivery says both again, and one letter is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from process_image_job.delivery import Delivery
from process_image_job.leftovers import remove_leftovers
from process_image_job.stages import Job
from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain import lifecycle
from shared.domain.draft import Draft, DraftError, DraftStatus
from shared.domain.errors import BadImageError
from shared.domain.events import Event, EventType, event_of
from shared.records.deadletters import DeadLetter, letter_of, name_of

WORKER_LOST = "WORKER_LOST"
ATTEMPTS_EXHAUSTED = "ATTEMPTS_EXHAUSTED"

_DETAILS = {
    WORKER_LOST: "Processing this photo stopped our worker again and again. You can try once more.",
    ATTEMPTS_EXHAUSTED: "Processing did not succeed after several attempts. Try again later.",
}
_LAST_WORD = "Processing this photo stops our worker. Choose another photo."


def keep_malformed(
    body: bytes, reason: str, *, queue: str, dequeue_count: int, deps: Dependencies
) -> None:
    """A message nobody understands is kept at its first delivery; it never comes back."""
    letter = DeadLetter(
        at=deps.clock(),
        queue=queue,
        reason=reason,
        code="MALFORMED",
        body=body,
        dequeue_count=dequeue_count,
    )
    deps.letters.keep(letter, name=hashlib.sha256(body).hexdigest()[:16])


def end_run(job: Job, error: Exception) -> None:
    """The run that holds the lease ends the draft: a bad picture at once, others at the last."""
    draft = job.run.draft
    if isinstance(error, BadImageError):
        reason = DraftError(
            code=error.code, detail=error.detail, retryable=False, failed_at=job.deps.clock()
        )
    else:
        reason = exhausted_error(draft, job.deps.clock())
        keep_letter(draft, job.delivery, reason, str(error), job.deps)
    stored = job.run.apply(lambda row, now: _failed(row, reason, now))
    tell_failed(draft, stored, reason, job.deps, permanent=isinstance(error, BadImageError))


def end_exhausted(draft: Draft, delivery: Delivery, deps: Dependencies) -> None:
    """No run may start any more. Raises ConflictError when somebody else changed the draft."""
    counted = _count_lost(draft)
    with telemetry.about(draft, delivery.message.traceparent):
        reason = exhausted_error(counted, deps.clock())
        keep_letter(counted, delivery, reason, "no attempts left", deps)
        end_draft(draft, reason, deps)


def end_draft(draft: Draft, reason: DraftError, deps: Dependencies) -> Draft:
    """Fail a draft that no live run holds. Raises ConflictError when it has changed."""
    now = deps.clock()
    failed, events = _failed(_count_lost(draft), reason, now)
    stored = deps.store.save(draft, failed, *events, now=now)
    tell_failed(draft, stored, reason, deps, permanent=False)
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


def keep_letter(
    draft: Draft, delivery: Delivery, reason: DraftError, why: str, deps: Dependencies
) -> None:
    letter = letter_of(
        draft,
        body=delivery.body,
        queue=delivery.queue,
        code=reason.code,
        reason=why[:1000],
        dequeue_count=delivery.dequeue_count,
    )
    deps.letters.keep(letter, name=name_of(draft))


def tell_failed(
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
    deps.outbox.flush(after, deps.clock())
    remove_leftovers(after, deps)


def _failed(draft: Draft, reason: DraftError, now: datetime) -> tuple[Draft, Iterable[Event]]:
    after = lifecycle.fail(draft, reason, now)
    kind = EventType.FAILED if after.status is DraftStatus.FAILED else EventType.REPROCESS_FAILED
    return after, [event_of(draft, kind, now, code=reason.code)]


def _count_lost(draft: Draft) -> Draft:
    """A lease that was never given back is a lost run."""
    if draft.work is None or draft.lease_id is None:
        return draft
    return replace(draft, work=replace(draft.work, lost_runs=draft.work.lost_runs + 1))
