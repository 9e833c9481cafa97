"""host.json: its defaults, its limits, and the environment over it."""

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from devhost.errors import HostError
from devhost.hostjson import HostOptions, read


def options(folder: Path, content: object, environ: Mapping[str, str] | None = None) -> HostOptions:
    """What this host.json and environment amount to."""
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "host.json").write_text(text, encoding="utf-8")
    return read(folder, environ or {})


def with_queues(**section: Any) -> dict[str, Any]:
    """A host.json with this section for queues."""
    return {"version": "2.0", "extensions": {"queues": section}}


def test_hostjson_queue_defaults_are_those_of_azure(tmp_path: Path) -> None:
    """Except the polling interval, which is 2 s where a developer waits."""
    queues = options(tmp_path, {"version": "2.0"}).queues
    assert (queues.batch_size, queues.max_dequeue_count, queues.base64) == (16, 5, True)
    assert queues.new_batch_threshold == 8 * (os.process_cpu_count() or 1)
    assert queues.visibility_timeout == timedelta(0)
    assert queues.max_polling_interval == timedelta(seconds=2)


def test_hostjson_queue_section_is_read(tmp_path: Path) -> None:
    """Every key of it."""
    content = with_queues(
        batchSize=4,
        newBatchThreshold=0,
        maxPollingInterval="00:00:10",
        maxDequeueCount=3,
        visibilityTimeout="00:00:30",
        messageEncoding="none",
    )
    queues = options(tmp_path, content).queues
    assert (queues.batch_size, queues.new_batch_threshold, queues.max_dequeue_count) == (4, 0, 3)
    assert queues.max_polling_interval == timedelta(seconds=10)
    assert queues.visibility_timeout == timedelta(seconds=30)
    assert not queues.base64


def test_hostjson_new_batch_threshold_follows_the_batch_size(tmp_path: Path) -> None:
    """Half a batch for each processor."""
    queues = options(tmp_path, with_queues(batchSize=5)).queues
    assert queues.new_batch_threshold == 2 * (os.process_cpu_count() or 1)


@pytest.mark.parametrize(
    "section",
    [
        {"batchSize": 0},
        {"batchSize": 33},
        {"newBatchThreshold": -1},
        {"maxDequeueCount": 0},
        {"maxPollingInterval": "00:00:00.05"},
        {"messageEncoding": "utf8"},
        {"visibilityTimeout": "soon"},
    ],
)
def test_hostjson_queue_value_out_of_range_is_refused(
    tmp_path: Path, section: dict[str, Any]
) -> None:
    """The host does not start with it."""
    with pytest.raises(HostError, match="is invalid"):
        options(tmp_path, with_queues(**section))


def test_hostjson_is_overruled_by_the_environment(tmp_path: Path) -> None:
    """In any case, with either separator, also to the empty text."""
    environ = {
        "AzureFunctionsJobHost__extensions__queues__batchSize": "1",
        "azurefunctionsjobhost:extensions:queues:newbatchthreshold": "0",
        "AzureFunctionsJobHost__extensions__http__routePrefix": "",
        "AzureFunctionsJobHost__functionTimeout": "00:10:00",
    }
    found = options(tmp_path, with_queues(batchSize=16), environ)
    assert (found.queues.batch_size, found.queues.new_batch_threshold) == (1, 0)
    assert found.route_prefix == ""
    assert found.function_timeout == timedelta(minutes=10)


@pytest.mark.parametrize(
    ("value", "timeout"),
    [(None, timedelta(minutes=30)), ("00:00:05", timedelta(seconds=5)), ("-1", None)],
)
def test_hostjson_function_timeout_is_half_an_hour_unless_said(
    tmp_path: Path, value: str | None, timeout: timedelta | None
) -> None:
    """-1 is without end."""
    content = {"version": "2.0"} | ({"functionTimeout": value} if value else {})
    assert options(tmp_path, content).function_timeout == timeout


def test_hostjson_function_timeout_under_a_second_is_refused(tmp_path: Path) -> None:
    """One second is the least."""
    with pytest.raises(HostError, match="at least one second"):
        options(tmp_path, {"version": "2.0", "functionTimeout": "00:00:00.5"})


def test_hostjson_function_list_is_read(tmp_path: Path) -> None:
    """By index, in any case."""
    content = {"version": "2.0", "functions": ["One", "two"]}
    assert options(tmp_path, content).functions == {"one", "two"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "Unable to parse host configuration file"),
        ("[]", "Unable to parse host configuration file"),
        ({"extensions": {}}, 'must say "version": "2.0"'),
        ({"version": "1.0"}, 'must say "version": "2.0"'),
    ],
)
def test_hostjson_that_is_broken_is_refused(tmp_path: Path, content: object, message: str) -> None:
    """The message says what is wrong, and names the file."""
    with pytest.raises(HostError, match=message):
        options(tmp_path, content)


def test_hostjson_that_is_missing_is_said(tmp_path: Path) -> None:
    """Without it the folder is no app."""
    with pytest.raises(HostError, match=r"No host\.json"):
        read(tmp_path, {})


def test_hostjson_log_level_of_the_longest_start_counts(tmp_path: Path) -> None:
    """Then the default, then Information."""
    content = {
        "version": "2.0",
        "logging": {
            "logLevel": {"default": "Error", "Function": "Debug", "Function.a.User": "None"}
        },
    }
    found = options(tmp_path, content)
    levels = [found.log_level(c) for c in ("Host.Results", "Function.b", "Function.a.User")]
    assert levels == [4, 1, 6]
    assert options(tmp_path, {"version": "2.0"}).log_level("Function.b") == 2
