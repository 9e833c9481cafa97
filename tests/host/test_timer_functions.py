"""Timer functions on a running host."""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from azure.core.exceptions import ResourceExistsError
from azure.storage.blob import BlobServiceClient, ContainerClient

from devhost.azurite import Azurite
from tests.host.running_host import RunningHost

APP = Path(__file__).parent / "apps" / "clock"
HOST_ID = f"clock-{uuid.uuid4().hex[:12]}"
# The daily timers: half a day off, so that their time does not come while the tests run.
DUE = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=12)
NIGHTLY = f"0 0 {DUE.hour} * * *"


def blob_name(function: str) -> str:
    """Where the status of a timer is."""
    return f"timers/{HOST_ID}/Host.Functions.{function}/status"


@pytest.fixture(scope="module")
def container(azurite: Azurite) -> Iterator[ContainerClient]:
    """The host's container, in which one timer has missed its time."""
    with BlobServiceClient.from_connection_string(azurite.connection_string) as service:
        container = service.get_container_client("azure-webjobs-hosts")
        with suppress(ResourceExistsError):  # another host of this run may have made it
            container.create_container()
        before = (DUE - timedelta(days=1)).isoformat()
        status = {"Last": before, "Next": DUE.isoformat(), "LastUpdated": before}
        container.upload_blob(blob_name("missed"), json.dumps(status))
        yield container


@pytest.fixture(scope="module")
def host(
    start_host: Callable[..., Any], azurite: Azurite, container: ContainerClient
) -> Iterator[RunningHost]:
    """One host for all tests of this file, in UTC."""
    env = {"AzureFunctionsWebHost__hostid": HOST_ID, "TZ": "UTC", "NIGHTLY": NIGHTLY}
    with start_host(APP, storage=azurite.connection_string, env=env) as running:
        yield running


def said(host: RunningHost, function: str, count: int = 1) -> list[dict[str, Any]]:
    """What a function said, once it is so much."""

    def enough() -> list[dict[str, Any]]:
        found = [fact for fact in facts(host) if fact["function"] == function]
        return found if len(found) >= count else []

    return host.wait_until(enough)


def facts(host: RunningHost) -> list[dict[str, Any]]:
    """What all functions said, oldest first."""
    return [json.loads(text) for text in host.messages if text.startswith("{")]


def test_timer_never_overlaps(host: RunningHost) -> None:
    """A run that takes longer than the time between two is over before the next begins."""
    said(host, "end", 3)
    told = [fact["function"] for fact in facts(host) if fact["function"] in ("begin", "end")]
    assert told[:6] == ["begin", "end"] * 3


def test_timer_of_every_second_has_no_status(host: RunningHost) -> None:
    """It is not monitored."""
    fact = said(host, "begin")[0]
    assert (fact["status"], fact["schedule"], fact["pastDue"]) == (
        {},
        {"AdjustForDST": True},
        False,
    )


def test_timer_that_runs_on_startup_ran(host: RunningHost, container: ContainerClient) -> None:
    """Its status is stored afterwards, with its planned time as the next."""
    fact = said(host, "eager")[0]
    assert fact["pastDue"] is False
    assert fact["status"]["Last"].startswith("0001-01-01T00:00:00")

    def stored() -> dict[str, str]:
        content = json.loads(container.download_blob(blob_name("eager")).readall())
        return content if not content["Last"].startswith("0001") else {}

    status = host.wait_until(stored)
    assert datetime.fromisoformat(status["Next"]) == DUE + timedelta(days=1)
    assert status["Last"] == status["LastUpdated"]


def test_timer_that_was_missed_runs_once_as_past_due(host: RunningHost) -> None:
    """It is told, and so is the log."""
    assert [fact["pastDue"] for fact in said(host, "missed")] == [True]
    host.wait_for_line(
        f"UnscheduledInvocationReason: IsPastDue, OriginalSchedule: {re.escape(DUE.isoformat())}"
    )


def test_timer_that_fails_goes_on(host: RunningHost) -> None:
    """At a time of its own, every two seconds, and not again for the one that failed."""
    said(host, "failing", 3)
    fired = re.findall(
        r"Executing 'Functions\.failing' \(Reason='Timer fired at (\S+)'", host.output
    )
    periods = [datetime.fromisoformat(time).timestamp() // 2 for time in fired]
    assert len(periods) >= 3
    assert all(earlier < later for earlier, later in pairwise(periods))


def test_timer_that_is_disabled_does_not_run(host: RunningHost) -> None:
    """Another timer of its schedule ran meanwhile."""
    said(host, "begin", 2)
    assert "Function stopped is disabled." in host.lines
    assert not any('"stopped"' in line for line in host.lines)


def test_timer_with_an_unreadable_schedule_is_in_error(host: RunningHost) -> None:
    """Alone."""
    text = "The schedule expression 'every day' was not recognized as a valid cron expression"
    assert host.wait_for_line(f"The 'unreadable' function is in error: {text}")


def test_timer_run_by_the_admin_has_the_stored_status(host: RunningHost) -> None:
    """Not past due, and the schedule is left alone."""
    said(host, "missed")
    assert httpx.post(f"{host.origin}/admin/functions/missed", json={}).status_code == 202
    fact = said(host, "missed", 2)[1]
    assert fact["pastDue"] is False
    assert datetime.fromisoformat(fact["status"]["Next"]) == DUE + timedelta(days=1)


def test_timer_function_with_a_policy_survives_its_worker(
    start_host: Callable[..., Any], azurite: Azurite
) -> None:
    """It is run again, in a new worker, and learns which run this is."""
    app = Path(__file__).parent / "apps" / "retried"
    env = {"AzureFunctionsWebHost__hostid": f"retried-{uuid.uuid4().hex[:12]}"}
    with start_host(app, storage=azurite.connection_string, env=env) as running:
        running.wait_for_line("run 2 of 3")
        running.wait_for_line(r"Executed 'Functions\.stubborn' \(Succeeded")
        assert sum("Executing 'Functions.stubborn'" in line for line in running.lines) == 3


def test_timer_run_is_in_the_log(host: RunningHost) -> None:
    """With the time at which it fired."""
    host.wait_for_line(
        r"Executing 'Functions\.slow_second' \(Reason='Timer fired at \d{4}-\d\d-\d\dT\S+\+00:00'"
    )
