"""A local host's log is read as the workspace would be, and held against the contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.infra.host_log import facts, line_faults, read_log, ringing
from tests.infra.telemetry_contract import listed_events

ROOT = Path(__file__).resolve().parents[2]
EVENTS = listed_events(ROOT)
GAUGE: dict[str, Any] = {
    "event": "queue_depth",
    "level": "info",
    "queue": "image-processing-jobs",
    "messages": 0,
    "oldestAgeSeconds": None,
}
LETTER: dict[str, Any] = {
    "event": "dead_lettered",
    "level": "error",
    "draftId": None,
    "generation": None,
    "attempt": None,
    "traceId": None,
    "deadLetterId": "1",
    "queue": "image-processing-jobs",
    "code": "MALFORMED",
    "dequeueCount": 1,
}


def write_log(folder: Path, *messages: str) -> Path:
    """A console log with one line a minute."""
    lines = [f"[2026-01-01T10:{i:02}:00.000Z] {text}" for i, text in enumerate(messages)]
    path = folder / "host.log"
    path.write_text("\n".join(["Functions:", "", *lines]))
    return path


def compact(told: dict[str, Any]) -> str:
    return json.dumps(told, separators=(",", ":"))


def test_log_with_a_dead_letter(tmp_path: Path) -> None:
    """The alarm on dead letters rings over a log that holds one, and no other does."""
    log = write_log(tmp_path, compact(GAUGE), "Executed 'Functions.x'", compact(LETTER))
    assert list(ringing(read_log(log))) == ["dead-letters"]


def test_log_of_a_quiet_host(tmp_path: Path) -> None:
    """No alarm rings while only the gauge speaks."""
    assert ringing(read_log(write_log(tmp_path, compact(GAUGE)))) == {}


def test_facts_of_a_host_line() -> None:
    """A line that the host wrote is none of ours."""
    assert facts("Executing 'Functions.process_image_job'") is None


@pytest.mark.parametrize("told", [GAUGE, LETTER], ids=lambda told: told["event"])
def test_line_that_keeps_the_contract(told: dict[str, Any]) -> None:
    """A line as listed has no faults; null fits every type."""
    assert list(line_faults(told, EVENTS)) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"event": "queue_length"}, "queue_length is not listed"),
        ({"fileName": "me.jpg"}, "queue_depth.fileName is not listed"),
        ({"messages": "3"}, "queue_depth.messages is '3', not of type integer"),
        ({"messages": True}, "queue_depth.messages is True, not of type integer"),
    ],
)
def test_line_that_breaks_the_contract(change: dict[str, Any], fault: str) -> None:
    """An unknown event, a field too many and a wrong type are each named."""
    assert list(line_faults(GAUGE | change, EVENTS)) == [fault]


def test_line_without_a_field() -> None:
    """A field that does not apply must be null, not left out."""
    short = {name: value for name, value in GAUGE.items() if name != "queue"}
    assert list(line_faults(short, EVENTS)) == ["queue_depth.queue is missing"]
