"""What the people on call do: see how things stand, look into dead letters, set things going again.

Plain functions that return frozen values; the API turns them into answers. The cleanup itself is
run by `cleanup_abandoned_drafts.handler.run_cleanup_now`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain.draft import Draft, DraftStatus
from shared.domain.errors import ConflictError, IngestError, MalformedMessageError, RequestError
from shared.domain.ids import draft_row_key
from shared.domain.messages import JobMessage
from shared.domain.retention import unattended
from shared.queue_state import QueueState, head_of, states
from shared.records.deadletters import DeadLetter
from shared.records.jobruns import JOBS, JobRun, JobRuns
from shared.retrying import retry_for_operator
from shared.sending import send_again

_RUNS_LOOKED_AT = 1000  # of the repair: over three days


@dataclass(frozen=True, kw_only=True, slots=True)
class JobState:
    """How a scheduled job fares."""

    job: str
    enabled: bool
    last_run: JobRun | None
    last_success_at: datetime | None
    last_success_age_seconds: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """How things stand at `at`."""

    at: datetime
    queues: tuple[QueueState, ...]
    jobs: tuple[JobState, ...]
    new_dead_letters: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryReport:
    """Which failed drafts were found, and how many of them are on their way again."""

    matched: int
    retried: int
    draft_ids: tuple[str, ...]
    dry_run: bool


def summary(deps: Dependencies) -> Summary:
    """Queues, jobs and dead letters. Raises StorageUnavailableError."""
    now = deps.clock()
    letters = deps.letters.newest(now)
    return Summary(
        at=now,
        queues=tuple(states(deps)),
        jobs=tuple(_job_state(job, deps) for job in JOBS),
        new_dead_letters=sum(letter.state == "new" for letter in letters),
    )


def dead_letters(deps: Dependencies, *, most: int = 100) -> list[DeadLetter]:
    """The newest of those that are kept. Raises StorageUnavailableError."""
    return list(islice(deps.letters.newest(deps.clock()), most))


def replay(letter_id: str, deps: Dependencies) -> DeadLetter:
    """Send what a dead letter speaks of once more, where that is safe.

    Raises RequestError: 404 for an unknown letter, 409 NOT_REPLAYABLE where nothing waits for it,
    or its draft cannot be read. The letter is kept then.
    """
    letter = deps.letters.find(letter_id)
    if letter is None:
        raise RequestError(404, "NOT_FOUND", "There is no such dead letter.")
    if letter.queue == deps.settings.webhooks_poison_queue:
        _replay_event(letter, deps)
    else:
        _replay_draft(letter, deps)
    with suppress(ConflictError):  # somebody replayed it at the same moment: the draft decides
        deps.letters.mark_replayed(letter)
    return deps.letters.find(letter_id) or letter


def retry_failed(
    deps: Dependencies,
    *,
    code: str | None = None,
    since: datetime | None = None,
    most: int = 100,
    dry_run: bool = False,
) -> RetryReport:
    """Retry failed drafts that may be retried, those longest failed first; not counted.

    The due index knows them all, since each is purged one day. A draft that changed meanwhile, or
    whose message cannot be sent, is left out of `retried`.
    """
    found = list(islice(_failed_drafts(deps, code, since), most))
    retried = 0 if dry_run else sum(_retried(draft, deps) for draft in found)
    return RetryReport(
        matched=len(found),
        retried=retried,
        draft_ids=tuple(draft.id for draft in found),
        dry_run=dry_run,
    )


def _job_state(job: str, deps: Dependencies) -> JobState:
    runs = list(islice(JobRuns(deps.jobruns_table).newest(job), _RUNS_LOOKED_AT))
    success = next((run.finished_at for run in runs if run.is_success), None)
    age = int((deps.clock() - success).total_seconds()) if success else None
    return JobState(
        job=job,
        enabled=deps.settings.job_enabled(job),
        last_run=runs[0] if runs else None,
        last_success_at=success,
        last_success_age_seconds=age,
    )


def _replay_event(letter: DeadLetter, deps: Dependencies) -> None:
    try:
        text = letter.body.decode()
    except UnicodeDecodeError as error:
        raise _not_replayable("This message is no text.") from error
    deps.webhooks.send(text)


def _replay_draft(letter: DeadLetter, deps: Dependencies) -> Draft:
    draft = _draft_of(letter, deps)
    if draft is None:
        raise _not_replayable("No draft waits for this message.")
    try:
        if draft.status is DraftStatus.FAILED:
            return retry_for_operator(draft, deps)
        if unattended(draft, head_of(deps), deps.clock()):
            with telemetry.about(draft):
                return send_again(draft, deps, trigger="operator")
    except ConflictError as error:
        raise _not_replayable("The draft changed in the meantime.") from error
    except RequestError as error:
        raise _not_replayable(error.detail) from error
    raise _not_replayable(f"The draft is {draft.status} and somebody attends to it.")


def _draft_of(letter: DeadLetter, deps: Dependencies) -> Draft | None:
    owner_id, draft_id = letter.owner_id, letter.draft_id
    if owner_id is None or draft_id is None:
        try:
            message = JobMessage.parse(letter.body)
        except MalformedMessageError:
            return None
        owner_id, draft_id = message.owner_id, message.draft_id
    try:
        return deps.store.find(owner_id, draft_id)
    except ValueError as error:
        telemetry.row_unreadable(
            kind="Draft", row_key=draft_row_key(draft_id), code=type(error).__name__
        )
        raise _not_replayable("The row of its draft cannot be read: mend it first.") from error


def _not_replayable(why: str) -> RequestError:
    return RequestError(409, "NOT_REPLAYABLE", why)


def _failed_drafts(deps: Dependencies, code: str | None, since: datetime | None) -> Iterator[Draft]:
    for entry in deps.due.everything():
        if not entry.is_draft or entry.queued_at is not None:
            continue
        try:
            draft = deps.store.load(entry.owner_key, entry.row_key)
        except ValueError as error:  # the row is damaged: it is told, and the others go on
            telemetry.due_entry_failed(code=type(error).__name__, draft_id=entry.draft_id)
            continue
        if draft is not None and draft.due_at == entry.due_at and _matches(draft, code, since):
            yield draft


def _matches(draft: Draft, code: str | None, since: datetime | None) -> bool:
    error = draft.error
    if draft.status is not DraftStatus.FAILED or draft.deleted_at or error is None:
        return False
    wanted = code is None or error.code == code
    return error.retryable and wanted and (since is None or error.failed_at >= since)


def _retried(draft: Draft, deps: Dependencies) -> bool:
    try:
        retry_for_operator(draft, deps)
    except IngestError:
        return False
    return True
