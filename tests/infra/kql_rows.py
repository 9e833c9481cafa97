"""Alarm queries run on made-up rows: DuckDB stands in for the workspace, a rule sees only what its
window covers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb_kql

from tests.infra.alarm_rules import AlarmRule, with_limits
from tests.infra.kql_queries import TABLES
from tests.infra.telemetry_contract import ListedEvent

DUCKDB_TYPES = {
    "datetime": "timestamp",
    "string": "varchar",
    "int": "integer",
    "real": "double",
    "dynamic": "json",
}
EMPTY = {"string": "", "integer": 0, "boolean": False, "number": 0.0}


@dataclass(frozen=True)
class Row:
    """One row of a workspace table, `age` before now. Columns not given are null."""

    table: str
    age: timedelta
    columns: dict[str, Any]


def line(events: dict[str, ListedEvent], name: str, *, minutes: float = 1, **fields: Any) -> Row:
    """One of our log lines, `minutes` old, with every field that the contract lists. Raises
    KeyError for another field."""
    listed = events[name]
    unknown = set(fields) - set(listed.fields)
    if unknown:
        raise KeyError(f"{name} has no {', '.join(sorted(unknown))}")
    facts = {field: EMPTY[kind] for field, kind in listed.fields.items()}
    message = json.dumps(facts | {"event": name, "level": "info"} | fields)
    return Row("AppTraces", timedelta(minutes=minutes), {"Message": message})


def noise(message: str, *, minutes: float = 1) -> Row:
    """A line that the host wrote, not we."""
    return Row("AppTraces", timedelta(minutes=minutes), {"Message": message})


def storage_row(table: str, *, minutes: float = 1, **columns: Any) -> Row:
    """One line of the storage service's own log."""
    return Row(table, timedelta(minutes=minutes), columns)


class Workspace:
    """The tables of a Log Analytics workspace, in memory. One can serve many alarms, one after the
    other."""

    def __init__(self) -> None:
        self._database = duckdb_kql.connect()
        self._database.execute("set TimeZone = 'UTC'")
        self._tables = json.loads(TABLES.read_text())
        for table, columns in self._tables.items():
            typed = ", ".join(f'"{name}" {DUCKDB_TYPES[kind]}' for name, kind in columns.items())
            self._database.execute(f"create table {table} ({typed})")

    def close(self) -> None:
        self._database.close()

    def answer(
        self, root: Path, rule: AlarmRule, rows: list[Row], limits: dict[str, int] | None = None
    ) -> list[tuple[Any, ...]]:
        """What the rule's query answers over these rows: the alarm rings when that is not empty.

        `limits` take the place of the query's own, as the parameter `alertLimits` does.
        """
        for table in self._tables:
            self._database.execute(f"delete from {table}")
            seen = [row for row in rows if row.table == table and row.age <= rule.look_back]
            if seen:
                self._insert(table, seen)
        query = (root / "infra/monitoring" / rule.query_file).read_text()
        return list(duckdb_kql.kql(self._database, with_limits(query, limits or {})).fetchall())

    def _insert(self, table: str, rows: list[Row]) -> None:
        now = datetime.now(UTC).replace(tzinfo=None)
        columns = ["TimeGenerated", *rows[0].columns]
        marks = ", ".join([f"({', '.join('?' for _ in columns)})"] * len(rows))
        values = [value for row in rows for value in (now - row.age, *row.columns.values())]
        names = ", ".join(f'"{name}"' for name in columns)
        self._database.execute(f"insert into {table} ({names}) values {marks}", values)
