"""The last word on a message that the host gave up on.

A poison queue has no poison queue of its own and a raise hides a message for ten minutes, so
waiting is done by sending the message again with a delay. A draft is failed only when no live run
holds it and nothing else is left to try; handling the same message twice changes nothing.
"""

from __future__ import annotations

from datetime import timedelta

from process_image_job.delivery import Delivery
from process_image_job.endings import end_exhausted, keep_malformed
from shared import telemetry
from shared.claims import attempt_limit, reason_to_skip
from shared.dependencies import Dependencies
from shared.domain.draft import Draft
from shared.domain.errors import ConflictError, MalformedMessageError
from shared.domain.messages import JobMessage
from shared.records.deadletters import DeadLetter
from shared.sending import MAX_RESENDS, send_again

_PAST_THE_LEASE = timedelta(seconds=5)
_AFTER_A_RACE = timedelta(seconds=5)


def handle_poison(body: bytes, *, dequeue_count: int, deps: Dependencies) -> None:
    """Dead letter, once more, or the end of the draft. Raises only for storage that is away."""
    queue = deps.settings.image_jobs_poison_queue
    try:
        message = JobMessage.parse(body)
    except MalformedMessageError as error:
        keep_malformed(body, error.reason, queue=queue, dequeue_count=dequeue_count, deps=deps)
        return
    delivery = Delivery(message=message, body=body, dequeue_count=dequeue_count, queue=queue)
    with telemetry.about_message(message):
        draft = deps.store.find(message.owner_id, message.draft_id)
        if draft is None or _is_over(draft, message):
            _keep_late(delivery, reason_to_skip(draft, message) or "ahead_of_row", deps)
            return
        with telemetry.about(draft, message.traceparent):
            _decide(draft, delivery, deps)


def _is_over(draft: Draft, message: JobMessage) -> bool:
    return reason_to_skip(draft, message) is not None or message.generation > draft.generation


def _decide(draft: Draft, delivery: Delivery, deps: Dependencies) -> None:
    now = deps.clock()
    try:
        if draft.lease_live(now) and draft.lease_expires_at is not None:
            _once_more(delivery, draft.lease_expires_at - now + _PAST_THE_LEASE, deps)
        elif _may_run_again(draft, deps):
            send_again(draft, deps, trigger="poison")
        else:
            end_exhausted(draft, delivery, deps, why="given up by the host")
    except ConflictError:  # somebody changed the draft: look again soon
        _once_more(delivery, _AFTER_A_RACE, deps)


def _may_run_again(draft: Draft, deps: Dependencies) -> bool:
    resends = draft.work.resends if draft.work else 0
    return draft.attempts < attempt_limit(draft, deps.settings) and resends < MAX_RESENDS


def _once_more(delivery: Delivery, delay: timedelta, deps: Dependencies) -> None:
    deps.poisoned.send(delivery.message.encode(), delay=delay)


def _keep_late(delivery: Delivery, why: str, deps: Dependencies) -> None:
    letter = DeadLetter(
        at=deps.clock(),
        queue=delivery.queue,
        reason=f"given up by the host; its draft: {why}",
        code="POISONED",
        body=delivery.body,
        dequeue_count=delivery.dequeue_count,
        owner_id=delivery.message.owner_id,
        draft_id=delivery.message.draft_id,
        generation=delivery.message.generation,
    )
    deps.letters.keep(letter, name=f"{delivery.message.draft_id}-late")
