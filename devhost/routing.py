"""Route templates in the style of ASP.NET: `items/{id:guid}/{size?}`, `{*rest}`."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from devhost.errors import FunctionInErrorError

Check = Callable[[str], bool]
_BRACED = re.compile(r"\{((?:[^{}]|\{\{|\}\})*)\}")
_PARAMETER = re.compile(r"(\**)([^:=?*]+)((?::[a-z]+(?:\(.*?\)(?=[:=?]|$))?)*)(?:=(.*?))?(\?)?")
_CONSTRAINT = re.compile(r":([a-z]+)(?:\((.*?)\)(?=:|$))?")
_DIGITS = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
PATTERNS = {
    "guid": rf"\s*(?:[0-9a-f]{{32}}|{_DIGITS}|\{{{_DIGITS}\}}|\({_DIGITS}\))\s*",
    "alpha": "[a-z]*",
    "bool": "true|false",
    "double": r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?",
    "required": ".+",
}
PATTERNS["float"] = PATTERNS["decimal"] = PATTERNS["double"]
WHOLE = {"int": 31, "long": 63}
# The smallest and largest measure by the numbers in the brackets; None has no limit.
BOUNDS: dict[str, Callable[[list[int]], tuple[int | None, int | None]]] = {
    "length": lambda n: (n[0], n[-1]),
    "range": lambda n: (n[0], n[1]),
    "min": lambda n: (n[0], None),
    "minlength": lambda n: (n[0], None),
    "max": lambda n: (None, n[0]),
    "maxlength": lambda n: (None, n[0]),
}


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One `{…}` of a template."""

    name: str
    checks: tuple[Check, ...]
    default: str | None
    optional: bool
    catch_all: bool

    @property
    def may_be_absent(self) -> bool:
        """Whether the path may end before it."""
        return self.optional or self.catch_all or self.default is not None


@dataclass(frozen=True, kw_only=True)
class Route:
    """A template with the methods that it answers; no method means all."""

    template: str
    methods: tuple[str, ...]
    pattern: re.Pattern[str]
    parameters: tuple[Parameter, ...]

    def match(self, method: str, raw_path: str) -> dict[str, str] | None:
        """The decoded values of the parameters, or None where the request is for another route.

        A parameter that is absent has no value. A slash at the end of the path counts for nothing.
        """
        if self.methods and method.upper() not in self.methods:
            return None
        found = self.pattern.fullmatch(decode_path(raw_path).rstrip("/"))
        if found is None:
            return None
        values: dict[str, str] = {}
        for parameter, given in zip(self.parameters, found.groups(), strict=True):
            value = given or parameter.default
            if value and not all(check(value) for check in parameter.checks):
                return None
            values |= {parameter.name: value} if value else {}
        return values

    def shares_method_with(self, other: "Route") -> bool:
        """Whether some method would find both."""
        return not self.methods or not other.methods or bool({*self.methods} & {*other.methods})


def parse_route(template: str, methods: tuple[str, ...]) -> Route:
    """Raises FunctionInErrorError for a constraint that is not known."""
    pattern, parameters = "", []
    for segment in _split(template):
        part, inside = _segment(segment)
        parameters += inside
        absent = inside and all(parameter.may_be_absent for parameter in inside)
        pattern += f"(?:/{part})?" if absent else f"/{part}"
    return Route(
        template=template.strip("/").lower(),
        methods=methods,
        pattern=re.compile(pattern, re.IGNORECASE | re.DOTALL),
        parameters=tuple(parameters),
    )


def decode_path(raw_path: str) -> str:
    """Everything decoded but an escaped slash, which stays part of its segment."""
    return "%2F".join(unquote(part) for part in re.split("%2f", raw_path, flags=re.IGNORECASE))


def _split(template: str) -> list[str]:
    """At every slash that is not inside braces."""
    return [part for part in re.split(r"/(?![^{}]*\})", template.strip("/")) if part]


def _segment(text: str) -> tuple[str, list[Parameter]]:
    """What stands between two slashes: text and parameters in turn, as one pattern."""
    pattern, at, parameters = "", 0, []
    for found in _BRACED.finditer(text):
        parameter = _parameter(found[1].replace("{{", "{").replace("}}", "}"))
        pattern += re.escape(text[at : found.start()])
        pattern += "(.*)" if parameter.catch_all else "([^/]+?)"
        parameters.append(parameter)
        at = found.end()
    return pattern + re.escape(text[at:]), parameters


def _parameter(text: str) -> Parameter:
    found = _PARAMETER.fullmatch(text)
    if found is None:
        raise FunctionInErrorError(f"'{{{text}}}' is not a valid route parameter.")
    stars, name, constraints, default, question = found.groups()
    return Parameter(
        name=name,
        checks=tuple(_check(c[1], c[2] or "") for c in _CONSTRAINT.finditer(constraints)),
        default=default,
        optional=bool(question),
        catch_all=bool(stars),
    )


def _check(name: str, argument: str) -> Check:
    """The constraint `name(argument)`."""
    if name in PATTERNS:
        return lambda value: re.fullmatch(PATTERNS[name], value, re.IGNORECASE) is not None
    if name in WHOLE:
        return lambda value: _is_whole(value, WHOLE[name])
    if name == "regex":
        return lambda value: re.search(argument, value, re.IGNORECASE) is not None
    try:
        low, high = BOUNDS[name]([int(number) for number in argument.split(",")])
    except (KeyError, ValueError, IndexError) as error:
        raise FunctionInErrorError(f"The route constraint '{name}' is not known.") from error
    if "length" in name:
        return lambda value: _between(low, len(value), high)
    return lambda value: _is_whole(value, 63) and _between(low, int(value), high)


def _is_whole(value: str, bits: int) -> bool:
    return re.fullmatch(r"\s*[+-]?[0-9]+\s*", value) is not None and (
        -(2**bits) <= int(value) < 2**bits
    )


def _between(low: int | None, value: int, high: int | None) -> bool:
    return (low is None or low <= value) and (high is None or value <= high)
