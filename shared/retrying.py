"""Failed once more into Processing: by the owner, within a limit, or by an operator."""

from __future__ import annotations

from dataclasses import replace

from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain import lifecycle
from shared.domain.draft import Draft, DraftStatus, Stage
from shared.domain.errors import IngestError, RequestError, StorageUnavailableError
from shared.domain.events import EventType, event_of
from shared.sending import message_for


def retry(draft: Draft, deps: Dependencies, *, traceparent: str) -> Draft:
    """The owner's retry. Raises RequestError (409), ConflictError when the draft has changed.

    Where the queue is away the row goes back to Failed with its old error and
    StorageUnavailableError is raised; where even that fails, the repair sends the message.
    """
    _require_retryable(draft)
    if draft.retry_count >= deps.settings.max_retries:
        text = f"This draft was retried {draft.retry_count} times already."
        raise RequestError(409, "RETRY_LIMIT", text, extra={"currentStatus": draft.status})
    wanted = lifecycle.retry(
        _with_usable_checkpoint(draft, deps), deps.clock(), traceparent=traceparent
    )
    return _send(draft, wanted, deps, trigger="user")


def retry_for_operator(draft: Draft, deps: Dependencies) -> Draft:
    """The same, not counted: the owner's tries stay. Raises like `retry`."""
    _require_retryable(draft)
    wanted = lifecycle.retry(
        _with_usable_checkpoint(draft, deps),
        deps.clock(),
        traceparent=telemetry.new_traceparent(),
    )
    return _send(draft, replace(wanted, retry_count=draft.retry_count), deps, trigger="operator")


def _send(draft: Draft, wanted: Draft, deps: Dependencies, *, trigger: str) -> Draft:
    """Row, then message."""
    now = deps.clock()
    event = event_of(wanted, EventType.RETRIED, now, trigger=trigger)
    retried = deps.store.save(draft, wanted, event, now=now)
    try:
        deps.jobs.send(message_for(retried).encode())
    except StorageUnavailableError as error:
        if _taken_back(draft, retried, deps):
            raise StorageUnavailableError("The queue is not available. Try again.") from error
    _tell(draft, retried, trigger)
    return retried


def _require_retryable(draft: Draft) -> None:
    """Raises RequestError (409) where trying again is not possible or cannot help."""
    now_is: dict[str, object] = {"currentStatus": draft.status}
    if draft.status is not DraftStatus.FAILED or draft.error is None:
        text = f"Only a Failed draft can be retried; this one is {draft.status}."
        raise RequestError(409, "NOT_FAILED", text, extra=now_is)
    if not draft.error.retryable:
        text = f"Trying again cannot help: {draft.error.detail}"
        raise RequestError(409, "NOT_RETRYABLE", text, extra=now_is)


def _with_usable_checkpoint(draft: Draft, deps: Dependencies) -> Draft:
    """Go on from the checkpoint where its blobs are still there, else from the photo."""
    made = draft.checkpoint
    if made is not None and all(_is_stored(blob, deps) for blob in made.blobs()):
        return draft
    return replace(draft, checkpoint=None, analysis=None, cautions=(), stage=Stage.UPLOADED)


def _is_stored(blob: str, deps: Dependencies) -> bool:
    info = deps.images.info(blob)
    return info is not None and info.size > 0


def _taken_back(before: Draft, retried: Draft, deps: Dependencies) -> bool:
    """Failed again with the old error and retry count; the generation is never lowered."""
    now = deps.clock()
    failed = lifecycle.advance(
        replace(
            retried,
            work=None,
            error=before.error,
            retry_count=before.retry_count,
            last_chance=before.last_chance,
        ),
        DraftStatus.FAILED,
        now,
    )
    code = before.error.code if before.error else ""
    event = event_of(failed, EventType.FAILED, now, code=code)
    try:
        deps.store.save(retried, failed, event, now=now)
    except IngestError:
        return False
    return True


def _tell(before: Draft, retried: Draft, trigger: str) -> None:
    with telemetry.about(retried):
        telemetry.draft_retried(
            code=before.error.code if before.error else "",
            retry_count=retried.retry_count,
            trigger=trigger,
        )
