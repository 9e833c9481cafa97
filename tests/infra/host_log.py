"""Alarms over a real log: `python -m tests.infra.host_log FILE` runs each query over a local host's
console output.

Prints which alarms ring, with their rows, and every line that breaks the contract of
docs/telemetry.md. The newest line
counts as "now", so that an old log can be read too. Exits 1 when a line breaks the contract.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.infra.alarm_rules import alarm_rules
from tests.infra.kql_rows import Row, Workspace
from tests.infra.telemetry_contract import ListedEvent, listed_events

ROOT = Path(__file__).resolve().parents[2]
CONSOLE_LINE = re.compile(r"^\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z)\] (.*)$")
JSON_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "number": (int, float),
}


@dataclass(frozen=True, kw_only=True)
class Told:
    """One line of the console, with its time."""

    at: datetime
    message: str


def read_log(path: Path) -> list[Told]:
    """The lines of a local host's console that carry a time; others belong to no invocation."""
    found = (CONSOLE_LINE.match(line) for line in path.read_text().splitlines())
    return [
        Told(at=datetime.fromisoformat(match.group(1)), message=match.group(2))
        for match in found
        if match
    ]


def facts(message: str) -> dict[str, Any] | None:
    """The JSON object of one of our lines; None for a line that the host wrote."""
    if not message.startswith('{"event"'):
        return None
    return dict(json.loads(message))


def line_faults(told: dict[str, Any], events: dict[str, ListedEvent]) -> Iterator[str]:
    """Where a line differs from docs/telemetry.md: its event, its fields, their types."""
    listed = events.get(str(told["event"]))
    if listed is None:
        yield f"{told['event']} is not listed"
        return
    for field in sorted(set(told) ^ set(listed.fields)):
        yield f"{listed.name}.{field} is {'not listed' if field in told else 'missing'}"
    for field in sorted(set(told) & set(listed.fields)):
        wanted = JSON_TYPES[listed.fields[field]]
        value = told[field]
        if value is not None and (not isinstance(value, wanted) or _is_odd_bool(value, wanted)):
            yield f"{listed.name}.{field} is {value!r}, not of type {listed.fields[field]}"


def ringing(
    lines: list[Told], limits: dict[str, int] | None = None
) -> dict[str, list[tuple[Any, ...]]]:
    """Alarm name to the rows that its query answers, for those that ring at the time of the newest
    line."""
    newest = max(line.at for line in lines)
    rows = [Row("AppTraces", newest - line.at, {"Message": line.message}) for line in lines]
    workspace = Workspace()
    try:
        answers = {
            rule.name: workspace.answer(ROOT, rule, rows, limits) for rule in alarm_rules(ROOT)
        }
    finally:
        workspace.close()
    return {name: answer for name, answer in answers.items() if answer}


def _is_odd_bool(value: object, wanted: type | tuple[type, ...]) -> bool:
    """In Python a switch is a number too; in the contract it is not."""
    return isinstance(value, bool) and wanted is not bool


def main() -> int:
    """Read one log and say what rings."""
    parser = argparse.ArgumentParser(description="Run the alarms over a local host's log.")
    parser.add_argument("log", type=Path)
    parser.add_argument(
        "--limit", action="append", default=[], metavar="NAME=NUMBER", help="as in alertLimits"
    )
    given = parser.parse_args()
    lines = read_log(given.log)
    limits = {name: int(number) for name, _, number in (one.partition("=") for one in given.limit)}
    events = listed_events(ROOT)
    ours = [told for line in lines if (told := facts(line.message))]
    faults = sorted({fault for told in ours for fault in line_faults(told, events)})
    counts = Counter(told["event"] for told in ours)
    print(f"{len(ours)} lines:", ", ".join(f"{n} {name}" for name, n in counts.most_common()))
    for name, answer in ringing(lines, limits).items():
        print(f"RINGS {name}")
        for row in answer:
            print("   ", *row)
    for fault in faults:
        print(f"CONTRACT {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
