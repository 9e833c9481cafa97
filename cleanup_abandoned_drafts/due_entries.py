"""One due entry at a time: what it stands for, what has to be done, and doing it.

A row is read only where the entry alone does not say that it can wait; whatever is done is a
conditional write, so that two sweeps, a late one and a person cannot undo each other's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from cleanup_abandoned_drafts.policy import Verdict, verdict
from shared import telemetry
from shared.deleting import bury_draft, delete_blobs, erase
from shared.dependencies import Dependencies
from shared.domain.draft import Draft, DraftError
from shared.domain.errors import ConflictError, IngestError, StorageUnavailableError
from shared.domain.retention import SETTLED, UNATTENDED_BEHIND_HEAD
from shared.failing import end_draft
from shared.jobs import JobContext
from shared.leftovers import tidy
from shared.ports import Delete
from shared.queue_state import head_of
from shared.records.due import DueEntry
from shared.records.jobruns import JobReport
from shared.sending import MAX_RESENDS, send_again

_STUCK = "Processing did not get going in time. Try again."
_ABANDONED = "The photo was not uploaded in time. Choose it again."
_COUNTED = 9_999  # more of them only cost the time that is up
_UNKNOWN_HEAD = datetime(1970, 1, 1, tzinfo=UTC)  # everything may be waiting behind it


@dataclass(frozen=True, kw_only=True, slots=True)
class Attention:
    """What a sweep looks at entries with; it acts on `verdicts` and leaves the others alone."""

    deps: Dependencies
    head: datetime  # of the queue
    verdicts: frozenset[Verdict]

    @classmethod
    def paid_to(cls, verdicts: frozenset[Verdict], deps: Dependencies) -> Attention:
        """Where the queue cannot be looked at, no draft counts as unattended this time."""
        try:
            head = head_of(deps)
        except StorageUnavailableError as error:
            telemetry.sweep_interrupted(step="queue_head", code=error.code)
            head = _UNKNOWN_HEAD
        return cls(deps=deps, head=head, verdicts=verdicts)

    @property
    def complete(self) -> bool:
        """Whether the head of the queue is known."""
        return self.head != _UNKNOWN_HEAD


def attend_all(entries: Iterator[DueEntry], attention: Attention, context: JobContext) -> JobReport:
    """Entry by entry until the time is up; one that fails never stops the rest."""
    blind = int(not attention.complete)  # who is unattended is left for the next run
    report = JobReport(failed_rows=blind, remaining=blind)
    try:
        for entry in entries:
            if context.time_is_up():
                return report + JobReport(remaining=1 + sum(1 for _ in islice(entries, _COUNTED)))
            report += JobReport(examined=1) + _attend_safely(entry, attention)
    except StorageUnavailableError as error:  # the index itself: the rest is still to be read
        telemetry.sweep_interrupted(step="due_index", code=error.code)
        return report + JobReport(failed_rows=1, remaining=1)
    return report


def _attend_safely(entry: DueEntry, attention: Attention) -> JobReport:
    try:
        return _attend(entry, attention)
    except ConflictError:  # somebody else attends to it: the entry stays for the next run
        return JobReport()
    except (IngestError, ValueError) as error:  # storage is away, or row or entry is damaged
        code = error.code if isinstance(error, IngestError) else type(error).__name__
        telemetry.due_entry_failed(code=code, draft_id=entry.draft_id)
        return JobReport(failed_rows=1)


def _attend(entry: DueEntry, attention: Attention) -> JobReport:
    if entry.damaged:
        raise ValueError("a due entry that cannot be read")
    if _waits_in_line(entry, attention.head):
        return JobReport()
    if not entry.is_draft:
        return _forget_key(entry, attention)
    deps = attention.deps
    draft, now = deps.store.load(entry.owner_key, entry.row_key), deps.clock()
    if draft is None:
        return _second_pass(entry, now, deps)
    if draft.due_at != entry.due_at and _settled(entry, now):
        deps.due.realign(draft, entry)
        return JobReport()
    if draft.due_at is None or draft.due_at > now:
        return JobReport()  # its own entry brings it up
    # Also by the entry of a write that failed: it may have taken the place of the row's own.
    found = verdict(draft, head=attention.head, now=now, retention=deps.settings.retention)
    if found not in attention.verdicts:
        return JobReport()
    with telemetry.about(draft):
        return _ACTS[found](draft, deps)


def _waits_in_line(entry: DueEntry, head: datetime) -> bool:
    """Its message is behind the head of the queue: the row need not be read."""
    return entry.queued_at is not None and entry.queued_at >= head - UNATTENDED_BEHIND_HEAD


def _settled(entry: DueEntry, now: datetime) -> bool:
    """No request or run that wrote this entry is still writing."""
    return entry.due_at < now - SETTLED


def _second_pass(entry: DueEntry, now: datetime, deps: Dependencies) -> JobReport:
    """The row is gone or was never written: what a late writer left goes, then the entry."""
    if not _settled(entry, now):
        return JobReport()
    if failed := delete_blobs(entry.owner_key, entry.draft_id, deps):
        return JobReport(failed_blob_deletions=failed)
    deps.store.erase_events(entry.owner_key, entry.draft_id)
    deps.due.remove(entry)
    return JobReport()


def _forget_key(entry: DueEntry, attention: Attention) -> JobReport:
    """An idempotency row past its time; one that lives longer is looked at then."""
    if Verdict.PURGE not in attention.verdicts:
        return JobReport()
    deps = attention.deps
    row, now = deps.drafts_table.get(entry.owner_key, entry.row_key), deps.clock()
    if row is None:
        if _settled(entry, now):
            deps.due.remove(entry)
        return JobReport()
    until = row.values.get("until")
    if isinstance(until, datetime) and until > now:
        deps.due.move(entry, until)
        return JobReport()
    deps.drafts_table.transact([Delete(row)])
    deps.due.remove(entry)
    return JobReport()


def _resend(draft: Draft, deps: Dependencies) -> JobReport:
    if draft.work is not None and draft.work.resends >= MAX_RESENDS:
        return JobReport()  # it fails when its work is older than the limit
    send_again(draft, deps, trigger="repair")
    return JobReport(resent=1)


def _fail_stuck(draft: Draft, deps: Dependencies) -> JobReport:
    return _fail(draft, "STUCK_PROCESSING", _STUCK, deps, retryable=True)


def _fail_abandoned(draft: Draft, deps: Dependencies) -> JobReport:
    return _fail(draft, "UPLOAD_ABANDONED", _ABANDONED, deps, retryable=False)


def _fail(
    draft: Draft, code: str, detail: str, deps: Dependencies, *, retryable: bool
) -> JobReport:
    reason = DraftError(code=code, detail=detail, retryable=retryable, failed_at=deps.clock())
    end_draft(draft, reason, deps, permanent=not retryable)
    return JobReport(failed=1)


def _finish(draft: Draft, deps: Dependencies) -> JobReport:
    told = draft
    if draft.unsent_since is not None:
        told = deps.outbox.send_unsent(draft, deps.clock())
    return JobReport(failed_rows=1 if tidy(told, deps).unfinished else 0)


def _purge(draft: Draft, deps: Dependencies) -> JobReport:
    return _erase(bury_draft(draft, deps), deps)


def _erase(tombstone: Draft, deps: Dependencies) -> JobReport:
    erased = erase(tombstone, deps)
    return JobReport(purged=int(erased.gone), failed_blob_deletions=erased.failed_blobs)


def _reschedule(draft: Draft, deps: Dependencies) -> JobReport:
    deps.store.save(draft, draft, now=deps.clock())
    return JobReport()


_ACTS: dict[Verdict, Callable[[Draft, Dependencies], JobReport]] = {
    Verdict.RESEND: _resend,
    Verdict.FAIL_STUCK: _fail_stuck,
    Verdict.FINISH: _finish,
    Verdict.FAIL_ABANDONED: _fail_abandoned,
    Verdict.PURGE: _purge,
    Verdict.ERASE: _erase,
    Verdict.RESCHEDULE: _reschedule,
}
