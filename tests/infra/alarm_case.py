"""What a case of an alarm is made of: log lines as the contract has them, and the storage log's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.infra.kql_rows import Row, line, storage_row
from tests.infra.telemetry_contract import listed_events

ROOT = Path(__file__).resolve().parents[2]
EVENTS = listed_events(ROOT)

JOBS, JOBS_POISON = "image-processing-jobs", "image-processing-jobs-poison"
HOOKS, HOOKS_POISON = "draft-webhooks", "draft-webhooks-poison"
CLEANUP = "cleanup_abandoned_drafts"
HOUR = 60  # minutes


@dataclass(frozen=True, kw_only=True)
class Case:
    """Rows in the log, and whether the rule rings."""

    rule: str
    situation: str
    rings: bool
    rows: list[Row]


def rings(rule: str, situation: str, rows: list[Row]) -> Case:
    """The rule must ring."""
    return Case(rule=rule, situation=situation, rings=True, rows=rows)


def silent(rule: str, situation: str, rows: list[Row]) -> Case:
    """The rule must stay silent."""
    return Case(rule=rule, situation=situation, rings=False, rows=rows)


def ready(count: int, minutes: float, **fields: Any) -> list[Row]:
    """Drafts that got ready after three seconds."""
    given = {"reason": "initial", "totalMs": 3000, **fields}
    return [line(EVENTS, "draft_ready", minutes=minutes, **given) for _ in range(count)]


def failed(count: int, minutes: float, *, permanent: bool = False) -> list[Row]:
    """Drafts that failed, by our fault unless `permanent`."""
    one = line(EVENTS, "draft_failed", minutes=minutes, permanent=permanent)
    return [one] * count


def started(count: int, attempt: int, minutes: float = 10) -> list[Row]:
    """Runs of as many drafts."""
    return [
        line(EVENTS, "job_started", minutes=minutes, attempt=attempt, draftId=f"{attempt}-{i}")
        for i in range(count)
    ]


def depth(queue: str, messages: int, minutes: float, age: int | None = None) -> Row:
    """One sample of a queue."""
    sample = {"queue": queue, "messages": messages, "oldestAgeSeconds": age}
    return line(EVENTS, "queue_depth", minutes=minutes, **sample)


def night(
    minutes: float, outcome: str = "success", *, job: str = CLEANUP, remaining: int = 0
) -> Row:
    """The end of a scheduled job."""
    told = {"job": job, "outcome": outcome, "remaining": remaining}
    return line(EVENTS, "cleanup_finished", minutes=minutes, **told)


def began(late_seconds: float | None, *, past_due: bool = False, trigger: str = "timer") -> Row:
    """The begin of the nightly cleanup, so much after its plan; None where the plan is unknown."""
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=30)
    planned = None if late_seconds is None else at - timedelta(seconds=late_seconds)
    return line(
        EVENTS,
        "cleanup_started",
        minutes=30,
        job=CLEANUP,
        trigger=trigger,
        scheduledAt=planned and _written(planned),
        startedAt=_written(at),
        pastDue=past_due,
    )


def put(queue: str, status: str = "201", operation: str = "PutMessage") -> Row:
    """The storage log's line of one queue operation."""
    return storage_row(
        "StorageQueueLogs",
        minutes=2,
        AccountName="stdata",
        OperationName=operation,
        Uri=f"https://stdata.queue.core.windows.net:443/{queue}/messages?messagettl=-1",
        StatusCode=status,
        StatusText="Success",
    )


def deletion(status: str, text: str, operation: str = "DeleteBlob") -> Row:
    """The storage log's line of one deletion."""
    return storage_row(
        "StorageBlobLogs", minutes=5, OperationName=operation, StatusCode=status, StatusText=text
    )


def _written(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
