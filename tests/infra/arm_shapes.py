"""Resources in Bicep against what Azure takes: API versions, property names, enum values, kinds of
values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tree_sitter import Node

from tests.infra.arm_types import choices_of, element_of, fields_of, plain, shape_of
from tests.infra.bicep_tree import (
    BicepFile,
    Declaration,
    bicep_files,
    body_of,
    literal,
    named,
    properties,
    text,
)

# One version per type family, each generally available but for diagnostic settings, which have
# none.
API_VERSIONS = {
    "Microsoft.Authorization": "2022-04-01",
    "Microsoft.Insights/actionGroups": "2023-01-01",
    "Microsoft.Insights/components": "2020-02-02",
    "Microsoft.Insights/diagnosticSettings": "2021-05-01-preview",
    "Microsoft.Insights/scheduledQueryRules": "2023-12-01",
    "Microsoft.Insights/workbooks": "2023-06-01",
    "Microsoft.ManagedIdentity": "2024-11-30",
    "Microsoft.Network/privateDnsZones": "2024-06-01",
    "Microsoft.Network": "2025-05-01",
    "Microsoft.OperationalInsights": "2025-07-01",
    "Microsoft.Resources": "2024-03-01",
    "Microsoft.Storage": "2025-06-01",
    "Microsoft.Web": "2025-03-01",
}
# Bicep's own words in a resource body.
KEYWORDS = frozenset({"name", "parent", "scope", "dependsOn"})
SCALARS = {"boolean": bool, "number": int, "string": str}


def check_shapes(root: Path) -> list[str]:
    """Each resource has a known type at the house's API version, and only what that type takes."""
    found: list[str] = []
    for file in bicep_files(root):
        for resource in file.of_kind("resource").values():
            found += _resource_faults(file, resource)
    return found


def resource_type(resource: Declaration) -> tuple[str, str]:
    """Full type and API version; a nested resource takes both from the one around it."""
    written = next((literal(c) for c in resource.node.children if c.type == "string"), None) or ""
    kind, _, version = written.partition("@")
    outer = _enclosing(resource.node)
    if "." in kind or outer is None:
        return kind, version
    outer_kind, outer_version = resource_type(outer)
    return f"{outer_kind}/{kind}", version or outer_version


def _enclosing(node: Node) -> Declaration | None:
    above = node.parent
    while above is not None and above.type != "resource_declaration":
        above = above.parent
    return above and Declaration(kind="resource", name="", node=above, decorators=())


def _resource_faults(file: BicepFile, resource: Declaration) -> Iterator[str]:
    kind, version = resource_type(resource)
    family = max((f for f in API_VERSIONS if kind.startswith(f)), key=len, default=None)
    wanted = API_VERSIONS.get(family or "")
    if version != wanted:
        yield f"{file.at(resource.node)}: {kind} at {version!r}, the house has {wanted!r}"
    body = body_of(resource.node)
    given = properties(body) if body else {}
    if "name" not in given:
        yield f"{file.at(resource.node)}: {kind} has no name"
        return
    shape = shape_of(kind, literal(given["name"][1]))
    if shape is None:
        yield f"{file.at(resource.node)}: nothing describes {kind}"
    elif body is not None:
        yield from _compare(file, body, shape, kind, skip=KEYWORDS)


def _compare(
    file: BicepFile, node: Node, kind: Any, where: str, skip: frozenset[str] = frozenset()
) -> Iterator[str]:
    if node.type == "array":
        for item in named(node):
            yield from _compare(file, item, element_of(kind), f"{where}[]")
    elif node.type == "object":
        yield from _compare_object(file, node, kind, where, skip)
    elif node.type == "ternary_expression":
        for side in named(node)[1:]:
            yield from _compare(file, side, kind, where)
    else:
        yield from _compare_scalar(file, node, kind, where)


def _compare_object(
    file: BicepFile, node: Node, kind: Any, where: str, skip: frozenset[str]
) -> Iterator[str]:
    records = [fields for one in plain(kind) if (fields := fields_of(one))]
    if not records:
        return
    known = {name.lower(): kind for fields in records for name, kind in fields.items()}
    for name, (prop, value) in properties(node).items():
        if name in skip:
            continue
        if name.lower() not in known:
            yield f"{file.at(prop)}: {where} has no property {name!r}"
        else:
            yield from _compare(file, value, known[name.lower()], f"{where}.{name}")


def _compare_scalar(file: BicepFile, node: Node, kind: Any, where: str) -> Iterator[str]:
    written = literal(node)
    choices = choices_of(kind)
    if written is not None and choices and written.lower() not in choices:
        yield f"{file.at(node)}: {where} is none of {', '.join(sorted(choices))}: {written!r}"
    wanted = [one for one in plain(kind) if one in (bool, int, float, str)]
    given = SCALARS.get(node.type)
    if given and wanted and not any(given is one or (given, one) == (int, float) for one in wanted):
        yield f"{file.at(node)}: {where} wants another kind of value than {text(node)}"
