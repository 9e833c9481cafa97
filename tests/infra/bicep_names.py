"""Names in Bicep: each used name is declared, each declared one is used, modules get what they ask
for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tree_sitter import Node

from tests.infra.bicep_tree import (
    KINDS,
    BicepFile,
    Declaration,
    bicep_files,
    body_of,
    literal,
    named,
    properties,
    read_bicep,
    syntax_faults,
    text,
    walk,
)

# The functions of the language that we use; another one is added here when it is first needed.
FUNCTIONS = {
    "cidrSubnet",
    "deployer",
    "empty",
    "environment",
    "guid",
    "items",
    "length",
    "loadTextContent",
    "range",
    "replace",
    "resourceGroup",
    "subscriptionResourceId",
    "tenant",
    "union",
    "uniqueString",
}
# What the house does not write, because the grammar cannot read it.
BANNED_NODES = {"spread_expression": "spread", "extension_declaration": "extension"}


def check_syntax(root: Path) -> list[str]:
    """Every file below infra/ parses whole, in the house dialect, and takes nothing from a
    registry."""
    found = []
    for file in bicep_files(root):
        found += syntax_faults(file)
        for node in walk(file.root):
            if node.type in BANNED_NODES:
                found.append(f"{file.at(node)}: {BANNED_NODES[node.type]} is not in our dialect")
            if (literal(node) or "").startswith(("br:", "br/", "ts:")):
                found.append(f"{file.at(node)}: a module from a registry: {text(node)}")
    return found


def check_names(root: Path) -> list[str]:
    """Names, module parameters and module outputs fit together in every file."""
    found: list[str] = []
    for file in bicep_files(root):
        found += _undeclared(file)
        found += _unused(file)
        found += _undescribed(file)
        found += _not_exported(file)
        for module in file.of_kind("module").values():
            found += _module_faults(file, module)
    return found


def _uses(node: Node, local: frozenset[str] = frozenset()) -> Iterator[tuple[str, Node]]:
    """Names that an expression takes from its surroundings; loop variables are not among them."""
    if node.type in ("decorator", "import_functionality"):
        return
    if node.type == "for_statement":
        local |= _loop_names(node)
    if node.type == "identifier" and not _is_label(node) and text(node) not in local:
        yield text(node), node
    for child in node.children:
        yield from _uses(child, local)


def _loop_names(loop: Node) -> frozenset[str]:
    head = named(loop)[0]
    names = [head] if head.type == "identifier" else named(head)
    return frozenset(text(name) for name in names)


def _is_label(node: Node) -> bool:
    """Whether an identifier names something here instead of using it."""
    parent = node.parent
    if parent is None or parent.type in ("loop_variable", "type", "target_scope_assignment"):
        return True
    first = next((c for c in parent.children if c.type == "identifier"), None)
    return first == node and (parent.type in KINDS or parent.type == "object_property")


def _undeclared(file: BicepFile) -> list[str]:
    known = {d.name for d in file.declarations} | set(file.imports) | FUNCTIONS | {"targetScope"}
    return [
        f"{file.at(node)}: {name!r} is not declared"
        for name, node in _uses(file.root)
        if name not in known
    ]


def _unused(file: BicepFile) -> list[str]:
    used = {name for name, _ in _uses(file.root)}
    declared = [d for d in file.declarations if d.kind in ("param", "var")]
    found = [
        f"{file.at(d.node)}: {d.kind} {d.name!r} is never used"
        for d in declared
        if d.name not in used and "export" not in d.decorators
    ]
    return found + [
        f"{file.path.name}: import {name!r} is never used"
        for name in file.imports
        if name not in used
    ]


def _undescribed(file: BicepFile) -> list[str]:
    return [
        f"{file.at(d.node)}: parameter {d.name!r} has no @description"
        for d in file.of_kind("param").values()
        if "description" not in d.decorators
    ]


def _not_exported(file: BicepFile) -> Iterator[str]:
    for name, source in file.imports.items():
        variable = read_bicep(source).of_kind("var").get(name) if source.is_file() else None
        if variable is None or "export" not in variable.decorators:
            yield f"{file.path.name}: {source.name} exports no {name!r}"


def _module_faults(file: BicepFile, module: Declaration) -> Iterator[str]:
    source = next((literal(c) for c in module.node.children if c.type == "string"), None) or ""
    target = file.path.parent / source
    if not target.is_file():
        yield f"{file.at(module.node)}: module file {source!r} does not exist"
        return
    called = read_bicep(target)
    given = _given_params(module)
    wanted = called.of_kind("param")
    for name in sorted(given - set(wanted)):
        yield f"{file.at(module.node)}: {source} has no parameter {name!r}"
    for name, parameter in wanted.items():
        if name not in given and len(named(parameter.node)) < 3:
            yield f"{file.at(module.node)}: {source} needs parameter {name!r}"
    for name, node in _outputs_read(file, module.name):
        if name not in called.of_kind("output"):
            yield f"{file.at(node)}: {source} has no output {name!r}"


def _given_params(module: Declaration) -> set[str]:
    body = body_of(module.node)
    params = properties(body).get("params") if body else None
    return set(properties(params[1])) if params else set()


def _outputs_read(file: BicepFile, module: str) -> Iterator[tuple[str, Node]]:
    for node in walk(file.root):
        if node.type != "member_expression":
            continue
        path = text(node).replace("!", "").split(".")
        if len(path) == 3 and path[:2] == [module, "outputs"]:
            yield path[2], node
