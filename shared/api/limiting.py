"""Rates: uploads exact per owner, status calls per owner in each process; 429 with Retry-After."""

from __future__ import annotations

import math
import time
from functools import cache

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from shared import telemetry
from shared.api.exchange import Request
from shared.dependencies import Dependencies
from shared.domain.errors import RequestError
from shared.domain.ids import owner_key
from shared.records.ratelimits import count_upload


def limit_uploads(request: Request, deps: Dependencies) -> None:
    """Counts this request. Raises RequestError (429)."""
    wait = count_upload(
        deps.drafts_table,
        request.owner_id,
        limit=deps.settings.uploads_per_minute,
        now=deps.clock(),
    )
    if wait is not None:
        raise _too_many("uploads", wait.total_seconds(), request.owner_id)


def limit_status_calls(request: Request, deps: Dependencies) -> None:
    """Protects this process from a client in a loop. Raises RequestError (429)."""
    rate = RateLimitItemPerMinute(deps.settings.status_calls_per_minute)
    who = owner_key(request.owner_id)
    if not _limiter().hit(rate, who):
        free_at = _limiter().get_window_stats(rate, who).reset_time
        raise _too_many("status", free_at - time.time(), request.owner_id)


@cache
def _limiter() -> MovingWindowRateLimiter:
    return MovingWindowRateLimiter(MemoryStorage())


def _too_many(limit: str, seconds: float, owner_id: str) -> RequestError:
    wait = max(1, math.ceil(seconds))
    telemetry.rate_limited(
        limit=limit,
        retry_after_seconds=wait,
        owner_hash=telemetry.owner_hash(owner_key(owner_id)),
    )
    detail = f"Too many requests. Wait {wait} s."
    return RequestError(429, "RATE_LIMITED", detail, retryable=True, retry_after=wait)
