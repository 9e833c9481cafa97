"""What an owner reads: one draft, a batch of states, the list, the history."""

from __future__ import annotations

import re

from shared.api.exchange import Answer, Request, answer, invalid, not_found
from shared.api.views import NotFoundView, StatusItem, StatusView
from shared.dependencies import Dependencies
from shared.domain.draft import Draft
from shared.domain.errors import RequestError
from shared.presenting import Links, present, retry_after

MAX_IDS = 20
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def own_draft(request: Request, deps: Dependencies) -> Draft:
    """The caller's draft of this route. Raises RequestError (404)."""
    draft = deps.store.find(request.owner_id, request.path.get("id", ""))
    if draft is None:
        raise not_found()
    return draft


def draft_answer(status: int, draft: Draft, deps: Dependencies) -> Answer:
    """The draft with its ETag, and how long to wait while it is Processing."""
    now = deps.clock()
    return answer(
        status,
        present(draft, Links.at(now, deps)),
        etag=etag_of(draft),
        retry_after=retry_after([draft], now),
    )


def etag_of(draft: Draft) -> str:
    """Of what clients see: leases and heartbeats do not change it."""
    return f'"{draft.revision}"'


def get_draft(request: Request, deps: Dependencies) -> Answer:
    """200 with the draft."""
    return draft_answer(200, own_draft(request, deps), deps)


def get_draft_status(request: Request, deps: Dependencies) -> Answer:
    """200 with the drafts of up to 20 ids, by as few reads as the ids allow."""
    ids = _ids(request.query.get("ids", ""))
    found = deps.store.find_many(request.owner_id, ids)
    now = deps.clock()
    links, wait = Links.at(now, deps), retry_after(list(found.values()), now)
    items: list[StatusItem] = [
        present(found[i], links) if i in found else NotFoundView(id=i) for i in ids
    ]
    return answer(200, StatusView(drafts=items, retry_after_seconds=wait), retry_after=wait)


def _ids(text: str) -> list[str]:
    """Distinct ids in the order asked for. Raises RequestError (400 or 422)."""
    ids = list(dict.fromkeys(token.strip() for token in text.split(",")))
    if not all(_UUID.fullmatch(token) for token in ids):
        raise invalid("ids", "must be UUIDs with commas between them")
    if len(ids) > MAX_IDS:
        raise RequestError(422, "TOO_MANY_IDS", f"Ask for at most {MAX_IDS} ids at once.")
    return ids
