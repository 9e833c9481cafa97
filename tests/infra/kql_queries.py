"""The queries as Azure's own analyser sees them, and the fields that they read against
docs/telemetry.md."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.infra.telemetry_contract import listed_events

HERE = Path(__file__).parent
TABLES = HERE / "workspace_tables.json"
FIELD = re.compile(r"\bfact(?:\.(\w+)|\['(\w+)'\])")
# `event == 'x'`, `tostring(fact.event) == 'x'`, `event in ('x', 'y')`.
EVENT_TEST = re.compile(r"\bevent\)? (?:==|in) (\([^)]*\)|'\w+')")
NAME = re.compile(r"'(\w+)'")


def check_kql_types(root: Path) -> list[str]:
    """Every query parses; each table, column and function in it exists with the right types."""
    question = {"tables": json.loads(TABLES.read_text()), "queries": queries(root)}
    run = subprocess.run(
        ["node", HERE / "kql_types.cjs"],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, list[str]] = json.loads(run.stdout)
    return [f"{name}: {message}" for name, messages in answer.items() for message in messages]


def check_kql_events(root: Path) -> list[str]:
    """Each query reads events that docs/telemetry.md lists, and only fields that they have."""
    events = listed_events(root)
    found: list[str] = []
    for name, query in queries(root).items():
        read = _events_read(query)
        found += [f"{name}: reads {e}, which is not listed" for e in sorted(read - set(events))]
        if "parse_json(Message)" in query and not read:
            found.append(f"{name}: reads no event that docs/telemetry.md lists")
        known = {"event", "level"}.union(*(events[event].fields for event in read & set(events)))
        for field in sorted({a or b for a, b in FIELD.findall(query)} - known):
            found.append(f"{name}: none of {', '.join(sorted(read))} has a field {field}")
    return found


def queries(root: Path) -> dict[str, str]:
    """Every query by name: the alarms' files and the parts of the workbook."""
    monitoring = root / "infra/monitoring"
    found = {path.name: path.read_text() for path in sorted(monitoring.glob("queries/*.kql"))}
    return found | dict(_workbook_queries(monitoring / "workbook.json"))


def _workbook_queries(path: Path) -> Iterator[tuple[str, str]]:
    for item in json.loads(path.read_text())["items"]:
        if "query" in item["content"]:
            yield f"workbook {item['name']}", item["content"]["query"]


def _events_read(query: str) -> set[str]:
    return {name for test in EVENT_TEST.findall(query) for name in NAME.findall(test)}
