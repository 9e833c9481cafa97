"""What the app's code says of itself, read from its source without importing it: settings,
functions, log events."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PRODUCT = ("function_app.py", "shared", "process_image_job", "cleanup_abandoned_drafts")
TRIGGERS = {"route": "http", "queue_trigger": "queue", "timer_trigger": "timer"}


@dataclass(frozen=True, kw_only=True)
class Function:
    """One function of function_app.py."""

    name: str
    trigger: str  # "http", "queue" or "timer"
    queue: str | None  # as written, such as "%IMAGE_JOBS_QUEUE%"


@dataclass(frozen=True, kw_only=True)
class Event:
    """One log event that shared/telemetry.py can write: its fields by JSON name, their types in
    JSON words."""

    name: str
    function: str
    fields: dict[str, str]
    about_draft: bool


def setting_defaults(root: Path) -> dict[str, str]:
    """Each setting of shared/settings.py with its default, as both stand in the environment."""
    tree = ast.parse((root / "shared/settings.py").read_text())
    constants = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    settings = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Settings")
    found = {}
    for field in settings.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            value = field.value
            if isinstance(value, ast.Name):
                value = constants[value.id]
            found[field.target.id.upper()] = _environment_text(value)
    return found


def functions(root: Path) -> list[Function]:
    """Every function that function_app.py registers, in file order."""
    tree = ast.parse((root / "function_app.py").read_text())
    return [f for node in ast.walk(tree) if (f := _function(node))]


def events(root: Path) -> list[Event]:
    """Every event of shared/telemetry.py: the functions that call `_tell` with a literal name."""
    tree = ast.parse((root / "shared/telemetry.py").read_text())
    found = []
    for function in (n for n in tree.body if isinstance(n, ast.FunctionDef)):
        for call in (n for n in ast.walk(function) if isinstance(n, ast.Call)):
            if isinstance(call.func, ast.Name) and call.func.id == "_tell":
                found.append(_event(function, call))
    return found


def called_events(root: Path) -> set[str]:
    """Names of the telemetry functions that the product calls somewhere."""
    return {
        node.func.attr
        for path in product_files(root)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "telemetry"
    }


def product_files(root: Path) -> Iterator[Path]:
    """Every Python file that is deployed."""
    for name in PRODUCT:
        path = root / name
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def _environment_text(value: ast.expr | None) -> str:
    if not isinstance(value, ast.Constant):
        raise TypeError(f"a default that is no literal: {value and ast.dump(value)}")
    return str(value.value).lower() if isinstance(value.value, bool) else str(value.value)


def _function(node: ast.AST) -> Function | None:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    calls = {
        call.func.attr: call
        for call in node.decorator_list
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    }
    trigger = next((name for name in TRIGGERS if name in calls), None)
    if trigger is None:
        return None
    named = calls.get("function_name")
    return Function(
        name=_argument(named, "name") or node.name,
        trigger=TRIGGERS[trigger],
        queue=_argument(calls[trigger], "queue_name"),
    )


def _argument(call: ast.Call | None, keyword: str) -> str | None:
    """A string argument by keyword; for `function_name` also the first positional one."""
    if call is None:
        return None
    given = {k.arg: k.value for k in call.keywords}
    value = given.get(keyword) or (call.args[0] if keyword == "name" and call.args else None)
    return str(value.value) if isinstance(value, ast.Constant) else None


def _event(function: ast.FunctionDef, call: ast.Call) -> Event:
    subject = {k.arg: k.value for k in call.keywords}.get("subject")
    name = call.args[1]
    return Event(
        name=str(name.value) if isinstance(name, ast.Constant) else ast.unparse(name),
        function=function.name,
        fields={
            _camel(arg.arg): _json_type(ast.unparse(arg.annotation) if arg.annotation else "")
            for arg in function.args.kwonlyargs
        },
        about_draft=not (isinstance(subject, ast.Constant) and subject.value is False),
    )


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _json_type(annotation: str) -> str:
    plain = annotation.removesuffix(" | None")
    return {"str": "string", "int": "integer", "bool": "boolean", "float": "number"}.get(
        plain, plain
    )
