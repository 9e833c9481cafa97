"""Alarms about drafts: failures, repeated runs, dead letters, long waits."""

from __future__ import annotations

from tests.infra.alarm_case import EVENTS, JOBS, failed, ready, rings, silent, started
from tests.infra.kql_rows import line, noise

SPIKE = [row for at in (3, 20, 40) for row in failed(6, at) + ready(20, at)]
CASES = [
    rings("failed-spike", "three bad quarters", SPIKE),
    silent("failed-spike", "nothing at all", []),
    rings("failed-spike", "everything fails", [row for at in (3, 20, 40) for row in failed(5, at)]),
    silent("failed-spike", "one burst", failed(18, 3) + ready(20, 3)),
    silent(
        "failed-spike",
        "many failures of very many drafts",
        [row for at in (3, 20, 40) for row in failed(5, at) + ready(200, at)],
    ),
    silent(
        "failed-spike",
        "photos refused",
        [row for at in (3, 20, 40) for row in failed(20, at, permanent=True)],
    ),
    rings(
        "failed-spike",
        "refused photos do not hide a failure",
        SPIKE + [row for at in (3, 20, 40) for row in failed(300, at, permanent=True)],
    ),
    silent(
        "failed-spike", "over an hour ago", [row for at in (63, 80, 100) for row in failed(6, at)]
    ),
    rings("retry-spike", "a third of the runs", started(20, 1) + started(10, 2)),
    silent("retry-spike", "few of many", started(200, 1) + started(10, 2)),
    silent("retry-spike", "one draft alone at night", started(4, 3)),
    silent("retry-spike", "a busy hour without any", started(300, 1)),
    rings(
        "dead-letters", "one letter", [line(EVENTS, "dead_lettered", queue=JOBS, code="MALFORMED")]
    ),
    silent(
        "dead-letters",
        "a line that only quotes the word",
        [noise("Executing 'Functions.dead_lettered'"), noise('{"event":"job_started"}')],
    ),
    silent(
        "dead-letters", "half an hour ago", [line(EVENTS, "dead_lettered", minutes=31, queue=JOBS)]
    ),
    rings("slow", "one in ten waits a minute", ready(27, 20) + ready(3, 10, totalMs=61_000)),
    silent("slow", "all are quick", ready(100, 20)),
    silent("slow", "one slow draft at night", ready(1, 10, totalMs=300_000)),
    silent(
        "slow",
        "retried drafts are slow of course",
        ready(40, 20) + ready(20, 10, reason="retry", totalMs=900_000),
    ),
]
