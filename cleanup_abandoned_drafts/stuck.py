"""The dead ends of the queues: messages that nobody can be given any more become dead letters."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain.errors import StorageUnavailableError
from shared.ports import Queue, QueueMessage
from shared.records.deadletters import DeadLetter
from shared.records.jobruns import JobReport

_STUCK_DELIVERIES = 3  # a poison queue has no poison queue: its messages come back for ever
_HIDE = timedelta(minutes=1)
_AT_ONCE = 32


def move_stuck(deps: Dependencies) -> JobReport:
    """Poisoned jobs that were delivered three times, and every event that found no receiver."""
    names = deps.settings
    try:
        moved = _move(
            deps.poisoned, deps, least=_STUCK_DELIVERIES, queue=names.image_jobs_poison_queue
        ) + _move(deps.webhooks_poisoned, deps, least=0, queue=names.webhooks_poison_queue)
    except StorageUnavailableError as error:  # they come back, and so does the next tick
        telemetry.due_entry_failed(code=error.code, draft_id="")
        return JobReport(failed_rows=1)
    return JobReport(dead_lettered=moved)


def _move(source: Queue, deps: Dependencies, *, least: int, queue: str) -> int:
    """Only where a peek shows one, so that others are not held up."""
    if not any(found.dequeue_count >= least for found in source.peek(_AT_ONCE)):
        return 0
    moved = 0
    for message in source.receive(_AT_ONCE, hide=_HIDE):
        if message.dequeue_count > least:  # this delivery counted
            deps.letters.keep(_letter(message, queue, deps), name=_name(message))
            source.delete(message)
            moved += 1
        else:
            source.release(message)
    return moved


def _letter(message: QueueMessage, queue: str, deps: Dependencies) -> DeadLetter:
    """Timed by the message, so that a second move keeps one."""
    return DeadLetter(
        at=message.inserted_at,
        queue=queue,
        reason=f"delivered {message.dequeue_count} times and never handled",
        code="STUCK",
        body=message.body,
        dequeue_count=message.dequeue_count,
    )


def _name(message: QueueMessage) -> str:
    return hashlib.sha256(message.id.encode()).hexdigest()[:16]
