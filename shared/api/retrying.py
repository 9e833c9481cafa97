"""POST wardrobe/drafts/{id}/retry: Failed becomes Processing once more."""

from __future__ import annotations

from shared.api.changing import own_draft, settle
from shared.api.exchange import Answer, Request
from shared.api.reading import draft_answer
from shared.dependencies import Dependencies
from shared.domain.draft import Draft
from shared.retrying import retry


def retry_draft(request: Request, deps: Dependencies) -> Answer:
    """202 from Failed. Raises RequestError (404, 409) or StorageUnavailableError (503)."""

    def step() -> Draft:
        return retry(own_draft(request, deps), deps, traceparent=request.traceparent)

    return draft_answer(202, settle(step), deps)
