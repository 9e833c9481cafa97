"""Bicep files as trees: what they declare, and what their plain values are, read without a
compiler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import tree_sitter_bicep
from tree_sitter import Language, Node, Parser

PARSER = Parser(Language(tree_sitter_bicep.language()))

KINDS = {
    "parameter_declaration": "param",
    "variable_declaration": "var",
    "resource_declaration": "resource",
    "module_declaration": "module",
    "output_declaration": "output",
    "user_defined_function": "func",
    "type_declaration": "type",
}


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """One `param`, `var`, `resource`, `module`, `output`, `func` or `type`."""

    kind: str
    name: str
    node: Node
    decorators: tuple[str, ...]  # their names: "description", "secure", ...


@dataclass(frozen=True)
class BicepFile:
    """A parsed file. Declarations of nested resources are among `declarations` as well."""

    path: Path
    root: Node = field(repr=False)

    @cached_property
    def declarations(self) -> tuple[Declaration, ...]:
        """In file order."""
        return tuple(
            Declaration(
                kind=KINDS[node.type],
                name=declared_name(node),
                node=node,
                decorators=tuple(_decorator_names(node)),
            )
            for node in walk(self.root)
            if node.type in KINDS
        )

    @cached_property
    def imports(self) -> dict[str, Path]:
        """Imported name to the file it comes from."""
        found = {}
        for node in walk(self.root):
            if node.type == "import_functionality":
                source = next(literal(c) for c in named(node) if c.type == "string")
                for name in (c for c in named(node) if c.type == "identifier"):
                    found[text(name)] = (self.path.parent / str(source)).resolve()
        return found

    def of_kind(self, kind: str) -> dict[str, Declaration]:
        """Declarations of one kind by name."""
        return {d.name: d for d in self.declarations if d.kind == kind}

    def at(self, node: Node) -> str:
        """`file:line` of a node, for a finding."""
        return f"{self.path.name}:{node.start_point[0] + 1}"


def read_bicep(path: Path) -> BicepFile:
    """Parse one file. Never raises for bad syntax: `syntax_faults` lists what is wrong."""
    return BicepFile(path.resolve(), PARSER.parse(path.read_bytes()).root_node)


def bicep_files(root: Path) -> list[BicepFile]:
    """Every Bicep file below infra/, in a fixed order."""
    return [read_bicep(path) for path in sorted((root / "infra").rglob("*.bicep"))]


def text(node: Node) -> str:
    """Source text of a node."""
    return (node.text or b"").decode()


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, outermost first."""
    yield node
    for child in node.children:
        yield from walk(child)


def named(node: Node) -> list[Node]:
    """Children that carry meaning: no punctuation, no comments."""
    return [child for child in node.children if child.is_named and child.type != "comment"]


def declared_name(node: Node) -> str:
    """Name that a declaration introduces."""
    return next(text(child) for child in node.children if child.type == "identifier")


def literal(node: Node | None) -> str | None:
    """Text of a string without interpolation; None for anything else."""
    if node is None or node.type != "string":
        return None
    parts = named(node)
    if any(part.type == "interpolation" for part in parts):
        return None
    return "".join(
        text(part)[1:] if part.type == "escape_sequence" else text(part) for part in parts
    )


def body_of(declaration: Node) -> Node | None:
    """The object that a resource or module is made of, looking through `for` and `if`."""
    return next((node for node in walk(declaration) if node.type == "object"), None)


def properties(obj: Node) -> dict[str, tuple[Node, Node]]:
    """Property name to (property, value). Names with interpolation are left out."""
    found = {}
    for prop in named(obj):
        parts = named(prop)
        if prop.type != "object_property" or len(parts) < 2:
            continue
        key = literal(parts[0]) if parts[0].type == "string" else text(parts[0])
        if key is not None:
            found[key] = (prop, parts[-1])
    return found


def syntax_faults(file: BicepFile) -> list[str]:
    """Every place that the grammar did not understand."""
    return [
        f"{file.at(node)}: not valid Bicep near {text(node)[:40]!r}"
        for node in walk(file.root)
        if node.type == "ERROR" or node.is_missing
    ]


def _decorator_names(node: Node) -> Iterator[str]:
    above = node.prev_named_sibling
    while above is not None and above.type == "comment":
        above = above.prev_named_sibling
    if above is None or above.type != "decorators":
        return
    for decorator in named(above):
        call = named(decorator)[0]
        yield text(named(call)[0]) if call.type == "call_expression" else text(call)
