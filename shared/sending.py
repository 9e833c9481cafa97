"""Job messages on their way out, and what becomes of the row where the queue is away."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain import lifecycle
from shared.domain.draft import Draft, Work
from shared.domain.errors import ConflictError, StorageUnavailableError
from shared.domain.events import EventType, event_of
from shared.domain.lifecycle import NO_DELAY
from shared.domain.messages import JobMessage

MAX_RESENDS = 3


def send(draft: Draft, deps: Dependencies, *, delay: timedelta = NO_DELAY) -> None:
    """The message of the wanted work. Where the queue is away, the repair sends it later."""
    with suppress(StorageUnavailableError):
        deps.jobs.send(message_for(draft).encode(), delay=delay)


def send_again(draft: Draft, deps: Dependencies, *, trigger: str) -> Draft:
    """Row first, so that nobody else sends too; a message that is lost is unattended again.

    Raises ConflictError when somebody else attended to the draft, StorageUnavailableError when the
    queue refused the message, which is not counted then, or gave no answer.
    """
    now = deps.clock()
    mark = draft.mark or now
    resent = lifecycle.resend(draft, now)
    event = event_of(resent, EventType.RESENT, now, trigger=trigger)
    stored = deps.store.save(draft, resent, event, now=now)
    assert stored.work is not None
    try:
        deps.jobs.send(message_for(stored).encode())
    except StorageUnavailableError as error:
        if not error.unknown:
            _uncount(stored, replace(stored.work, resends=stored.work.resends - 1), deps)
        raise
    telemetry.draft_resent(
        trigger=trigger,
        resends=stored.work.resends,
        unattended_seconds=max(0, int((now - mark).total_seconds())),
    )
    return stored


def _uncount(stored: Draft, work: Work, deps: Dependencies) -> None:
    """A message that nobody can have is none of the three. Where this fails it counts."""
    with suppress(ConflictError, StorageUnavailableError):
        deps.store.save(stored, replace(stored, work=work), now=deps.clock())


def message_for(draft: Draft) -> JobMessage:
    """The message that asks for the work the row wants."""
    return JobMessage(
        owner_id=draft.owner_id,
        draft_id=draft.id,
        generation=draft.generation,
        skip_segmentation=draft.skip_segmentation,
        traceparent=draft.work.traceparent if draft.work else "",
    )
