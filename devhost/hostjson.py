"""host.json, overruled by settings whose name starts with AzureFunctionsJobHost."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from devhost.errors import HostError
from devhost.timespan import parse_timespan

PREFIX = "azurefunctionsjobhost:"
LEVELS = ("trace", "debug", "information", "warning", "error", "critical", "none")
INFORMATION = LEVELS.index("information")
DEVELOPMENT_POLLING = timedelta(seconds=2)


@dataclass(frozen=True, kw_only=True)
class QueueOptions:
    """`extensions.queues`. The visibility timeout is the wait after a failure, not the lease."""

    batch_size: int
    new_batch_threshold: int
    max_polling_interval: timedelta
    max_dequeue_count: int
    visibility_timeout: timedelta
    base64: bool


@dataclass(frozen=True, kw_only=True)
class HostOptions:
    """What host.json says after the environment had its word."""

    queues: QueueOptions
    route_prefix: str
    custom_headers: Mapping[str, str]
    function_timeout: timedelta | None  # None is unbounded
    functions: frozenset[str]  # in lower case; empty means all
    log_levels: Mapping[str, int]  # by the start of a category, in lower case, or `default`
    bundle: Mapping[str, str]

    def log_level(self, category: str) -> int:
        """The lowest level shown of a category: the longest start that matches decides."""
        starts = [start for start in self.log_levels if category.lower().startswith(start)]
        return self.log_levels.get(max(starts, key=len, default="default"), INFORMATION)


def read(app: Path, environ: Mapping[str, str]) -> HostOptions:
    """Raises HostError for a file that is missing or broken, or a value out of range."""
    path = app / "host.json"
    if not path.is_file():
        raise HostError(f"No host.json in '{app}': this is not the folder of a Functions app.")
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise HostError(f"Unable to parse host configuration file '{path}'. {error}") from error
    if not isinstance(content, dict):
        raise HostError(f"Unable to parse host configuration file '{path}'. It is no object.")
    values = dict(_flatten(content)) | dict(_overrides(environ))
    if content and values.get("version") != "2.0":
        raise HostError(f'The host.json file \'{path}\' must say "version": "2.0".')
    try:
        return _options(values)
    except (ValueError, KeyError) as error:
        raise HostError(f"The host.json file '{path}' is invalid: {error}") from error


def _options(values: Mapping[str, str]) -> HostOptions:
    return HostOptions(
        queues=_queue_options(values),
        route_prefix=values.get("extensions:http:routeprefix", "api").strip("/"),
        custom_headers=_group(values, "extensions:http:customheaders"),
        function_timeout=_function_timeout(values.get("functiontimeout", "00:30:00")),
        functions=frozenset(name.lower() for name in _group(values, "functions").values()),
        log_levels={
            start: LEVELS.index(level.lower())
            for start, level in _group(values, "logging:loglevel").items()
        },
        bundle=_group(values, "extensionbundle"),
    )


def _queue_options(values: Mapping[str, str]) -> QueueOptions:
    section = _group(values, "extensions:queues")
    batch_size = _number(section, "batchsize", 16, 1, 32)
    processors = os.process_cpu_count() or 1
    polling = parse_timespan(section.get("maxpollinginterval", "00:01:00"))
    if polling < timedelta(milliseconds=100):
        raise ValueError("MaxPollingInterval must not be less than 00:00:00.1000000")
    encoding = section.get("messageencoding", "base64").lower()
    if encoding not in ("base64", "none"):
        raise ValueError(f"messageEncoding must be base64 or none, not '{encoding}'")
    return QueueOptions(
        batch_size=batch_size,
        new_batch_threshold=_number(
            section, "newbatchthreshold", batch_size // 2 * processors, 0, 2**31
        ),
        max_polling_interval=DEVELOPMENT_POLLING if polling == timedelta(minutes=1) else polling,
        max_dequeue_count=_number(section, "maxdequeuecount", 5, 1, 2**31),
        visibility_timeout=parse_timespan(section.get("visibilitytimeout", "00:00:00")),
        base64=encoding == "base64",
    )


def _number(section: Mapping[str, str], key: str, default: int, low: int, high: int) -> int:
    value = int(section.get(key, default))
    if not low <= value <= high:
        raise ValueError(f"{key} must be from {low} to {high}, not {value}")
    return value


def _function_timeout(text: str) -> timedelta | None:
    if text == "-1":
        return None
    span = parse_timespan(text)
    if span < timedelta(seconds=1):
        raise ValueError(f"functionTimeout must be at least one second, not '{text}'")
    return span


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Leaves by their path in lower case; the members of a list by their index."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, child in pairs:
            yield from _flatten(child, f"{path}:{str(key).lower()}" if path else str(key).lower())
    elif value is not None:
        yield path, value if isinstance(value, str) else json.dumps(value)


def _overrides(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        path = name.replace("__", ":").lower()
        if path.startswith(PREFIX):
            yield path.removeprefix(PREFIX), value


def _group(values: Mapping[str, str], path: str) -> dict[str, str]:
    start = f"{path}:"
    return {
        key.removeprefix(start): value for key, value in values.items() if key.startswith(start)
    }
