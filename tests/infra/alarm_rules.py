"""The alarm rules: one query file each, limits that the query really has, times that Azure takes, a
runbook heading."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tree_sitter import Node

from tests.infra.bicep_tree import BicepFile, literal, named, properties, read_bicep, text, walk
from tests.infra.bicep_values import expect_object, named_value, value_of

# The only windows that the service takes, in minutes.
WINDOWS = {5, 10, 15, 30, 45, 60, 120, 180, 240, 300, 360, 1440, 2880}
DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?)?")
LIMIT_LINE = re.compile(r"^let (\w+) = (\d+);$", re.M)
HEADING = re.compile(r"^## `([\w-]+)`", re.M)


@dataclass(frozen=True, kw_only=True)
class AlarmRule:
    """One rule of alerts.bicep."""

    name: str
    query_file: str  # below infra/monitoring
    frequency: timedelta
    window: timedelta
    look_back: timedelta  # how far the query really sees: the window, unless overridden
    severity: int
    replaced: tuple[tuple[str, str], ...]  # (line in the query, what takes its place)
    place: str


def alarm_rules(root: Path) -> list[AlarmRule]:
    """Every rule, in file order."""
    file = read_bicep(root / "infra/monitoring/alerts.bicep")
    rules = named(file.of_kind("var")["rules"].node)[-1]
    return [_rule(file, node) for node in named(rules)]


def check_rules(root: Path) -> list[str]:
    """Rules and query files belong together one to one; each rule's times and limits are real."""
    rules = alarm_rules(root)
    found = list(_pairing_faults(root, rules))
    for rule in rules:
        found += [f"{rule.place}: {rule.name}: {fault}" for fault in _time_faults(rule)]
        found += [f"{rule.place}: {rule.name}: {fault}" for fault in _limit_faults(root, rule)]
    return found


def check_runbook(root: Path) -> list[str]:
    """Every alarm has its heading in the runbook, and every heading of that form its alarm."""
    headings = set(HEADING.findall((root / "docs/runbook.md").read_text()))
    names = {rule.name for rule in alarm_rules(root)}
    found = [f"docs/runbook.md has no heading for {name}" for name in sorted(names - headings)]
    return found + [f"docs/runbook.md: no alarm is {name}" for name in sorted(headings - names)]


def duration(written: str) -> timedelta:
    """An ISO 8601 duration of days, hours and minutes. Raises ValueError for anything else."""
    match = DURATION.fullmatch(written)
    if match is None or not any(match.groups()):
        raise ValueError(f"not a duration: {written!r}")
    days, hours, minutes = (int(part or 0) for part in match.groups())
    return timedelta(days=days, hours=hours, minutes=minutes)


def with_limits(query: str, limits: Mapping[str, int]) -> str:
    """The query with other limits, as alerts.bicep puts them in."""
    return LIMIT_LINE.sub(lambda m: f"let {m[1]} = {limits.get(m[1], m[2])};", query)


def _rule(file: BicepFile, node: Node) -> AlarmRule:
    plain = expect_object(value_of(file, node), "rule")
    query = properties(node)["query"][1]
    window = duration(str(plain["window"]))
    return AlarmRule(
        name=str(plain["name"]),
        query_file=next(_calls(query, "loadTextContent"))[0] or "",
        frequency=duration(str(plain["frequency"])),
        window=window,
        look_back=duration(str(plain["lookBack"])) if plain["lookBack"] else window,
        severity=int(str(plain["severity"])),
        replaced=tuple((old or "", new or "") for _, old, new in _calls(query, "replace")),
        place=file.at(node),
    )


def _calls(node: Node, function: str) -> Iterator[list[str | None]]:
    """The arguments of each call of a function: a string's own text, interpolation as written."""
    for call in walk(node):
        if call.type == "call_expression" and text(named(call)[0]) == function:
            yield [
                literal(argument) if literal(argument) is not None else text(argument).strip("'")
                for argument in named(named(call)[1])
            ]


def _pairing_faults(root: Path, rules: list[AlarmRule]) -> Iterator[str]:
    used = [rule.query_file for rule in rules]
    present = {f"queries/{p.name}" for p in (root / "infra/monitoring/queries").glob("*.kql")}
    for name in sorted(present - set(used)):
        yield f"{name} is behind no rule"
    for name in sorted(set(used) - present):
        yield f"{name} does not exist"
    if len(set(used)) != len(used) or len({rule.name for rule in rules}) != len(rules):
        yield "alerts.bicep: two rules share a name or a query"


def _time_faults(rule: AlarmRule) -> Iterator[str]:
    if rule.window.total_seconds() / 60 not in WINDOWS:
        yield f"the service takes no window of {rule.window}"
    if rule.frequency > rule.window:
        yield "evaluated more rarely than its window: something would slip through"
    if rule.look_back > timedelta(days=2):
        yield "a rule looks back two days at most"
    if rule.severity not in range(4):
        yield f"severity {rule.severity} is none"


def _limit_faults(root: Path, rule: AlarmRule) -> Iterator[str]:
    path = root / "infra/monitoring" / rule.query_file
    if not path.is_file():
        return
    file = read_bicep(root / "infra/monitoring/alerts.bicep")
    limits = expect_object(named_value(file, "defaultLimits"), "defaultLimits")
    in_query = dict(LIMIT_LINE.findall(path.read_text()))
    for name, value in in_query.items():
        if str(limits.get(name)) != value:
            yield f"{name} is {value} in the query and {limits.get(name)} in alerts.bicep"
        wanted = (f"let {name} = {value};", f"let {name} = ${{limit.{name}}};")
        if wanted not in rule.replaced:
            yield f"the limit {name} is not put into the query"
    if len(rule.replaced) != len(in_query):
        yield "replaces something that the query does not have"
