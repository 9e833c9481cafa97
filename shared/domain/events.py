"""The history of a draft: one event per thing that happened, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from shared.domain.draft import Draft

MAX_EVENTS = 200  # a draft
MAX_PROGRESS_EVENTS = 150  # progress stops here; of the final events after it the newest are kept


class EventType(StrEnum):
    """What happened."""

    CREATED = "Created"
    SUBMITTED = "Submitted"
    ATTEMPT_STARTED = "AttemptStarted"
    LEASE_TAKEN_OVER = "LeaseTakenOver"
    SEGMENTED = "Segmented"
    RENDERED = "Rendered"
    ANALYZED = "Analyzed"
    RESENT = "Resent"
    READY = "Ready"
    FAILED = "Failed"
    RETRIED = "Retried"
    REPROCESSED = "Reprocessed"
    REPROCESS_FAILED = "ReprocessFailed"
    EDITED = "Edited"
    ACCEPT_REQUESTED = "AcceptRequested"
    ACCEPTED = "Accepted"


FINAL_EVENTS = frozenset({EventType.READY, EventType.FAILED, EventType.ACCEPTED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One entry; `seq` is counted on the draft row in the same transaction."""

    type: EventType
    at: datetime
    seq: int = 0  # given by the store
    generation: int = 1
    attempt: int = 0
    data: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    unsent: bool = False  # still has to go out to subscribers


def event_of(draft: Draft, kind: EventType, now: datetime, **data: str | int | bool) -> Event:
    """An event of the draft's current generation and run."""
    return Event(
        type=kind, at=now, generation=draft.generation, attempt=draft.attempts, data=dict(data)
    )
