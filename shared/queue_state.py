"""The queues as timers and operators see them: how long, how old, how far the worker has come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain.errors import MalformedMessageError, StorageUnavailableError
from shared.domain.messages import JobMessage
from shared.ports import Queue, QueueMessage


def head_of(deps: Dependencies) -> datetime:
    """The oldest mark that a message at the head of the queue speaks for; none: now.

    What waits behind the head is not unattended, however long it has waited.
    """
    marks = [mark for found in deps.jobs.peek() if (mark := _mark_of(found, deps)) is not None]
    return min(marks, default=deps.clock())


def _mark_of(found: QueueMessage, deps: Dependencies) -> datetime | None:
    """Of the row that the message names. One that cannot be read is no younger than its message."""
    try:
        message = JobMessage.parse(found.body)
        draft = deps.store.find(message.owner_id, message.draft_id)
    except MalformedMessageError:
        return None
    except (StorageUnavailableError, ValueError):  # storage is away, or the row is damaged
        return found.inserted_at
    if draft is None or draft.generation != message.generation:
        return None
    return draft.mark


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueState:
    """A queue at one moment."""

    name: str
    messages: int  # about; hidden ones too
    oldest_age_seconds: int | None  # of 32 visible messages; null when none is visible


def states(deps: Dependencies) -> Iterator[QueueState]:
    """Of every queue that we read."""
    for name, queue in _queues(deps):
        yield _state(name, queue, deps.clock())


def tell_depths(deps: Dependencies) -> int:
    """The gauges; how many could not be read. None of them stops the others."""
    failed = 0
    for name, queue in _queues(deps):
        try:
            state = _state(name, queue, deps.clock())
        except StorageUnavailableError:
            failed += 1
            continue
        telemetry.queue_depth(
            queue=state.name,
            messages=state.messages,
            oldest_age_seconds=state.oldest_age_seconds,
        )
    return failed


def _queues(deps: Dependencies) -> tuple[tuple[str, Queue], ...]:
    names = deps.settings
    return (
        (names.image_jobs_queue, deps.jobs),
        (names.image_jobs_poison_queue, deps.poisoned),
        (names.webhooks_queue, deps.webhooks),
        (names.webhooks_poison_queue, deps.webhooks_poisoned),
    )


def _state(name: str, queue: Queue, now: datetime) -> QueueState:
    age = _oldest_age(queue, now)
    return QueueState(name=name, messages=queue.depth(), oldest_age_seconds=age)


def _oldest_age(queue: Queue, now: datetime) -> int | None:
    put_in = [found.inserted_at for found in queue.peek()]
    return max(0, int((now - min(put_in)).total_seconds())) if put_in else None
