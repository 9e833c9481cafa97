"""Plain values in Bicep, read without running it: literals, variables, imports, `union`, member
access.

Checks want to see everything that *may* be deployed, so of a conditional both sides count.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from tests.infra.bicep_tree import BicepFile, literal, named, properties, read_bicep, text


@dataclass(frozen=True)
class Computed:
    """A value that only a deployment knows; `source` is its expression."""

    source: str


type Value = str | int | bool | list[Value] | dict[str, Value] | Computed | None


def value_of(file: BicepFile, node: Node) -> Value:
    """The value of an expression, `Computed` where it is not plain."""
    reader = READERS.get(node.type)
    return reader(file, node) if reader else Computed(text(node))


def named_value(file: BicepFile, name: str) -> Value:
    """The value behind a name: a variable, an imported variable, or a parameter's default."""
    if name in file.imports:
        return named_value(read_bicep(file.imports[name]), name)
    variable = file.of_kind("var").get(name)
    if variable:
        return value_of(file, named(variable.node)[-1])
    parameter = file.of_kind("param").get(name)
    if parameter and len(named(parameter.node)) > 2:
        return value_of(file, named(parameter.node)[-1])
    return Computed(name)


def expect_object(value: Value, what: str) -> dict[str, Value]:
    """The value, which must be an object. Raises TypeError with `what` in its text otherwise."""
    if not isinstance(value, dict):
        raise TypeError(f"{what} is no plain object: {value!r}")
    return value


def _string(_file: BicepFile, node: Node) -> Value:
    plain = literal(node)
    return Computed(text(node)) if plain is None else plain


def _array(file: BicepFile, node: Node) -> Value:
    return [value_of(file, item) for item in named(node)]


def _object(file: BicepFile, node: Node) -> Value:
    return {key: value_of(file, value) for key, (_, value) in properties(node).items()}


def _identifier(file: BicepFile, node: Node) -> Value:
    return named_value(file, text(node))


def _member(file: BicepFile, node: Node) -> Value:
    base, key = named(node)
    owner = value_of(file, base)
    if isinstance(owner, dict) and text(key) in owner:
        return owner[text(key)]
    return Computed(text(node))


def _call(file: BicepFile, node: Node) -> Value:
    callee, arguments = named(node)
    if text(callee) != "union":
        return Computed(text(node))
    merged: dict[str, Value] = {}
    for argument in named(arguments):
        part = value_of(file, argument)
        merged |= part if isinstance(part, dict) else {}
    return merged


def _conditional(file: BicepFile, node: Node) -> Value:
    _, yes, no = (value_of(file, part) for part in named(node))
    if isinstance(yes, dict) and isinstance(no, dict):
        return yes | no
    if isinstance(yes, list) and isinstance(no, list):
        return yes + no
    return Computed(text(node))


READERS = {
    "string": _string,
    "number": lambda _file, node: int(text(node)),
    "boolean": lambda _file, node: text(node) == "true",
    "null": lambda _file, _node: None,
    "array": _array,
    "object": _object,
    "identifier": _identifier,
    "member_expression": _member,
    "call_expression": _call,
    "ternary_expression": _conditional,
}
