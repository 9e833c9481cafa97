"""How long a draft is kept, and when the sweep has to look at it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.domain.draft import Draft, DraftStatus

UNATTENDED_AFTER = timedelta(minutes=3)  # after that an unattended or unfinished draft is looked at
SECOND_PASS = timedelta(minutes=15)  # after a deletion: what a late writer left is removed
SETTLED = timedelta(minutes=10)  # functionTimeout: no request or run is still writing by then
UNATTENDED_BEHIND_HEAD = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Retention:
    """Lifetimes by setting; `ready` None keeps for ever."""

    uploading: timedelta
    failed: timedelta
    ready: timedelta | None
    stale: timedelta  # Processing longer than this and unattended fails


def expires_at(draft: Draft, retention: Retention) -> datetime | None:
    """When the draft is ended or purged if nobody touches it; null where it is kept."""
    if draft.status is DraftStatus.UPLOADING:
        return draft.created_at + retention.uploading
    if draft.status is DraftStatus.FAILED and draft.error is not None:
        return draft.error.failed_at + retention.failed
    if draft.status is DraftStatus.READY and retention.ready is not None:
        return draft.updated_at + retention.ready
    return None


def due_at(draft: Draft, retention: Retention, now: datetime) -> datetime | None:
    """When the due index has to bring this draft up; null takes it out of the index."""
    if draft.deleted_at is not None:
        return draft.deleted_at + SECOND_PASS
    if draft.work is not None:
        return draft.work.queued_at + UNATTENDED_AFTER
    if draft.unfinished:
        return now + UNATTENDED_AFTER
    return expires_at(draft, retention)


def unattended(draft: Draft, head: datetime, now: datetime) -> bool:
    """Work is wanted, nobody holds it, and its message does not wait in a backlog.

    `head` is the oldest mark that a message at the head of the queue speaks for (none: now).
    """
    mark = draft.mark
    if mark is None or draft.lease_live(now):
        return False
    return mark < now - UNATTENDED_AFTER and mark < head - UNATTENDED_BEHIND_HEAD
