"""The header Idempotency-Key: a request that is sent twice makes its drafts once."""

from __future__ import annotations

import hashlib
import re

from shared.api.exchange import Request, invalid
from shared.api.forms import Form
from shared.dependencies import Dependencies
from shared.domain.errors import RequestError
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


def _key_of(request: Request) -> str | None:
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


def begin(
    request: Request, form: Form, deps: Dependencies, *, skip_segmentation: bool
) -> Begun | AlreadyDone | None:
    """The request's key, taken or answered before; None where it came without one.

    Raises RequestError: 409 while another request with this key is in flight, 422 where the key
    stands for another.
    """
    key = _key_of(request)
    if key is None:
        return None
    now = deps.clock()
    whole = fingerprint(form, skip_segmentation=skip_segmentation)
    match _keys(deps).begin(request.owner_id, key, whole, now):
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
        case standing:
            return standing


def give_back(key: Begun, deps: Dependencies) -> None:
    """Nothing was accepted: the same request may come again at once."""
    _keys(deps).give_back(key)


def _keys(deps: Dependencies) -> IdempotencyKeys:
    return IdempotencyKeys(deps.drafts_table, deps.due)
