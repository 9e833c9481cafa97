"""The bad endings: why a draft failed, said on its row, in its history and as a dead letter.

The dead letter comes first and is named by the draft's generation: where the row's write is lost,
the next delivery says both again, and one letter is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from process_image_job.delivery import Delivery
from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain.draft import Draft, DraftError
from shared.domain.errors import BadImageError
from shared.failing import after_failure, count_lost, end_draft, exhausted_error, failed_step
from shared.records.deadletters import DeadLetter, letter_of, name_of, name_of_bytes

if TYPE_CHECKING:  # the poison handler has no need of the image libraries
    from process_image_job.job import Job


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
    deps.letters.keep(letter, name=name_of_bytes(body))


def end_run(job: Job, error: Exception) -> None:
    """The run that holds the lease ends the draft: a bad picture at once, others at the last."""
    draft = job.run.draft
    if isinstance(error, BadImageError):
        reason = DraftError(
            code=error.code, detail=error.detail, retryable=False, failed_at=job.deps.clock()
        )
    else:
        reason = exhausted_error(draft, job.deps.clock())
        _keep_letter(draft, job.delivery, reason, str(error), job.deps)
    stored = job.run.apply(lambda row, now: failed_step(row, reason, now))
    after_failure(draft, stored, reason, job.deps, permanent=isinstance(error, BadImageError))


def end_exhausted(
    draft: Draft, delivery: Delivery, deps: Dependencies, *, why: str = "no attempts left"
) -> None:
    """No run may start any more. Raises ConflictError when somebody else changed the draft."""
    counted = count_lost(draft)
    with telemetry.about(draft, delivery.message.traceparent):
        reason = exhausted_error(counted, deps.clock())
        _keep_letter(counted, delivery, reason, why, deps)
        end_draft(draft, reason, deps)


def _keep_letter(
    draft: Draft, delivery: Delivery, reason: DraftError, why: str, deps: Dependencies
) -> None:
    """The dead letter of a draft's end; the same generation keeps it once."""
    letter = letter_of(
        draft,
        body=delivery.body,
        queue=delivery.queue,
        code=reason.code,
        reason=why[:1000],
        dequeue_count=delivery.dequeue_count,
    )
    deps.letters.keep(letter, name=name_of(draft))
