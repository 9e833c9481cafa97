"""The owner's decisions: accept a draft, ask for another picture, delete it."""

from __future__ import annotations

from shared import deleting
from shared.api.changing import change_own, own_draft, settle
from shared.api.exchange import Answer, Request
from shared.api.models import ReprocessRequest, read_json
from shared.api.reading import draft_answer
from shared.dependencies import Dependencies
from shared.domain import lifecycle
from shared.domain.draft import Draft, DraftStatus, Stage, WorkReason
from shared.domain.edits import accept, ask_acceptance
from shared.domain.errors import RequestError
from shared.domain.events import Event, EventType, event_of
from shared.sending import send


def accept_draft(request: Request, deps: Dependencies) -> Answer:
    """200, and the same 200 again. While Processing it takes effect when the run is done.

    What a run wrote that is dropped here is left to the repair: it may be writing still.
    """
    stored = change_own(request, deps, lambda draft: _acceptance(draft, deps))
    return draft_answer(200, deps.outbox.flush(stored, deps.clock()), deps)


def reprocess_draft(request: Request, deps: Dependencies) -> Answer:
    """202: another run for a Ready draft. What is shown stays until it is done."""
    own_draft(request, deps)
    first = _first_stage(request)

    def change(draft: Draft) -> tuple[Draft, Event]:
        _require_ready(draft)
        now = deps.clock()
        again = lifecycle.reprocess(
            draft, first, WorkReason.REPROCESS, now, traceparent=request.traceparent
        )
        return again, event_of(again, EventType.REPROCESSED, now, **{"from": str(first)})

    stored = change_own(request, deps, change)
    send(stored, deps)
    return draft_answer(202, stored, deps)


def delete_draft(request: Request, deps: Dependencies) -> Answer:
    """204, also when it is already gone; unknown and foreign ids are answered alike.

    A row that cannot be read keeps nobody's photo here: its ids are enough to delete it.
    """

    def step() -> None:
        draft_id = request.path.get("id", "")
        draft = deps.store.find_to_delete(request.owner_id, draft_id, deps.clock())
        if draft is not None:
            deleting.delete_draft(draft, deps)

    settle(step)
    return Answer(status=204, headers={"Cache-Control": "no-store"})


def _acceptance(draft: Draft, deps: Dependencies) -> tuple[Draft, Event] | None:
    now = deps.clock()
    match draft.status:
        case DraftStatus.FAILED:
            raise RequestError(409, "DRAFT_FAILED", "A Failed draft cannot be accepted: retry it.")
        case DraftStatus.UPLOADING:
            raise RequestError(409, "NOT_READY", "The photo of this draft was not submitted yet.")
        case DraftStatus.PROCESSING if not draft.accept_requested:
            asked = ask_acceptance(draft, now)
            return asked, event_of(asked, EventType.ACCEPT_REQUESTED, now)
        case DraftStatus.READY:
            accepted = accept(draft, now)
            return accepted, event_of(accepted, EventType.ACCEPTED, now)
    return None


def _require_ready(draft: Draft) -> None:
    if draft.status is DraftStatus.ACCEPTED:
        raise RequestError(409, "ACCEPTED", "The picture of an accepted draft is never replaced.")
    if draft.status is not DraftStatus.READY:
        raise RequestError(409, "NOT_READY", f"The draft is {draft.status}, not Ready.")


def _first_stage(request: Request) -> Stage:
    """The body is optional; one of unknown length is refused by who reads it."""
    if not request.body and "transfer-encoding" not in request.headers:
        return Stage.SEGMENTED
    return Stage(read_json(request, ReprocessRequest).first)
