"""What an owner reads: one draft, a batch of states, the list, the history."""

from __future__ import annotations

import re

from shared.api.changing import own_draft
from shared.api.exchange import Answer, Request, answer, invalid, number_asked
from shared.api.limiting import limit_status_calls
from shared.api.presenting import Links, present, retry_after
from shared.api.views import (
    EventsView,
    EventView,
    NotFoundView,
    PageView,
    StatusItem,
    StatusView,
)
from shared.dependencies import Dependencies
from shared.domain.draft import Draft, DraftStatus
from shared.domain.errors import RequestError

MAX_IDS = 20
PAGE, MAX_PAGE = 20, 100
CONTINUATION = "d~[0-9a-f]{12}~[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # a row key
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


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
    limit_status_calls(request, deps)
    return draft_answer(200, own_draft(request, deps), deps)


def get_draft_status(request: Request, deps: Dependencies) -> Answer:
    """200 with the drafts of up to 20 ids, by as few reads as the ids allow."""
    limit_status_calls(request, deps)
    ids = _ids(request.query.get("ids", ""))
    found = deps.store.find_many(request.owner_id, ids)
    now = deps.clock()
    links, wait = Links.at(now, deps), retry_after(list(found.values()), now)
    items: list[StatusItem] = [
        present(found[i], links) if i in found else NotFoundView(id=i) for i in ids
    ]
    return answer(200, StatusView(drafts=items, retry_after_seconds=wait), retry_after=wait)


def list_drafts(request: Request, deps: Dependencies) -> Answer:
    """200 with a page, newest first. A short page with a continuation is normal."""
    statuses = _statuses(request.query.get("status", ""))
    page = deps.store.page(
        request.owner_id,
        size=number_asked(request, "pageSize", default=PAGE, most=MAX_PAGE),
        after=_row_key(request.query.get("continuation", "")),
        wanted=(lambda draft: draft.status in statuses) if statuses else None,
    )
    links = Links.at(deps.clock(), deps)
    drafts = [present(draft, links) for draft in page.drafts]
    return answer(200, PageView(drafts=drafts, continuation=page.after))


def list_draft_events(request: Request, deps: Dependencies) -> Answer:
    """200 with what happened to the draft, oldest first."""
    events = deps.store.events_of(own_draft(request, deps))
    views = [
        EventView(
            seq=e.seq, type=e.type, at=e.at, generation=e.generation, attempt=e.attempt, data=e.data
        )
        for e in events
    ]
    return answer(200, EventsView(events=views))


def _statuses(text: str) -> frozenset[DraftStatus]:
    """Those asked for; none means all. Raises RequestError (400)."""
    names = [name.strip() for name in text.split(",")] if text else []
    if not set(names) <= set(DraftStatus):
        raise invalid("status", f"must be one of {', '.join(DraftStatus)}")
    return frozenset(DraftStatus(name) for name in names)


def _row_key(token: str) -> str | None:
    """A token is a place in one's own list and nothing else. Raises RequestError (400)."""
    if token and not re.fullmatch(CONTINUATION, token):
        raise invalid("continuation", "must be the token of an earlier page")
    return token or None


def _ids(text: str) -> list[str]:
    """Distinct ids in the order asked for. Raises RequestError (400 or 422)."""
    ids = list(dict.fromkeys(token.strip() for token in text.split(",")))
    if not all(_UUID.fullmatch(token) for token in ids):
        raise invalid("ids", "must be UUIDs with commas between them")
    if len(ids) > MAX_IDS:
        raise RequestError(422, "TOO_MANY_IDS", f"Ask for at most {MAX_IDS} ids at once.")
    return ids
