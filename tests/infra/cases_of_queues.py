"""Alarms about queues: poison, backlog, and no sample at all."""

from __future__ import annotations

from tests.infra.alarm_case import HOOKS, HOOKS_POISON, JOBS, JOBS_POISON, depth, put, rings, silent
from tests.infra.kql_rows import noise

CASES = [
    rings("poison-writes", "host moved a message", [put(JOBS_POISON)]),
    rings("poison-writes", "webhook gave up", [put(HOOKS_POISON)]),
    silent("poison-writes", "an ordinary job", [put(JOBS)]),
    silent("poison-writes", "a refused write", [put(JOBS_POISON, "403")]),
    silent(
        "poison-writes", "a handler taking one out", [put(JOBS_POISON, operation="DeleteMessage")]
    ),
    rings(
        "poison-handler-dead",
        "two samples in a row",
        [depth(JOBS_POISON, 1, 2), depth(JOBS_POISON, 3, 7), depth(JOBS_POISON, 0, 12)],
    ),
    rings(
        "poison-handler-dead",
        "two samples of the webhooks",
        [depth(HOOKS_POISON, 2, 2), depth(HOOKS_POISON, 2, 7), depth(JOBS_POISON, 0, 2)],
    ),
    silent(
        "poison-handler-dead",
        "a message just arrived",
        [depth(JOBS_POISON, 1, 2), depth(JOBS_POISON, 0, 7), depth(JOBS_POISON, 0, 12)],
    ),
    silent(
        "poison-handler-dead",
        "emptied since",
        [depth(JOBS_POISON, 0, 2), depth(JOBS_POISON, 5, 7), depth(JOBS_POISON, 5, 12)],
    ),
    silent(
        "poison-handler-dead",
        "two queues once each",
        [
            depth(JOBS_POISON, 1, 2),
            depth(JOBS_POISON, 0, 7),
            depth(HOOKS_POISON, 0, 2),
            depth(HOOKS_POISON, 1, 7),
        ],
    ),
    silent("poison-handler-dead", "a work queue with work", [depth(JOBS, 9, 2), depth(JOBS, 9, 7)]),
    rings(
        "backlog",
        "an old head in three samples",
        [depth(JOBS, 40, at, age=1000) for at in (2, 7, 12)],
    ),
    rings("backlog", "deep in three samples", [depth(JOBS, 501, at) for at in (2, 7, 12)]),
    rings("backlog", "webhooks wait", [depth(HOOKS, 3, at, age=2000) for at in (2, 7, 12)]),
    silent(
        "backlog",
        "a burst that drains",
        [
            depth(JOBS, 900, 12, age=60),
            depth(JOBS, 600, 7, age=300),
            depth(JOBS, 90, 2, age=9),
        ],
    ),
    silent(
        "backlog", "busy but flowing", [depth(JOBS, 300, at, age=100) for at in (2, 7, 12, 17, 22)]
    ),
    silent(
        "backlog",
        "a poison queue is another alarm's",
        [depth(JOBS_POISON, 900, at, age=9000) for at in (2, 7, 12)],
    ),
    rings("silence", "no line at all", []),
    rings(
        "silence",
        "last gauge 40 minutes ago",
        [depth(JOBS, 0, 40), noise("Host lock lease acquired")],
    ),
    rings(
        "silence", "lines that only quote the gauge", [noise("Executing 'Functions.queue_depth'")]
    ),
    silent("silence", "one gauge in time", [depth(JOBS, 0, 25)]),
]
