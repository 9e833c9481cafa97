"""Photos finished while the caller waits: the same work under the same lease, in this process.

One at a time. The message goes out all the same: with a delay, as a net under the run here, or at
once where the slot is taken. A run here that breaks off hands its draft over to the queue, the one
layer that tries again. What is not finished here is watched until another run has finished it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Lock

from shared import failure_log, telemetry
from shared.api.intake import Photo, UploadOptions, accept
from shared.dependencies import Dependencies
from shared.domain.draft import Draft, DraftStatus
from shared.domain.errors import StorageUnavailableError
from shared.domain.lifecycle import NO_DELAY
from shared.records.idempotency import Begun
from shared.sending import send

NET = timedelta(seconds=120)
PATIENCE = timedelta(seconds=60)
_GLANCE_SECONDS = 0.5
_SLOT = Lock()

type RunHere = Callable[[Draft, Dependencies], None]
type Pause = Callable[[float], None]


def accept_and_wait(
    photos: Sequence[Photo],
    options: UploadOptions,
    deps: Dependencies,
    *,
    run: RunHere,
    pause: Pause = time.sleep,
    key: Begun | None = None,
) -> list[Draft]:
    """The drafts when all are finished, by the run here or by another, or the patience is over."""
    free = _SLOT.acquire(blocking=False)
    start = deps.clock()
    try:
        delayed = replace(options, delay=NET if free else NO_DELAY)
        drafts = accept(photos, delayed, deps, key=key)
        if free:
            _run_all(drafts, deps, run, until=start + PATIENCE)
            drafts = _states(drafts, deps)
    finally:
        if free:
            _SLOT.release()
    return watch(drafts, deps, since=start, pause=pause)


def watch(
    drafts: Sequence[Draft], deps: Dependencies, *, since: datetime, pause: Pause
) -> list[Draft]:
    """The drafts when all are finished, or when the patience of a caller since then is over."""
    seen = list(drafts)
    while deps.clock() - since < PATIENCE and _any_processing(seen):
        pause(_GLANCE_SECONDS)
        seen = _states(seen, deps)
    return seen


def _run_all(drafts: Sequence[Draft], deps: Dependencies, run: RunHere, *, until: datetime) -> None:
    """What finds no time here is left to its message, what fails here gets one without delay."""
    for draft in drafts:
        left = math.ceil((until - deps.clock()).total_seconds())
        if left <= 0:
            return
        try:
            run(draft, _within(left, deps))
        except Exception as error:  # noqa: BLE001  # it is accepted: a message brings the next run
            with telemetry.about(draft):
                failure_log.tell(error, during="run")
                send(draft, deps)


def _within(seconds: int, deps: Dependencies) -> Dependencies:
    """A run here takes no longer than its caller waits; another goes on from its checkpoint."""
    limit = min(seconds, deps.settings.job_time_limit_seconds)
    return replace(deps, settings=replace(deps.settings, job_time_limit_seconds=limit))


def _states(drafts: Sequence[Draft], deps: Dependencies) -> list[Draft]:
    """As they are now; one that is deleted, or cannot be read, stays as it was last seen.

    Nothing raises: the drafts are accepted, and the caller has to learn their ids.
    """
    try:
        found = deps.store.find_many(drafts[0].owner_id, [draft.id for draft in drafts])
    except StorageUnavailableError as error:
        failure_log.tell(error, during="wait")
        return list(drafts)
    return [found.get(draft.id, draft) for draft in drafts]


def _any_processing(drafts: Sequence[Draft]) -> bool:
    return any(draft.status is DraftStatus.PROCESSING for draft in drafts)
