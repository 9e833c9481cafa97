"""Alarms about queues: poison, backlog, and no sample at all."""

from __future__ import annotations

from tests.infra.alarm_case import HOOKS, HOOKS_POISON, JOBS, JOBS_POISON, Case, depth, put
from tests.infra.kql_rows import noise

CASES = [
    Case(
        rule="poison-writes", situation="host moved a message", rings=True, rows=[put(JOBS_POISON)]
    ),
    Case(rule="poison-writes", situation="webhook gave up", rings=True, rows=[put(HOOKS_POISON)]),
    Case(rule="poison-writes", situation="an ordinary job", rings=False, rows=[put(JOBS)]),
    Case(
        rule="poison-writes",
        situation="a refused write",
        rings=False,
        rows=[put(JOBS_POISON, "403")],
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
        rows=[
            depth(JOBS, 900, 12, age=60),
            depth(JOBS, 600, 7, age=300),
            depth(JOBS, 90, 2, age=9),
        ],
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
]
