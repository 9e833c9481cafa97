"""Alive, and ready: 503 only where nobody can be served, `degraded` where people have to wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Protocol

from shared.api.exchange import Answer, Request, answer
from shared.api.service_views import Degradation, LiveView, ReadyView
from shared.dependencies import Dependencies
from shared.domain.errors import (
    ConflictError,
    RequestError,
    SettingsError,
    StorageUnavailableError,
)
from shared.records.jobruns import CLEANUP, JobRuns
from shared.settings import Settings

# The limits are those of the alarms in infra/monitoring.
_MOST_MESSAGES = 500
_OLDEST_MESSAGE = timedelta(minutes=15)
_CLEANUP_LAG = timedelta(hours=25)
_RECENT = timedelta(hours=24)


class WorkerUsable(Protocol):
    """Whether the worker loads, and its model where that is wanted."""

    def __call__(self, *, with_model: bool) -> bool: ...


def health_live(request: Request) -> Answer:
    """200: the process answers."""
    return answer(200, LiveView())


def health_ready(
    request: Request, *, connect: Callable[[], Dependencies], worker_usable: WorkerUsable
) -> Answer:
    """200 with what is degraded. Raises RequestError (503) naming the settings or services."""
    try:
        deps = connect()
    except SettingsError as error:
        raise RequestError(
            503, error.code, error.public_message, extra={"settings": list(error.faults)}
        ) from error
    _require_storage(deps)
    found = [name for name, is_so in _degradations(deps, worker_usable) if is_so]
    return answer(200, ReadyView(degraded=found))


def _require_storage(deps: Dependencies) -> None:
    reads: dict[str, Callable[[], object]] = {
        "blob": lambda: deps.uploads.info("health"),
        "queue": deps.jobs.depth,
        "table": lambda: deps.drafts_table.get("health", "health"),
    }
    away = [name for name, read in reads.items() if not _answers(read)]
    if away:
        raise RequestError(
            503,
            StorageUnavailableError.code,
            f"No answer from: {', '.join(away)}.",
            retryable=True,
            extra={"unreachable": away},
        )


def _answers(read: Callable[[], object]) -> bool:
    try:
        read()
    except (StorageUnavailableError, ConflictError):
        return False
    return True


def _degradations(
    deps: Dependencies, worker_usable: WorkerUsable
) -> Iterable[tuple[Degradation, bool]]:
    now = deps.clock()
    usable = worker_usable(with_model=_wants_model(deps.settings))
    yield Degradation.MODEL_MISSING, not usable
    yield Degradation.BACKLOG, _has_backlog(deps, now)
    yield Degradation.DEAD_LETTERS, _has_new_letters(deps, now)
    yield Degradation.CLEANUP_LAG, _is_behind(deps, now)


def _wants_model(settings: Settings) -> bool:
    """A remote processor that is away is stood in for with the model too."""
    return settings.segmenter != "classical" or settings.metadata_provider == "model"


def _has_backlog(deps: Dependencies, now: datetime) -> bool:
    oldest = min((message.inserted_at for message in deps.jobs.peek()), default=now)
    return now - oldest > _OLDEST_MESSAGE or deps.jobs.depth() > _MOST_MESSAGES


def _has_new_letters(deps: Dependencies, now: datetime) -> bool:
    """One that nobody has replayed yet, of the last day."""
    for letter in deps.letters.newest(now):
        if letter.at < now - _RECENT:
            return False
        if letter.state == "new":
            return True
    return False


def _is_behind(deps: Dependencies, now: datetime) -> bool:
    """The last night's cleanup did not succeed; a new installation has had no night yet."""
    runs = JobRuns(deps.jobruns_table)
    recent = runs.newest(CLEANUP, since=now - _CLEANUP_LAG)
    if any(run.is_success for run in recent):
        return False
    return any(run.started_at < now - _CLEANUP_LAG for run in runs.newest(CLEANUP))
