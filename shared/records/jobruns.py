"""What scheduled jobs did: one row a run, kept 90 days; of a window job, one row a window."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum

from shared.domain.ids import inverted
from shared.ports import Insert, Replace, Row, Span, Table
from shared.records.codec import from_values, readable, to_values
from shared.records.dropping import TimeIsUp, drop, never

CLEANUP = "cleanup_abandoned_drafts"
REPAIR = "repair_unattended_drafts"
JOBS = (CLEANUP, REPAIR)

KEPT = timedelta(days=90)
_NOT_STORED = frozenset({"key", "etag"})


class Outcome(StrEnum):
    """How a run ended."""

    SUCCESS = "success"
    PARTIAL = "partial"  # something is left for the next run
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class JobReport:
    """What one run did, in numbers; a job fills in those that mean something to it."""

    examined: int = 0  # due entries read
    failed: int = 0  # drafts set to Failed
    purged: int = 0  # rows deleted for good
    failed_blob_deletions: int = 0  # left for the next run
    failed_rows: int = 0  # rows that could not be handled, left for the next run
    remaining: int = 0  # what is left over: the time was up, or not all could be read
    resent: int = 0  # messages sent again
    dead_lettered: int = 0  # poison messages moved to the dead letters

    def __add__(self, other: JobReport) -> JobReport:
        names = [field.name for field in fields(self)]
        return JobReport(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def outcome(self) -> Outcome:
        left = self.failed_blob_deletions or self.failed_rows or self.remaining
        return Outcome.PARTIAL if left else Outcome.SUCCESS


@dataclass(frozen=True, kw_only=True, slots=True)
class JobRun:
    """One run of a job. Without an outcome it is at work, or was lost."""

    job: str
    trigger: str  # timer | operator | repair
    started_at: datetime
    scheduled_at: datetime | None = None  # null where the host did not say it
    window: datetime | None = None  # of a job that runs at most once a window
    schedule: str = ""  # of that job: what its windows follow
    past_due: bool = False
    finished_at: datetime | None = None
    outcome: Outcome | None = None
    error: str | None = None
    report: JobReport = field(default_factory=JobReport)
    key: str = ""
    etag: str = ""

    @property
    def is_success(self) -> bool:
        """As the alarm on the age of the last success counts it."""
        partly = self.outcome is Outcome.PARTIAL and self.report.remaining == 0
        return self.outcome is Outcome.SUCCESS or partly


class JobRuns:
    """Partitioned by job name, newest first."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def record(self, run: JobRun) -> None:
        """A run of an idempotent job, after it: several may have begun in one millisecond."""
        key = f"{inverted(run.started_at)}~{uuid.uuid4().hex[:8]}"
        self._table.transact([Insert(_row(replace(run, key=key)))])

    def open_window(self, run: JobRun) -> JobRun:
        """Claim the window before the job acts. Raises AlreadyExistsError when it was claimed."""
        assert run.window is not None
        claimed = replace(run, key=inverted(run.window))
        [etag] = self._table.transact([Insert(_row(claimed))])
        return replace(claimed, etag=etag)

    def close_window(self, run: JobRun) -> None:
        """Say how the claimed run ended. Raises ConflictError when somebody else said so."""
        self._table.transact([Replace(_row(run))])

    def newest(self, job: str, *, since: datetime | None = None) -> Iterator[JobRun]:
        """Runs of a job, newest first, back to `since`; a damaged one is told and left out."""
        end = f"{inverted(since)}~~" if since else None
        for row in self._table.query(Span(partition=job, key_to=end), page=100):
            if found := readable(JobRun, row, key=row.key, etag=row.etag):
                yield found

    def every(self, job: str) -> Iterator[JobRun]:
        """All that are kept, for proofs: raises ValueError for a damaged one."""
        for row in self._table.query(Span(partition=job)):
            yield from_values(JobRun, row.values, key=row.key, etag=row.etag)

    def drop_old(self, job: str, now: datetime, time_is_up: TimeIsUp = never) -> bool:
        """Delete what is past its time, as the key alone says; whether there was time for all."""
        span = Span(partition=job, key_from=f"{inverted(now - KEPT)}~~")
        return drop(self._table, span, time_is_up)


def _row(run: JobRun) -> Row:
    return Row(run.job, run.key, to_values(run, leave_out=_NOT_STORED), run.etag)
