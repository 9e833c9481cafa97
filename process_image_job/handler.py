"""The queue worker. One message, one draft, one run; the row decides everything.

Returns when the message is done: the draft is final, or there was nothing to do. Raises when the
message has to come back. Swallows nothing but what the row already says.
"""

from __future__ import annotations

from collections.abc import Callable

from process_image_job.delivery import Delivery
from process_image_job.endings import end_exhausted, end_run, keep_malformed
from process_image_job.job import Job
from process_image_job.stages import DEGRADED_DELAY, finish, run_stages
from process_image_job.tools import Tools
from shared import telemetry
from shared.claims import Exhausted, LeaseLostError, Run, Skipped, claim, reason_to_skip
from shared.dependencies import Dependencies
from shared.domain.draft import WorkReason
from shared.domain.errors import (
    BadImageError,
    ClaimHeldError,
    IngestError,
    MalformedMessageError,
    MessageAheadError,
    ProcessorUnavailableError,
)
from shared.domain.lifecycle import give_back, postpone
from shared.domain.messages import JobMessage
from shared.leftovers import remove_own
from shared.sending import send


def process_image_job(
    body: bytes, *, dequeue_count: int, deps: Dependencies, tools: Callable[[], Tools]
) -> None:
    """Bring the draft of this message to Ready or Failed, unless somebody else does or did."""
    queue = deps.settings.image_jobs_queue
    try:
        message = JobMessage.parse(body)
    except MalformedMessageError as error:
        keep_malformed(body, error.reason, queue=queue, dequeue_count=dequeue_count, deps=deps)
        return
    run_job(
        Delivery(message=message, body=body, dequeue_count=dequeue_count, queue=queue),
        deps=deps,
        tools=tools,
    )


def run_job(delivery: Delivery, *, deps: Dependencies, tools: Callable[[], Tools]) -> None:
    """The same for a message that is understood, whoever brings it."""
    with telemetry.about_message(delivery.message):
        match _claim(delivery, deps):
            case Skipped(why):
                telemetry.job_skipped(why=why, dequeue_count=delivery.dequeue_count)
            case Exhausted(draft):
                end_exhausted(draft, delivery, deps)
            case Run() as run:
                with telemetry.about(run.draft, delivery.message.traceparent):
                    _work(Job(run=run, delivery=delivery, deps=deps, tools=tools))


def _claim(delivery: Delivery, deps: Dependencies) -> Run | Skipped | Exhausted:
    try:
        return claim(delivery.message, store=deps.store, settings=deps.settings, clock=deps.clock)
    except ClaimHeldError:
        telemetry.job_skipped(why="lease_live", dequeue_count=delivery.dequeue_count)
        raise
    except MessageAheadError:
        telemetry.job_skipped(why="ahead_of_row", dequeue_count=delivery.dequeue_count)
        raise


def _work(job: Job) -> None:
    """The run itself, and every way in which it can end badly."""
    try:
        with job.run:
            job.tell_started()
            run_stages(job)
            finish(job)
    except LeaseLostError:
        _step_aside(job)
    except Exception as error:
        if not _settled(job, error):
            raise


def _settled(job: Job, error: Exception) -> bool:
    """Say on the row how the run ended; whether its message is done with that.

    Saying it may be how the run learns that its lease is lost.
    """
    try:
        if isinstance(error, BadImageError) or job.run.is_last:
            end_run(job, error)
        elif isinstance(error, ProcessorUnavailableError) and job.reason is WorkReason.DEGRADED:
            _try_later(job)
        else:
            _give_back(job, error)
            return False
    except LeaseLostError:
        _step_aside(job)
    return True


def _step_aside(job: Job) -> None:
    """The lease was lost: remove what only this run wrote; wait where work is still wanted."""
    remove_own(job.run.draft, job.deps)
    message = job.delivery.message
    row = job.deps.store.find(message.owner_id, message.draft_id)
    if reason_to_skip(row, message) is None:
        raise LeaseLostError


def _try_later(job: Job) -> None:
    """The remote processor is still away: this message is done, a delayed one follows."""
    draft = job.run.apply(lambda draft, now: (postpone(draft, now, DEGRADED_DELAY), ()))
    send(draft, job.deps, delay=DEGRADED_DELAY)


def _give_back(job: Job, error: Exception) -> None:
    """Another run may start at once; where even this fails, the lease runs out by itself."""
    telemetry.run_failed(
        code=error.code if isinstance(error, IngestError) else type(error).__name__,
        stage=str(job.run.draft.stage),
        duration_ms=job.elapsed_ms(),
        dequeue_count=job.delivery.dequeue_count,
    )
    try:
        job.run.apply(lambda draft, now: (give_back(draft, now), ()))
    except LeaseLostError:
        raise
    except IngestError as second:
        raise error from second
