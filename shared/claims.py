"""The idempotency guard: one run at a time works on a draft, and a lost run is taken over.

    message ──▶ claim ──▶ lease 30 s ──renewed every 10 s──▶ finish | fail | give back
                  │          │
                  │          └── worker dies: the lease runs out; the next delivery takes over
                  ├── missing, no work wanted, older generation: acknowledged
                  ├── lease live elsewhere, newer generation than the row: raises, comes back
                  └── attempts used up: the caller fails the draft

Every step is a conditional write. A run that wakes up late finds another lease on the row (or
none), and learns so from LeaseLostError: it may only remove what it wrote.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from threading import Event as Signal
from threading import Lock, Thread

from shared import telemetry
from shared.domain import lifecycle
from shared.domain.draft import Draft, WorkReason
from shared.domain.errors import (
    ClaimHeldError,
    ConflictError,
    MessageAheadError,
    StorageUnavailableError,
    TransientError,
)
from shared.domain.events import Event, EventType, event_of
from shared.domain.messages import JobMessage
from shared.records.drafts import DraftStore
from shared.settings import Settings

type Clock = Callable[[], datetime]
type Step = Callable[[Draft, datetime], tuple[Draft, Iterable[Event]]]

_RACES = 5  # conditional writes tried before the message has to come back
_DEGRADED_TRIES = 3


class LeaseLostError(TransientError):
    """Another run, a person or the sweep has changed what is wanted; this run is over."""

    code = "LEASE_LOST"


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing to do: acknowledge the message."""

    why: str  # missing | done | older_generation


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The attempts are used up and no run holds the draft: it has to be failed."""

    draft: Draft


def attempt_limit(draft: Draft, settings: Settings) -> int:
    """Runs that this generation may start."""
    if draft.work is not None and draft.work.reason is WorkReason.DEGRADED:
        return _DEGRADED_TRIES
    return 1 if draft.last_chance else settings.max_attempts


def claim(
    message: JobMessage, *, store: DraftStore, settings: Settings, clock: Clock
) -> Run | Skipped | Exhausted:
    """Take the lease, or say why not. Raises ClaimHeldError or MessageAheadError to wait."""
    for _ in range(_RACES):
        draft = store.find(message.owner_id, message.draft_id)
        if why := reason_to_skip(draft, message):
            return Skipped(why)
        assert draft is not None
        now = clock()
        _wait_for_others(draft, message, now)
        if draft.attempts >= attempt_limit(draft, settings):
            return Exhausted(draft)
        try:
            return _take(draft, store, settings, clock)
        except ConflictError:
            continue
    raise StorageUnavailableError("the draft kept changing", unknown=False)


def reason_to_skip(draft: Draft | None, message: JobMessage) -> str | None:
    """Why this message can be acknowledged without work, or None."""
    if draft is None:
        return "missing"
    if draft.work is None:
        return "done"
    return "older_generation" if message.generation < draft.generation else None


def _wait_for_others(draft: Draft, message: JobMessage, now: datetime) -> None:
    """Raises while the message has to wait; work that others may still lose is never dropped."""
    if message.generation > draft.generation:
        raise MessageAheadError
    if draft.lease_live(now):
        assert draft.lease_expires_at is not None
        raise ClaimHeldError(draft.lease_expires_at)


def _take(draft: Draft, store: DraftStore, settings: Settings, clock: Clock) -> Run:
    now, lease_id = clock(), uuid.uuid4().hex
    leased = lifecycle.take_lease(draft, lease_id, now, settings.lease)
    events = [event_of(leased, EventType.ATTEMPT_STARTED, now)]
    if draft.lease_id is not None:
        events.insert(0, event_of(leased, EventType.LEASE_TAKEN_OVER, now))
    stored = store.save(draft, leased, *events, now=now)
    if draft.lease_id is not None and draft.lease_expires_at is not None and stored.work:
        telemetry.lease_taken_over(
            lost_runs=stored.work.lost_runs,
            overdue_ms=telemetry.milliseconds(draft.lease_expires_at, now),
        )
    return Run(stored, lease_id=lease_id, store=store, settings=settings, clock=clock)


class Run(AbstractContextManager["Run"]):
    """One run that holds the lease. Its heartbeat and its writes never race each other.

    As a context manager it keeps the lease alive until the end or the job's time limit.
    """

    def __init__(
        self, draft: Draft, *, lease_id: str, store: DraftStore, settings: Settings, clock: Clock
    ) -> None:
        self.draft = draft
        self.lease_id = lease_id
        self.started_at = clock()
        self.is_last = draft.attempts >= attempt_limit(draft, settings)
        self._store = store
        self._settings = settings
        self._clock = clock
        self._writing = Lock()
        self._over = Signal()
        self._heart = Thread(target=self._beat, name=f"heartbeat-{draft.id}", daemon=True)

    def __enter__(self) -> Run:
        self._heart.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._heart.join()

    @property
    def deadline(self) -> datetime:
        return self.started_at + self._settings.job_time_limit

    def apply(self, step: Step) -> Draft:
        """Store `step` of the newest row while this run holds it.

        The row may have gained a person's edit or a heartbeat meanwhile: the step is applied
        again to what is there. Raises LeaseLostError when the lease is another's or nobody's.
        """
        with self._writing:
            for _ in range(_RACES):
                self._require_lease(self.draft)
                now = self._clock()
                after, events = step(self.draft, now)
                try:
                    self.draft = self._store.save(self.draft, after, *events, now=now)
                except ConflictError:
                    before = self.draft
                    self._read_again()
                    if self.draft.stage is after.stage is not before.stage:
                        return self.draft  # ours alone moves it: that write came through
                else:
                    return self.draft
            raise StorageUnavailableError("the draft kept changing", unknown=False)

    def _read_again(self) -> None:
        row = self._store.find(self.draft.owner_id, self.draft.id)
        if row is None:
            raise LeaseLostError
        self._require_lease(row)
        self.draft = row

    def _require_lease(self, row: Draft) -> None:
        if row.lease_id != self.lease_id:
            raise LeaseLostError

    def _beat(self) -> None:
        every = self._settings.heartbeat_seconds
        while not self._over.wait(every) and self._clock() < self.deadline:
            try:
                self.apply(self._renewed)
            except LeaseLostError:
                return  # the run's own next write meets it too
            except StorageUnavailableError:
                continue  # the lease outlives two missed beats

    def _renewed(self, draft: Draft, now: datetime) -> tuple[Draft, Iterable[Event]]:
        return lifecycle.renew_lease(draft, now, self._settings.lease), ()
