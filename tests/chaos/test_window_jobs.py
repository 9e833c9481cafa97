"""At most once a window on real hosts: two of them on one account, kills, and impatient people."""

import json
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from azure.core.exceptions import ResourceExistsError
from azure.storage.blob import BlobServiceClient

from devhost.azurite import Azurite
from shared.records.jobruns import JobRun, JobRuns
from shared.settings import Settings
from shared.storage.services import Services
from shared.storage.tables import AzureTable
from tests.contract.conftest import fresh
from tests.host.running_host import RunningHost

APP = Path(__file__).parent / "newsletter_app"
EVERY_FIVE_SECONDS = "*/5 * * * * *"
LETTER = "letters/"


class Office:
    """One installation of the job: its storage, and the hosts that run it."""

    def __init__(
        self, azurite: Azurite, start_host: Callable[..., Any], stack: ExitStack, schedule: str
    ) -> None:
        self._azurite, self._start_host, self._stack = azurite, start_host, stack
        self.host_id = f"newsletter-{uuid.uuid4().hex[:12]}"
        self._names = {"UPLOADS_CONTAINER": fresh("u"), "JOBRUNS_TABLE": fresh("r")}
        self._services = Services.from_connection_string(azurite.connection_string)
        self._values = Settings.from_env(self._names)
        self._services.create_missing(self._values)
        self._env = {
            **self._names,
            "AUTH_MODE": "local",
            "FITTING_ROOM_ROOT": str(APP.parents[2]),
            "AzureFunctionsWebHost__hostid": self.host_id,
            "NEWSLETTER_SCHEDULE": schedule,
            "TZ": "UTC",
        }

    def open(self) -> RunningHost:
        """One more host on the same account."""
        storage = self._azurite.connection_string
        started = self._start_host(
            APP, storage=storage, env=self._env, options=["--worker-restart-delay", "0.1"]
        )
        host: RunningHost = self._stack.enter_context(started)
        return host

    def letters(self) -> Counter[str]:
        """How many went out, by window."""
        container = self._services.blobs.get_container_client(self._values.uploads_container)
        return Counter(
            blob.split("/")[1] for blob in container.list_blob_names(name_starts_with=LETTER)
        )

    def let_go(self) -> None:
        """From now on a run ends by itself."""
        container = self._services.blobs.get_container_client(self._values.uploads_container)
        container.upload_blob("letting-go", b"")

    def has_more_than(self, letters: int) -> bool:
        return self.letters().total() > letters

    def runs(self) -> list[JobRun]:
        """The record of each window, newest first."""
        client = self._services.tables.get_table_client(self._values.jobruns_table)
        return list(JobRuns(AzureTable(client)).newest("newsletter"))

    def was_away_at(self, due: datetime) -> None:
        """The status of a host that has missed that planned time."""
        before = (due - timedelta(days=1)).isoformat()
        status = {"Last": before, "Next": due.isoformat(), "LastUpdated": before}
        with BlobServiceClient.from_connection_string(self._azurite.connection_string) as service:
            container = service.get_container_client("azure-webjobs-hosts")
            with suppress(ResourceExistsError):  # a host of another test has made it
                container.create_container()
            name = f"timers/{self.host_id}/Host.Functions.newsletter/status"
            container.upload_blob(name, json.dumps(status))


@pytest.fixture
def office(azurite: Azurite, start_host: Callable[..., Any]) -> Iterator[Callable[[str], Office]]:
    """Opens an installation with this schedule; its hosts end with the test."""
    with ExitStack() as stack:
        yield lambda schedule: Office(azurite, start_host, stack, schedule)


def executed(*hosts: RunningHost) -> int:
    """How often the function was run, whatever it did."""
    return sum("Executed 'Functions.newsletter'" in line for host in hosts for line in host.lines)


def test_two_hosts_whose_workers_are_killed_write_at_most_once_a_window(
    office: Callable[[str], Office],
) -> None:
    """Whoever comes first acts; a kill in the middle of it, and the retry after, change nothing."""
    place = office(EVERY_FIVE_SECONDS)
    hosts = [place.open(), place.open()]
    for _ in range(3):
        hosts[0].wait_until(partial(place.has_more_than, place.letters().total()), timeout=60)
        for host in hosts:
            host.wait_until(host.kill_workers)  # one of them is in its act
    place.let_go()
    seen = executed(*hosts)
    hosts[0].wait_until(lambda: executed(*hosts) >= seen + 6, timeout=60)
    windows = [run.window for run in place.runs()]
    letters = place.letters()
    assert len(windows) == len(set(windows))
    assert max(letters.values()) == 1
    assert set(letters) <= {f"{window:%Y-%m-%dT%H:%M:%S}" for window in windows if window}


def test_window_that_was_missed_is_run_once_by_whoever_asks(
    office: Callable[[str], Office],
) -> None:
    """Hosts that start together find it past due, and ten people press the button on each."""
    due = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=12)
    place = office(f"0 0 {due.hour} * * *")
    place.was_away_at(due)
    place.let_go()
    with ThreadPoolExecutor() as both:
        hosts = list(both.map(lambda _: place.open(), range(2)))
    people = [threading.Thread(target=press, args=(host,)) for host in hosts for _ in range(10)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    asked = 20
    hosts[0].wait_until(lambda: executed(*hosts) > asked, timeout=60)
    assert any("IsPastDue" in line for host in hosts for line in host.lines)
    assert len(place.runs()) == 1
    assert place.letters().total() == 1


def press(host: RunningHost) -> None:
    url = f"{host.origin}/admin/functions/newsletter"
    assert httpx.post(url, json={}, timeout=30).status_code == 202
