"""POST wardrobe/drafts/{id}/retry: Failed becomes Processing once more."""

from __future__ import annotations

from dataclasses import replace

from shared import telemetry
from shared.api.changing import own_draft, settle
from shared.api.exchange import Answer, Request
from shared.api.reading import draft_answer
from shared.dependencies import Dependencies
from shared.domain import lifecycle
from shared.domain.draft import Draft, DraftStatus, Stage
from shared.domain.errors import (
    IngestError,
    RequestError,
    StorageUnavailableError,
)
from shared.domain.events import EventType, event_of
from shared.sending import message_for


def retry_draft(request: Request, deps: Dependencies) -> Answer:
    """202 from Failed. Raises RequestError (404, 409) or StorageUnavailableError (503)."""

    def step() -> Draft:
        draft = own_draft(request, deps)
        return retry(draft, deps, trigger="user", traceparent=request.traceparent)

    return draft_answer(202, settle(step), deps)


def retry(draft: Draft, deps: Dependencies, *, trigger: str, traceparent: str) -> Draft:
    """Row, then message. Raises ConflictError when somebody else changed the draft.

    Where the queue is away the row goes back to Failed with its old error and
    StorageUnavailableError is raised; where even that fails, the repair sends the message.
    """
    _require_retryable(draft, deps.settings.max_retries)
    now = deps.clock()
    wanted = lifecycle.retry(_with_usable_checkpoint(draft, deps), now, traceparent=traceparent)
    event = event_of(wanted, EventType.RETRIED, now, trigger=trigger)
    retried = deps.store.save(draft, wanted, event, now=now)
    try:
        deps.jobs.send(message_for(retried).encode())
    except StorageUnavailableError as error:
        if _taken_back(draft, retried, deps):
            raise StorageUnavailableError("The queue is not available. Try again.") from error
    _tell(draft, retried, trigger)
    return retried


def _require_retryable(draft: Draft, limit: int) -> None:
    now_is: dict[str, object] = {"currentStatus": draft.status}
    if draft.status is not DraftStatus.FAILED or draft.error is None:
        text = f"Only a Failed draft can be retried; this one is {draft.status}."
        raise RequestError(409, "NOT_FAILED", text, extra=now_is)
    if not draft.error.retryable:
        text = f"Trying again cannot help: {draft.error.detail}"
        raise RequestError(409, "NOT_RETRYABLE", text, extra=now_is)
    if draft.retry_count >= limit:
        text = f"This draft was retried {draft.retry_count} times already."
        raise RequestError(409, "RETRY_LIMIT", text, extra=now_is)


def _with_usable_checkpoint(draft: Draft, deps: Dependencies) -> Draft:
    """Go on from the checkpoint where its blobs are still there, else from the photo."""
    made = draft.checkpoint
    if made is not None and all(deps.images.info(blob) for blob in made.blobs()):
        return draft
    return replace(draft, checkpoint=None, analysis=None, cautions=(), stage=Stage.UPLOADED)


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
