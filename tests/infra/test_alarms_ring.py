"""Each alarm rings for the right rows and stays silent for the others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.infra import cases_of_drafts, cases_of_housekeeping, cases_of_queues
from tests.infra.alarm_case import JOBS, ROOT, Case, depth
from tests.infra.alarm_rules import alarm_rules
from tests.infra.kql_rows import Workspace

RULES = {rule.name: rule for rule in alarm_rules(ROOT)}
CASES = [*cases_of_drafts.CASES, *cases_of_queues.CASES, *cases_of_housekeeping.CASES]


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


def test_alarm_with_another_limit(workspace: Workspace) -> None:
    """A limit of the deployment takes the place of the query's own."""
    rows = [depth(JOBS, 60, minutes) for minutes in (2, 7, 12)]
    backlog = RULES["backlog"]
    assert not workspace.answer(ROOT, backlog, rows)
    assert workspace.answer(ROOT, backlog, rows, {"deepMessages": 50})


@pytest.mark.parametrize("rule", RULES)
def test_alarm_has_cases_of_both_kinds(rule: str) -> None:
    """Each alarm is seen ringing and seen silent."""
    assert {case.rings for case in CASES if case.rule == rule} == {True, False}
