"""The dead ends of the queues: messages that nobody can be given any more become dead letters."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain.errors import StorageUnavailableError
from shared.ports import Queue, QueueMessage
from shared.records.deadletters import DeadLetter, name_of_bytes
from shared.records.jobruns import JobReport

_STUCK_DELIVERIES = 3  # a poison queue has no poison queue: its messages come back for ever
_HIDE = timedelta(minutes=1)
_AT_ONCE = 32
_GLANCE_SECONDS = 0.5
_GLANCES = 480  # four minutes
_GLANCES_A_COUNT = 20


def move_stuck(deps: Dependencies) -> JobReport:
    """Poisoned jobs that were delivered three times, and every event that found no receiver."""
    try:
        moved = _move_jobs(deps) + _move_events(deps)
    except StorageUnavailableError as error:  # they come back, and so does the next tick
        telemetry.sweep_interrupted(step="poison_queues", code=error.code)
        return JobReport(failed_rows=1)
    return JobReport(dead_lettered=moved)


def watch_stuck(
    deps: Dependencies, *, until: datetime, pause: Callable[[float], None] = time.sleep
) -> None:
    """Look at the poison queue until it is empty, at most four minutes.

    The host hides what it cannot hand over for ten minutes and takes it again within seconds of
    its return, so that a single look every five minutes would hardly ever meet it. The tick has to
    be over by `until`, however long its other work took.
    """
    for glance in range(_GLANCES):
        if deps.clock() >= until:
            return
        try:
            if glance % _GLANCES_A_COUNT == 0 and deps.poisoned.depth() == 0:
                return
            _move_jobs(deps)
        except StorageUnavailableError:  # the next tick watches again
            return
        pause(_GLANCE_SECONDS)


def _move_jobs(deps: Dependencies) -> int:
    name = deps.settings.image_jobs_poison_queue
    return _move(deps.poisoned, deps, least=_STUCK_DELIVERIES, queue=name)


def _move_events(deps: Dependencies) -> int:
    name = deps.settings.webhooks_poison_queue
    return _move(deps.webhooks_poisoned, deps, least=0, queue=name)


def _move(source: Queue, deps: Dependencies, *, least: int, queue: str) -> int:
    """Only where a peek shows one, so that others are not held up."""
    if not any(found.dequeue_count >= least for found in source.peek(_AT_ONCE)):
        return 0
    moved = 0
    for message in source.receive(_AT_ONCE, hide=_HIDE):
        if message.dequeue_count > least:  # this delivery counted
            deps.letters.keep(_letter(message, queue), name=name_of_bytes(message.id.encode()))
            source.delete(message)
            moved += 1
        else:
            source.release(message)
    return moved


def _letter(message: QueueMessage, queue: str) -> DeadLetter:
    """Timed by the message, so that a second move keeps one."""
    return DeadLetter(
        at=message.inserted_at,
        queue=queue,
        reason=f"delivered {message.dequeue_count} times and never handled",
        code="STUCK",
        body=message.body,
        dequeue_count=message.dequeue_count,
    )
