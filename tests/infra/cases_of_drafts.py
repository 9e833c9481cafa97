"""Alarms about drafts: failures, repeated runs, dead letters, long waits."""

from __future__ import annotations

from tests.infra.alarm_case import EVENTS, JOBS, Case, failed, ready, started
from tests.infra.kql_rows import line, noise

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
    Case(rule="retry-spike", situation="one draft alone at night", rings=False, rows=started(4, 3)),
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
