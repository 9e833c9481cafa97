"""Frozen values to table rows and back.

Plain fields become columns; nested values become one JSON column each; null is an absent column.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from math import isfinite
from typing import Any, cast

from pydantic import ConfigDict, TypeAdapter
from pydantic.alias_generators import to_camel
from pydantic_core import CoreConfig, SchemaValidator, to_jsonable_python

from shared import telemetry
from shared.ports import Row, Value

_name_of = cache(to_camel)  # a few dozen names, asked for with every row
_PLAIN = (str, int, float, bool, datetime, bytes)


def to_values(value: Any, *, leave_out: frozenset[str] = frozenset()) -> dict[str, Value]:
    """The columns of a frozen dataclass, names in camelCase.

    Raises ValueError for NaN, and for text that would not read back.
    """
    columns: dict[str, Value] = {}
    for field in fields(value):
        if field.name in leave_out:
            continue
        content = getattr(value, field.name)
        if content is not None:
            columns[_name_of(field.name)] = _column(content)
    return columns


def from_values[T](kind: type[T], values: Mapping[str, Value], **more: object) -> T:
    """The dataclass again; columns that it does not know are ignored.

    Raises ValueError where a column does not fit, or a time does not say its zone.
    """
    named: dict[str, Any] = dict(more)
    for field in fields(kind):  # type: ignore[arg-type]
        column = values.get(_name_of(field.name))
        if column is not None and field.name not in named:
            named[field.name] = _content(kind, field.name, column)
    decoded: T = _decoder(cast(type, kind)).validate_python(named)
    return decoded


def readable[T](kind: type[T], row: Row, **more: object) -> T | None:
    """The dataclass of a row; None for a damaged one: it is told, and stops nobody."""
    try:
        return from_values(kind, row.values, **more)
    except ValueError as error:
        telemetry.row_unreadable(kind=kind.__name__, row_key=row.key, code=type(error).__name__)
        return None


def _column(content: Any) -> Value:
    if isinstance(content, Enum):
        return str(content.value)
    if isinstance(content, datetime):
        return content.astimezone(UTC)
    if isinstance(content, float) and not isfinite(content):
        raise ValueError("a number that is not finite cannot be stored")
    if isinstance(content, _PLAIN):
        return content
    text = json.dumps(to_jsonable_python(content), allow_nan=False, separators=(",", ":"))
    _JSON.validate_json(text)  # half a character passes json.dumps, and no row would be read again
    return text


def _content(kind: type, name: str, column: Value) -> Any:
    if name in _nested_fields(kind) and isinstance(column, str):
        return _JSON.validate_json(column)
    return column


# The host logs what a function raises: an error names the column and quotes nothing of it.
_JSON: TypeAdapter[Any] = TypeAdapter(Any, config=ConfigDict(hide_input_in_errors=True))
_UNQUOTED = CoreConfig(hide_input_in_errors=True)


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


@cache
def _decoder(kind: type) -> SchemaValidator:
    return SchemaValidator(_zoned(_adapter(kind).core_schema), _UNQUOTED)


def _zoned(schema: Any) -> Any:
    """The schema in which every time has to say its zone: no other can be compared with ours."""
    if isinstance(schema, list):
        return [_zoned(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {name: _zoned(part) for name, part in schema.items()}
    return parts | {"tz_constraint": "aware"} if parts.get("type") == "datetime" else parts


@cache
def _nested_fields(kind: type) -> frozenset[str]:
    """Fields whose JSON schema is neither a plain value nor null: they are stored as JSON."""
    schema = _adapter(kind).json_schema()
    properties: dict[str, Any] = schema["properties"]
    return frozenset(
        name for name, shape in properties.items() if not _is_plain(shape, schema.get("$defs", {}))
    )


def _is_plain(shape: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    if "$ref" in shape:
        return _is_plain(definitions[shape["$ref"].rsplit("/", 1)[-1]], definitions)
    if "anyOf" in shape:
        return all(_is_plain(option, definitions) for option in shape["anyOf"])
    return shape.get("type") not in ("object", "array")
