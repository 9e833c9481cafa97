"""What has to be done about a draft that is due. Pure: a row, the head of the queue, the time."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from shared.domain.draft import Draft, DraftStatus
from shared.domain.retention import Retention, expires_at, unattended


class Verdict(StrEnum):
    """One thing to do; the row's ETag decides whether it is still right when it is done."""

    WAIT = "wait"  # a run holds it, or its message waits in a backlog
    RESEND = "resend"  # nobody attends to it: its message goes out again
    FAIL_STUCK = "fail_stuck"  # nobody attends to it, and its work is older than the limit
    FINISH = "finish"  # its outcome stands: subscribers to tell, leftovers to remove
    FAIL_ABANDONED = "fail_abandoned"  # the upload never came
    PURGE = "purge"  # past its time
    ERASE = "erase"  # a tombstone whose deletion is not complete
    RESCHEDULE = "reschedule"  # not due any more: the lifetimes were changed


def verdict(draft: Draft, *, head: datetime, now: datetime, retention: Retention) -> Verdict:
    """`head` is the oldest mark that the head of the queue speaks for (none: now)."""
    if draft.deleted_at is not None:
        return Verdict.ERASE
    if draft.work is not None:
        return _of_work(draft, head, now, retention)
    if draft.unfinished:
        return Verdict.FINISH
    end = expires_at(draft, retention)
    if end is None or end > now:
        return Verdict.RESCHEDULE
    return Verdict.FAIL_ABANDONED if draft.status is DraftStatus.UPLOADING else Verdict.PURGE


def _of_work(draft: Draft, head: datetime, now: datetime, retention: Retention) -> Verdict:
    assert draft.work is not None
    if not unattended(draft, head, now):
        return Verdict.WAIT
    over = draft.work.started_at + retention.stale <= now
    return Verdict.FAIL_STUCK if over else Verdict.RESEND
