"""Each alarm rings for the right rows and stays silent for the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.infra.alarm_rules import alarm_rules
from tests.infra.kql_rows import Row, Workspace, line, noise, storage_row
from tests.infra.telemetry_contract import listed_events

ROOT = Path(__file__).resolve().parents[2]
EVENTS = listed_events(ROOT)
RULES = {rule.name: rule for rule in alarm_rules(ROOT)}

JOBS, JOBS_POISON = "image-processing-jobs", "image-processing-jobs-poison"
HOOKS, HOOKS_POISON = "draft-webhooks", "draft-webhooks-poison"
CLEANUP = "cleanup_abandoned_drafts"
HOUR, DAY = 60, 24 * 60  # minutes


@dataclass(frozen=True, kw_only=True)
class Case:
    """Rows in the log, and whether the rule rings."""

    rule: str
    situation: str
    rings: bool
    rows: list[Row]


def many(count: int, make: Callable[[int], Row]) -> list[Row]:
    return [make(i) for i in range(count)]


def ready(count: int, minutes: float, **fields: Any) -> list[Row]:
    given = {"reason": "initial", "totalMs": 3000, **fields}
    return many(count, lambda i: line(EVENTS, "draft_ready", minutes=minutes, **given))


def failed(count: int, minutes: float, *, permanent: bool = False) -> list[Row]:
    return many(
        count, lambda i: line(EVENTS, "draft_failed", minutes=minutes, permanent=permanent)
    )


def started(count: int, attempt: int, minutes: float = 10) -> list[Row]:
    return many(
        count,
        lambda i: line(
            EVENTS, "job_started", minutes=minutes, attempt=attempt, draftId=f"{attempt}-{i}"
        ),
    )


def depth(queue: str, messages: int, minutes: float, age: int | None = None) -> Row:
    return line(
        EVENTS,
        "queue_depth",
        minutes=minutes,
        queue=queue,
        messages=messages,
        oldestAgeSeconds=age,
    )


def night(minutes: float, outcome: str = "success", *, job: str = CLEANUP, remaining: int = 0) -> Row:
    return line(
        EVENTS, "cleanup_finished", minutes=minutes, job=job, outcome=outcome, remaining=remaining
    )


def began(
    late_seconds: float | None, *, past_due: bool = False, trigger: str = "timer", job: str = CLEANUP
) -> Row:
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=30)
    planned = None if late_seconds is None else at - timedelta(seconds=late_seconds)
    return line(
        EVENTS,
        "cleanup_started",
        minutes=30,
        job=job,
        trigger=trigger,
        scheduledAt=planned and planned.isoformat().replace("+00:00", "Z"),
        startedAt=at.isoformat().replace("+00:00", "Z"),
        pastDue=past_due,
    )


def put(queue: str, status: str = "201", operation: str = "PutMessage", minutes: float = 2) -> Row:
    return storage_row(
        "StorageQueueLogs",
        minutes=minutes,
        AccountName="stdata",
        OperationName=operation,
        Uri=f"https://stdata.queue.core.windows.net:443/{queue}/messages?messagettl=-1",
        StatusCode=status,
        StatusText="Success",
    )


def deletion(status: str, text: str, operation: str = "DeleteBlob") -> Row:
    return storage_row(
        "StorageBlobLogs", minutes=5, OperationName=operation, StatusCode=status, StatusText=text
    )


SPIKE = [row for at in (3, 20, 40) for row in failed(6, at) + ready(20, at)]
CASES = [
    Case(rule="failed-spike", situation="three bad quarters", rings=True, rows=SPIKE),
    Case(rule="failed-spike", situation="nothing at all", rings=False, rows=[]),
    Case(
        rule="failed-spike",
        situation="everything fails",
        rings=True,
        rows=[row for at in (3, 20, 40) for row in failed(5, at)],
    ),
    Case(
        rule="failed-spike",
        situation="one burst",
        rings=False,
        rows=failed(18, 3) + ready(20, 3),
    ),
    Case(
        rule="failed-spike",
        situation="many failures of very many drafts",
        rings=False,
        rows=[row for at in (3, 20, 40) for row in failed(5, at) + ready(200, at)],
    ),
    Case(
        rule="failed-spike",
        situation="photos refused",
        rings=False,
        rows=[row for at in (3, 20, 40) for row in failed(20, at, permanent=True)],
    ),
    Case(
        rule="failed-spike",
        situation="refused photos do not hide a failure",
        rings=True,
        rows=SPIKE + [row for at in (3, 20, 40) for row in failed(300, at, permanent=True)],
    ),
    Case(
        rule="failed-spike",
        situation="over an hour ago",
        rings=False,
        rows=[row for at in (63, 80, 100) for row in failed(6, at)],
    ),
    Case(
        rule="retry-spike",
        situation="a third of the runs",
        rings=True,
        rows=started(20, 1) + started(10, 2),
    ),
    Case(
        rule="retry-spike",
        situation="few of many",
        rings=False,
        rows=started(200, 1) + started(10, 2),
    ),
    Case(
        rule="retry-spike", situation="one draft alone at night", rings=False, rows=started(4, 3)
    ),
    Case(
        rule="retry-spike", situation="a busy hour without any", rings=False, rows=started(300, 1)
    ),
    Case(
        rule="dead-letters",
        situation="one letter",
        rings=True,
        rows=[line(EVENTS, "dead_lettered", queue=JOBS, code="MALFORMED")],
    ),
    Case(
        rule="dead-letters",
        situation="a line that only quotes the word",
        rings=False,
        rows=[noise("Executing 'Functions.dead_lettered'"), noise('{"event":"job_started"}')],
    ),
    Case(
        rule="dead-letters",
        situation="half an hour ago",
        rings=False,
        rows=[line(EVENTS, "dead_lettered", minutes=31, queue=JOBS)],
    ),
    Case(rule="poison-writes", situation="host moved a message", rings=True, rows=[put(JOBS_POISON)]),
    Case(rule="poison-writes", situation="webhook gave up", rings=True, rows=[put(HOOKS_POISON)]),
    Case(rule="poison-writes", situation="an ordinary job", rings=False, rows=[put(JOBS)]),
    Case(
        rule="poison-writes", situation="a refused write", rings=False, rows=[put(JOBS_POISON, "403")]
    ),
    Case(
        rule="poison-writes",
        situation="a handler taking one out",
        rings=False,
        rows=[put(JOBS_POISON, operation="DeleteMessage")],
    ),
    Case(
        rule="poison-handler-dead",
        situation="two samples in a row",
        rings=True,
        rows=[depth(JOBS_POISON, 1, 2), depth(JOBS_POISON, 3, 7), depth(JOBS_POISON, 0, 12)],
    ),
    Case(
        rule="poison-handler-dead",
        situation="two samples of the webhooks",
        rings=True,
        rows=[depth(HOOKS_POISON, 2, 2), depth(HOOKS_POISON, 2, 7), depth(JOBS_POISON, 0, 2)],
    ),
    Case(
        rule="poison-handler-dead",
        situation="a message just arrived",
        rings=False,
        rows=[depth(JOBS_POISON, 1, 2), depth(JOBS_POISON, 0, 7), depth(JOBS_POISON, 0, 12)],
    ),
    Case(
        rule="poison-handler-dead",
        situation="emptied since",
        rings=False,
        rows=[depth(JOBS_POISON, 0, 2), depth(JOBS_POISON, 5, 7), depth(JOBS_POISON, 5, 12)],
    ),
    Case(
        rule="poison-handler-dead",
        situation="two queues once each",
        rings=False,
        rows=[
            depth(JOBS_POISON, 1, 2),
            depth(JOBS_POISON, 0, 7),
            depth(HOOKS_POISON, 0, 2),
            depth(HOOKS_POISON, 1, 7),
        ],
    ),
    Case(
        rule="poison-handler-dead",
        situation="a work queue with work",
        rings=False,
        rows=[depth(JOBS, 9, 2), depth(JOBS, 9, 7)],
    ),
    Case(
        rule="backlog",
        situation="an old head in three samples",
        rings=True,
        rows=[depth(JOBS, 40, at, age=1000) for at in (2, 7, 12)],
    ),
    Case(
        rule="backlog",
        situation="deep in three samples",
        rings=True,
        rows=[depth(JOBS, 501, at) for at in (2, 7, 12)],
    ),
    Case(
        rule="backlog",
        situation="webhooks wait",
        rings=True,
        rows=[depth(HOOKS, 3, at, age=2000) for at in (2, 7, 12)],
    ),
    Case(
        rule="backlog",
        situation="a burst that drains",
        rings=False,
        rows=[depth(JOBS, 900, 12, age=60), depth(JOBS, 600, 7, age=300), depth(JOBS, 90, 2, age=9)],
    ),
    Case(
        rule="backlog",
        situation="busy but flowing",
        rings=False,
        rows=[depth(JOBS, 300, at, age=100) for at in (2, 7, 12, 17, 22)],
    ),
    Case(
        rule="backlog",
        situation="a poison queue is another alarm's",
        rings=False,
        rows=[depth(JOBS_POISON, 900, at, age=9000) for at in (2, 7, 12)],
    ),
    Case(rule="silence", situation="no line at all", rings=True, rows=[]),
    Case(
        rule="silence",
        situation="last gauge 40 minutes ago",
        rings=True,
        rows=[depth(JOBS, 0, 40), noise("Host lock lease acquired")],
    ),
    Case(
        rule="silence",
        situation="lines that only quote the gauge",
        rings=True,
        rows=[noise("Executing 'Functions.queue_depth'")],
    ),
    Case(rule="silence", situation="one gauge in time", rings=False, rows=[depth(JOBS, 0, 25)]),
    Case(
        rule="cleanup-lag",
        situation="last success 26 hours ago",
        rings=True,
        rows=[night(26 * HOUR), night(60, "failed"), depth(JOBS, 0, 27 * HOUR)],
    ),
    Case(
        rule="cleanup-lag",
        situation="never, though the app lives long",
        rings=True,
        rows=[depth(JOBS, 0, 26 * HOUR), depth(JOBS, 0, 5)],
    ),
    Case(
        rule="cleanup-lag",
        situation="a partial run left work over",
        rings=True,
        rows=[night(30 * HOUR), night(60, "partial", remaining=4)],
    ),
    Case(
        rule="cleanup-lag",
        situation="only the repair succeeded",
        rings=True,
        rows=[depth(JOBS, 0, 26 * HOUR), night(5, job="repair_unattended_drafts")],
    ),
    Case(
        rule="cleanup-lag",
        situation="last success 24 hours ago",
        rings=False,
        rows=[night(24 * HOUR), depth(JOBS, 0, 47 * HOUR)],
    ),
    Case(
        rule="cleanup-lag",
        situation="a partial run that finished",
        rings=False,
        rows=[night(30 * HOUR), night(60, "partial", remaining=0)],
    ),
    Case(
        rule="cleanup-lag",
        situation="a new app's first day",
        rings=False,
        rows=[depth(JOBS, 0, 10 * HOUR)],
    ),
    Case(rule="cron-drift", situation="six minutes late", rings=True, rows=[began(360)]),
    Case(rule="cron-drift", situation="six minutes early", rings=True, rows=[began(-360)]),
    Case(
        rule="cron-drift",
        situation="the host says it is late",
        rings=True,
        rows=[began(10, past_due=True)],
    ),
    Case(
        rule="cron-drift",
        situation="late by the host's word, plan unknown",
        rings=True,
        rows=[began(None, past_due=True)],
    ),
    Case(rule="cron-drift", situation="ten seconds late", rings=False, rows=[began(10)]),
    Case(rule="cron-drift", situation="plan unknown", rings=False, rows=[began(None)]),
    Case(
        rule="cron-drift",
        situation="an operator's run",
        rings=False,
        rows=[began(9000, trigger="operator")],
    ),
    Case(
        rule="blob-delete-failed",
        situation="our word",
        rings=True,
        rows=[line(EVENTS, "blob_delete_failed", errorCode="LeaseIdMissing")],
    ),
    Case(
        rule="blob-delete-failed",
        situation="the service's word",
        rings=True,
        rows=[deletion("412", "LeaseIdMissing")],
    ),
    Case(
        rule="blob-delete-failed",
        situation="gone already",
        rings=False,
        rows=[deletion("404", "BlobNotFound")],
    ),
    Case(
        rule="blob-delete-failed",
        situation="deletions that went well",
        rings=False,
        rows=[deletion("202", "Success"), deletion("409", "ContainerBeingDeleted", "DeleteContainer")],
    ),
    Case(
        rule="slow",
        situation="one in ten waits a minute",
        rings=True,
        rows=ready(27, 20) + ready(3, 10, totalMs=61_000),
    ),
    Case(rule="slow", situation="all are quick", rings=False, rows=ready(100, 20)),
    Case(
        rule="slow",
        situation="one slow draft at night",
        rings=False,
        rows=ready(1, 10, totalMs=300_000),
    ),
    Case(
        rule="slow",
        situation="retried drafts are slow of course",
        rings=False,
        rows=ready(40, 20) + ready(20, 10, reason="retry", totalMs=900_000),
    ),
]


@pytest.fixture(scope="module")
def workspace() -> Iterator[Workspace]:
    """One in-memory workspace for all alarms."""
    opened = Workspace()
    yield opened
    opened.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.situation}")
def test_alarm(case: Case, workspace: Workspace) -> None:
    """An alarm's query answers rows exactly in the situations that somebody should look at."""
    answer = workspace.answer(ROOT, RULES[case.rule], case.rows)
    assert bool(answer) == case.rings, answer


@pytest.mark.parametrize("rule", RULES)
def test_alarm_has_cases_of_both_kinds(rule: str) -> None:
    """Each alarm is seen ringing and seen silent."""
    assert {case.rings for case in CASES if case.rule == rule} == {True, False}
