"""Who may do what: every role assignment in Bicep, against the one list of what is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tree_sitter import Node

from tests.infra.arm_shapes import resource_type
from tests.infra.bicep_tree import (
    BicepFile,
    Declaration,
    bicep_files,
    body_of,
    named,
    properties,
    text,
    walk,
)
from tests.infra.bicep_values import named_value, value_of

# Azure's own ids of the roles that we use.
ROLE_IDS = {
    "b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe": "Storage Blob Data Contributor",
    "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1": "Storage Blob Data Reader",
    "974c5e8b-45b9-4653-ba55-5f855dd0fb88": "Storage Queue Data Contributor",
    "19e7f393-937e-4f77-808e-94535e297925": "Storage Queue Data Reader",
    "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3": "Storage Table Data Contributor",
    "3913510d-42f4-4e42-8a64-420c390055eb": "Monitoring Metrics Publisher",
}
# (scope, principal) -> roles. Nobody has more, nobody has less.
NEEDED = {
    ("hostStorage", "appPrincipalId"): {
        "Storage Blob Data Owner",
        "Storage Table Data Contributor",
    },
    ("dataStorage", "appPrincipalId"): {
        "Storage Blob Data Contributor",
        "Storage Queue Data Contributor",
        "Storage Table Data Contributor",
    },
    ("applicationInsights", "appPrincipalId"): {"Monitoring Metrics Publisher"},
    ("dataStorage", "kedaPrincipalId"): {"Storage Queue Data Reader"},
    ("hostStorage", "deployerPrincipalId"): {"Storage Blob Data Reader"},
}


def check_roles(root: Path) -> list[str]:
    """The assignments are exactly the needed ones; each name holds scope, principal and role."""
    found: list[str] = []
    given: dict[tuple[str, str], set[str]] = {}
    for file in bicep_files(root):
        for resource in file.of_kind("resource").values():
            if resource_type(resource)[0] != "Microsoft.Authorization/roleAssignments":
                continue
            found += _name_faults(file, resource)
            scope, principal, roles = _assignment(file, resource)
            given.setdefault((scope, principal), set()).update(roles)
    for key in sorted(NEEDED.keys() | given.keys()):
        if NEEDED.get(key) != given.get(key):
            found.append(f"roles of {key[1]} on {key[0]}: {given.get(key)}, not {NEEDED.get(key)}")
    return found


def _assignment(file: BicepFile, resource: Declaration) -> tuple[str, str, set[str]]:
    body = properties(_body(resource))
    inner = properties(body["properties"][1])
    scope = text(body["scope"][1]) if "scope" in body else "resource group"
    role = named(named(inner["roleDefinitionId"][1])[1])[-1]
    ids = _loop_values(file, resource, text(role)) or [value_of(file, role)]
    names = {ROLE_IDS.get(str(one), f"unknown role {one}") for one in ids}
    return scope, text(inner["principalId"][1]), names


def _loop_values(file: BicepFile, resource: Declaration, variable: str) -> list[object]:
    for node in walk(resource.node):
        if node.type == "for_statement" and text(named(node)[0]) == variable:
            values = named_value(file, text(named(node)[1]))
            return list(values) if isinstance(values, list) else []
    return []


def _name_faults(file: BicepFile, resource: Declaration) -> Iterator[str]:
    name = properties(_body(resource))["name"][1]
    arguments = [text(a) for a in named(named(name)[1])] if name.type == "call_expression" else []
    if len(arguments) < 3 or not any("PrincipalId" in a for a in arguments):
        yield f"{file.at(resource.node)}: the name must be a guid of scope, principal and role"


def _body(resource: Declaration) -> Node:
    body = body_of(resource.node)
    if body is None:
        raise TypeError(f"{resource.name} has no body")
    return body
