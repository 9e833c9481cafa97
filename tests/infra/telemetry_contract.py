"""docs/telemetry.md against shared/telemetry.py: the same events, with the same fields of the same
types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.infra.app_code import Event, called_events, events

SECTION = re.compile(r"^## (.+)$", re.M)
EVENT = re.compile(r"^### `(\w+)`$", re.M)
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \|", re.M)
ABOUT_DRAFT = "Events about a draft"
FORBIDDEN_FIELDS = {"fileName", "ownerId", "owner", "ownerKey", "url", "sasUrl", "key", "userId"}
UNITS = ("Ms", "Seconds", "Bytes", "Percent")
MEASURED = {"duration", "delay", "age", "overdue", "unattended", "size", "total", "after"}
WORD = re.compile(r"[A-Z]?[a-z]+")


@dataclass(frozen=True, kw_only=True)
class ListedEvent:
    """An event as the page has it. `fields` are its own and those that every such line carries."""

    name: str
    own: dict[str, str]
    fields: dict[str, str]
    about_draft: bool


def check_telemetry(root: Path) -> list[str]:
    """The page and the code tell the same events with the same fields, and each is really told by
    somebody."""
    listed, coded = listed_events(root), {event.name: event for event in events(root)}
    called = called_events(root)
    found = [
        f"docs/telemetry.md: the code tells no {name}" for name in sorted(set(listed) - set(coded))
    ]
    found += [
        f"shared/telemetry.py: {name} is not listed" for name in sorted(set(coded) - set(listed))
    ]
    for name in sorted(set(listed) & set(coded)):
        found += _differences(listed[name], coded[name])
        if coded[name].function not in called:
            found.append(f"shared/telemetry.py: nobody tells {name}")
    return found


def check_telemetry_names(root: Path) -> list[str]:
    """No field may hold what must not be logged; a measured number has its unit in its name."""
    found = []
    for event in listed_events(root).values():
        for field, kind in event.own.items():
            if field in FORBIDDEN_FIELDS:
                found.append(f"docs/telemetry.md: {event.name}.{field} must never be logged")
            words = {word.lower() for word in WORD.findall(field)}
            measured = kind in ("integer", "number") and words & MEASURED
            if measured and not field.endswith(UNITS):
                found.append(f"docs/telemetry.md: {event.name}.{field} has no unit in its name")
    return found


def listed_events(root: Path) -> dict[str, ListedEvent]:
    """The events of docs/telemetry.md by name."""
    sections = dict(_split(SECTION, (root / "docs/telemetry.md").read_text()))
    everywhere = dict(ROW.findall(sections["In every line"]))
    of_draft = dict(ROW.findall(sections["In every line about a draft"]))
    found = {}
    for title, body in sections.items():
        about_draft = title == ABOUT_DRAFT
        for name, rows in _split(EVENT, body):
            own = dict(ROW.findall(rows))
            shared = everywhere | (of_draft if about_draft else {})
            found[name] = ListedEvent(
                name=name, own=own, fields=shared | own, about_draft=about_draft
            )
    return found


def _differences(listed: ListedEvent, coded: Event) -> Iterator[str]:
    for field in sorted(listed.own.keys() | coded.fields.keys()):
        page, code = listed.own.get(field), coded.fields.get(field)
        if page != code:
            yield f"{listed.name}.{field}: {page} in docs/telemetry.md, {code} in the code"
    if listed.about_draft != coded.about_draft:
        yield f"{listed.name}: whether it is about a draft differs"


def _split(heading: re.Pattern[str], page: str) -> Iterator[tuple[str, str]]:
    parts = heading.split(page)
    return zip(parts[1::2], parts[2::2], strict=True)
