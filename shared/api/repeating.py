"""The header Idempotency-Key: a request that is sent twice makes its drafts once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

from shared.api.exchange import Request, invalid
from shared.api.forms import Form
from shared.api.intake import Beside
from shared.dependencies import Dependencies
from shared.domain.draft import Draft
from shared.domain.errors import RequestError, StorageUnavailableError
from shared.ports import Change
from shared.records.idempotency import (
    IN_FLIGHT,
    AlreadyDone,
    Begun,
    IdempotencyKeys,
    InFlight,
    UsedForAnother,
)

HEADER = "Idempotency-Key"
_GLANCE_SECONDS = 2  # the first request is nearly always answered by then
_KEY = re.compile(r"[\x21-\x7e]{1,255}")

type Accept = Callable[[Beside], list[Draft]]


def key_of(request: Request) -> str | None:
    """The caller's key. Raises RequestError (400) for one that cannot be a key."""
    key = request.headers.get(HEADER.lower())
    if key is not None and not _KEY.fullmatch(key):
        raise invalid(HEADER, "must be 1 to 255 visible ASCII characters")
    return key


def fingerprint(form: Form, *, skip_segmentation: bool) -> str:
    """What makes two requests the same: their files in order, and what is wanted of them."""
    whole = hashlib.sha256()
    for file in form.files:
        whole.update(hashlib.sha256(file.data).digest())
    whole.update(b"\1" if skip_segmentation else b"\0")
    return whole.hexdigest()


def once(
    key: str, mark: str, owner_id: str, deps: Dependencies, accept: Accept
) -> dict[str, Draft | None]:
    """The drafts of `accept`, or those of an earlier request with this key as they are now.

    Raises RequestError: 409 while that one is in flight, 422 where the key stands for another.
    """
    keys = IdempotencyKeys(deps.drafts_table, deps.due)
    now = deps.clock()
    match keys.begin(owner_id, key, mark, now):
        case AlreadyDone(draft_ids):
            found = deps.store.find_many(owner_id, draft_ids)
            return {draft_id: found.get(draft_id) for draft_id in draft_ids}
        case InFlight(until):
            left = round((until - now).total_seconds())
            taken = round(IN_FLIGHT.total_seconds()) - left
            wait = max(1, min(left, max(taken, _GLANCE_SECONDS)))  # as long again as it has taken
            raise RequestError(
                409,
                "IDEMPOTENCY_KEY_IN_FLIGHT",
                "The first request with this key is still being answered.",
                retryable=True,
                retry_after=wait,
            )
        case UsedForAnother():
            raise RequestError(
                422, "IDEMPOTENCY_KEY_REUSED", "This key was sent with another request before."
            )
        case Begun() as begun:
            return {draft.id: draft for draft in _accept(begun, keys, deps, accept)}


def _accept(begun: Begun, keys: IdempotencyKeys, deps: Dependencies, accept: Accept) -> list[Draft]:
    def beside(drafts: Sequence[Draft]) -> Sequence[Change]:
        return [begun.finish([draft.id for draft in drafts], deps.clock())]

    try:
        return accept(beside)
    except StorageUnavailableError:
        keys.give_back(begun)
        raise
