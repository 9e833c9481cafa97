"""Route templates in the style of ASP.NET: `items/{id:guid}/{size?}`, `{*rest}`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from devhost.errors import FunctionInErrorError

Check = Callable[[str], bool]
_PARAMETER = re.compile(r"(\*{0,2})([^:=?]+)((?::(?:[^:=?(]|\([^)]*\)+)+)*)(?:=(.*))?(\?)?")
_CONSTRAINT = re.compile(r":([a-zA-Z]+)(?:\((.*?)\)(?=:|$))?")
_GUID = re.compile(
    r"[0-9a-f]{32}"
    r"|(?P<open>[{(]?)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?P<close>[)}]?)",
    re.IGNORECASE,
)
_ALONE = re.compile(r"\{([^{}]|\{\{|\}\})*\}")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One `{…}` of a template."""

    name: str
    checks: tuple[Check, ...] = ()
    default: str | None = None
    optional: bool = False
    catch_all: bool = False

    def accepts(self, value: str) -> bool:
        """Whether every constraint is met."""
        return all(check(value) for check in self.checks)


@dataclass(frozen=True, kw_only=True)
class Segment:
    """What stands between two slashes: text and parameters in turn, as one pattern."""

    pattern: re.Pattern[str]
    parameters: tuple[Parameter, ...]

    @property
    def may_be_absent(self) -> bool:
        """Whether the path may end before it."""
        return bool(self.parameters) and all(
            p.optional or p.catch_all or p.default is not None for p in self.parameters
        )


@dataclass(frozen=True, kw_only=True)
class Route:
    """A template with the methods that it answers; no method means all."""

    template: str
    methods: tuple[str, ...]
    segments: tuple[Segment, ...]

    def match(self, method: str, path: list[str]) -> dict[str, str] | None:
        """The values of the parameters, or None where the request is not for this route.

        `path` is split at the slashes and decoded. A parameter that is absent has no value.
        """
        if self.methods and method.upper() not in self.methods:
            return None
        values: dict[str, str] = {}
        for index, segment in enumerate(self.segments):
            first = segment.parameters[0] if segment.parameters else None
            if first and first.catch_all:
                return _fill(segment, {first.name: "/".join(path[index:])}, values)
            text = path[index] if index < len(path) else None
            if not _take(segment, text, values):
                return None
        return values if len(path) <= len(self.segments) else None

    def shares_method_with(self, other: "Route") -> bool:
        """Whether some method would find both."""
        return not self.methods or not other.methods or bool({*self.methods} & {*other.methods})


def parse_route(template: str, methods: tuple[str, ...]) -> Route:
    """Raises FunctionInErrorError for a constraint that is not known."""
    trimmed = template.strip("/")
    parts = _split(trimmed)
    return Route(template=trimmed, methods=methods, segments=tuple(_segment(p) for p in parts))


def split_path(path: str) -> list[str]:
    """The segments of a path as a route wants them; a slash at the end counts for nothing."""
    return path.strip("/").split("/") if path.strip("/") else []


def _take(segment: Segment, text: str | None, values: dict[str, str]) -> bool:
    """Whether the segment matches; its values are then added."""
    if text is None:
        return segment.may_be_absent and _fill(segment, {}, values) is not None
    found = segment.pattern.fullmatch(text)
    if found is None:
        return False
    given = {p.name: found[f"p{i}"] for i, p in enumerate(segment.parameters)}
    return _fill(segment, given, values) is not None


def _fill(
    segment: Segment, given: Mapping[str, str], values: dict[str, str]
) -> dict[str, str] | None:
    for parameter in segment.parameters:
        value = given.get(parameter.name) or parameter.default
        if value:
            if not parameter.accepts(value):
                return None
            values[parameter.name] = value
    return values


def _split(template: str) -> list[str]:
    """At every slash that is not inside braces."""
    parts, depth = [""], 0
    for letter in template:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "/" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part]


def _segment(text: str) -> Segment:
    parameters: list[Parameter] = []
    pattern, at = "", 0
    for found in _ALONE.finditer(text):
        pattern += re.escape(text[at : found.start()]) + f"(?P<p{len(parameters)}>.+?)"
        parameters.append(_parameter(found[0][1:-1].replace("{{", "{").replace("}}", "}")))
        at = found.end()
    pattern += re.escape(text[at:])
    return Segment(pattern=re.compile(pattern, re.IGNORECASE), parameters=tuple(parameters))


def _parameter(text: str) -> Parameter:
    found = _PARAMETER.fullmatch(text)
    if found is None:
        raise FunctionInErrorError(f"'{{{text}}}' is not a valid route parameter.")
    stars, name, constraints, default, question = found.groups()
    checks = tuple(_check(c[1], c[2] or "") for c in _CONSTRAINT.finditer(constraints))
    return Parameter(
        name=name,
        checks=checks,
        default=default,
        optional=bool(question),
        catch_all=bool(stars),
    )


def _check(name: str, argument: str) -> Check:
    """The constraint `name(argument)`."""
    simple: dict[str, Check] = {
        "int": lambda v: _is_whole(v, 31),
        "long": lambda v: _is_whole(v, 63),
        "bool": lambda v: v.lower() in ("true", "false"),
        "guid": _is_guid,
        "alpha": lambda v: re.fullmatch("[a-zA-Z]*", v) is not None,
        "decimal": _is_number,
        "double": _is_number,
        "float": _is_number,
        "datetime": _is_time,
        "required": bool,
    }
    if name in simple:
        return simple[name]
    if name == "regex":
        return lambda v: re.search(argument, v, re.IGNORECASE) is not None
    return _bounded(name, argument)


def _bounded(name: str, argument: str) -> Check:
    measure: Callable[[str], int] = len if "length" in name else int
    try:
        numbers = [int(number) for number in argument.split(",")]
        low, high = {
            "length": lambda: (numbers[0], numbers[-1]),
            "minlength": lambda: (numbers[0], None),
            "maxlength": lambda: (None, numbers[0]),
            "min": lambda: (numbers[0], None),
            "max": lambda: (None, numbers[0]),
            "range": lambda: (numbers[0], numbers[1]),
        }[name]()
    except (KeyError, ValueError, IndexError) as error:
        raise FunctionInErrorError(f"The route constraint '{name}' is not known.") from error

    def check(value: str) -> bool:
        if measure is int and not _is_whole(value, 63):
            return False
        size = measure(value)
        return (low is None or size >= low) and (high is None or size <= high)

    return check


def _is_guid(value: str) -> bool:
    found = _GUID.fullmatch(value.strip())
    pairs = {None: None, "": "", "{": "}", "(": ")"}
    return found is not None and pairs[found["open"]] == found["close"]


def _is_whole(value: str, bits: int) -> bool:
    if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", value):
        return False
    return -(2**bits) <= int(value) < 2**bits


def _is_number(value: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", value, re.IGNORECASE) is not None


def _is_time(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True
