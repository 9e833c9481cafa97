"""The functions of an app as the worker described them, checked one by one."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from devhost.connections import NoStorageError, find_connection
from devhost.errors import FunctionInErrorError, HostError
from devhost.routing import Route, parse_route
from devhost.schedule import parse_schedule
from devhost.settings import Settings, UnresolvedNameError

TRIGGERS = {kind.lower(): kind for kind in ("httpTrigger", "queueTrigger", "timerTrigger")}
# The bindings whose values this host carries; all else needs an extension it does not have.
CARRIED = {*TRIGGERS, "http"}
RESOLVED = ("queueName", "connection", "schedule")
_FUNCTION_NAME = re.compile(r"[a-z][a-z0-9_-]{0,127}", re.IGNORECASE)
_BINDING_NAME = re.compile(r"\$return|(?!.*__)[a-z_][a-z0-9_]{0,127}", re.IGNORECASE)
_QUEUE_NAME = re.compile(r"(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, kw_only=True)
class Function:
    """One function that can be used, with the `%NAME%` of its trigger resolved."""

    name: str
    function_id: str
    trigger: Mapping[str, Any]
    bindings: tuple[Mapping[str, Any], ...]
    disabled: bool
    retry: Mapping[str, Any] | None = None  # the fields of its RetryPolicy

    @property
    def kind(self) -> str:
        """The type of the trigger, in the usual spelling."""
        return TRIGGERS[self.trigger["type"].lower()]

    @property
    def methods(self) -> tuple[str, ...]:
        """The HTTP methods it answers; empty means all."""
        return tuple(method.upper() for method in self.trigger.get("methods") or ())

    @property
    def route(self) -> str:
        """The route template without the prefix."""
        return str(self.trigger.get("route") or self.name)


@dataclass(kw_only=True)
class Catalogue:
    """The functions by name, in the order that routing asks, and why others are in error."""

    functions: list[Function] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    routes: list[tuple[Route, Function]] = field(default_factory=list)

    def find(self, name: str) -> Function | None:
        """By name, in any case."""
        return next((f for f in self.functions if f.name.lower() == name.lower()), None)

    def complaints(self) -> list[str]:
        """A line for each function in error."""
        return [f"The '{name}' function is in error: {why}" for name, why in self.errors.items()]

    def of(self, kind: str) -> list[Function]:
        """Those with this trigger, disabled ones too."""
        return [function for function in self.functions if function.kind == kind]


def catalogue(
    described: Iterable[Mapping[str, Any]], settings: Settings, *, prefix: str, only: frozenset[str]
) -> Catalogue:
    """Check every function; one that is in error costs only itself.

    Raises HostError where a `%NAME%` is not set or no account is known: no part of the app that
    needs it would do anything, and the reason is in the settings.
    """
    result = Catalogue()
    for raw in sorted(described, key=lambda item: item["name"].lower()):
        if only and raw["name"].lower() not in only:
            continue
        try:
            function = _function(raw, settings)
            if function.kind == "httpTrigger":
                result.routes.append((_route(function, prefix, result.routes), function))
        except (UnresolvedNameError, NoStorageError) as error:
            raise HostError(f"The '{raw['name']}' function is in error: {error}") from error
        except FunctionInErrorError as error:
            result.errors[raw["name"]] = str(error)
        else:
            result.functions.append(function)
    return result


def _function(raw: Mapping[str, Any], settings: Settings) -> Function:
    name, bindings = raw["name"], [json.loads(text) for text in raw["bindings"]]
    if not _FUNCTION_NAME.fullmatch(name) or name.lower() == "host":
        raise FunctionInErrorError(f"'{name}' is not a valid function name.")
    triggers = [binding for binding in bindings if binding["type"].lower().endswith("trigger")]
    if len(triggers) != 1:
        raise FunctionInErrorError(f"It has {len(triggers)} triggers; it needs exactly one.")
    for binding in bindings:
        _check_binding(binding)
    function = Function(
        name=name,
        function_id=raw["id"],
        trigger=_resolve(triggers[0], settings),
        bindings=tuple(bindings),
        disabled=_is_disabled(name, settings),
        retry=raw.get("retry"),
    )
    _check_trigger(function, settings)
    return function


def _check_binding(binding: Mapping[str, Any]) -> None:
    if not _BINDING_NAME.fullmatch(binding["name"]):
        raise FunctionInErrorError(
            f"The binding name {binding['name']} is invalid. "
            "Please assign a valid name to the binding."
        )
    if binding["type"].lower() not in CARRIED:
        raise FunctionInErrorError(f"The local host has no '{binding['type']}' binding.")


def _check_trigger(function: Function, settings: Settings) -> None:
    if function.kind == "queueTrigger":
        if not _QUEUE_NAME.fullmatch(function.trigger["queueName"]):
            raise FunctionInErrorError(
                f"'{function.trigger['queueName']}' is not a valid queue name."
            )
        find_connection(settings, function.trigger["connection"])
    if function.kind == "timerTrigger":
        parse_schedule(function.trigger["schedule"])
    if function.kind != "httpTrigger":
        find_connection(settings, "AzureWebJobsStorage")


def _resolve(trigger: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    resolved = dict(trigger)
    for key in RESOLVED:
        if key in resolved:
            resolved[key] = settings.resolve(resolved[key])
    if "queueName" in resolved:
        resolved["queueName"] = resolved["queueName"].lower()
        resolved["connection"] = resolved.get("connection") or "AzureWebJobsStorage"
    return resolved


def _route(function: Function, prefix: str, taken: list[tuple[Route, Function]]) -> Route:
    if function.route.lower().startswith(("admin", "runtime")):
        raise FunctionInErrorError(
            "The specified route conflicts with one or more built in routes."
        )
    route = parse_route(f"{prefix}/{function.route}", function.methods)
    for other, owner in taken:
        if other.template == route.template and other.shares_method_with(route):
            raise FunctionInErrorError(
                f"The route '{function.route}' is already used by the '{owner.name}' function."
            )
    return route


def _is_disabled(name: str, settings: Settings) -> bool:
    names = (f"AzureWebJobs.{name}.Disabled", f"AzureWebJobs_{name}_Disabled")
    return any(settings.is_true(setting) for setting in names)
