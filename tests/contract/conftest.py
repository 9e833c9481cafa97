"""Each port twice: in memory, and on the real emulator through our gateways."""

import itertools
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from shared.ports import Queue
from shared.storage.blobs import AzureBlobs, SasSigner
from shared.storage.queues import AzureQueue
from shared.storage.services import Services
from shared.storage.tables import AzureTable
from tests.fakes import FakeClock, MemoryBlobs, MemoryQueue, MemoryTable

BOTH = ("memory", "azurite")


@pytest.fixture(scope="session")
def services(azurite):
    """Clients of the emulator, as the product makes them."""
    return Services.from_connection_string(azurite.connection_string)


@pytest.fixture(params=BOTH)
def table(request):
    """An empty table."""
    if request.param == "memory":
        return MemoryTable()
    client = request.getfixturevalue("services").tables.get_table_client(fresh("t"))
    client.create_table()
    return AzureTable(client)


@pytest.fixture(params=BOTH)
def blobs(request):
    """An empty container."""
    if request.param == "memory":
        return MemoryBlobs()
    service, name = request.getfixturevalue("services").blobs, fresh("c")
    service.create_container(name)
    return AzureBlobs(service, name, SasSigner(service))


@dataclass(frozen=True)
class QueueOnAClock:
    """A queue, its time, and how that passes."""

    queue: Queue
    now: Callable[[], datetime]
    let_pass: Callable[[float], None]

    def await_messages(self, count: int, seconds: float) -> list[bytes]:
        """What is visible as soon as there are that many, within `seconds`."""
        for _ in range(int(seconds * 10)):
            seen = self.queue.peek()
            if len(seen) >= count:
                return [message.body for message in seen]
            self.let_pass(0.1)
        raise AssertionError(f"no {count} messages within {seconds} s")


@pytest.fixture(params=BOTH)
def queue(request):
    """An empty queue."""
    if request.param == "memory":
        clock = FakeClock()
        return QueueOnAClock(
            MemoryQueue(clock), clock, lambda seconds: clock.pass_(seconds=seconds)
        )
    client = request.getfixturevalue("services").queue(fresh("q"))
    client.create_queue()
    return QueueOnAClock(AzureQueue(client), lambda: datetime.now(UTC), time.sleep)


_numbers = itertools.count(1)


def fresh(kind: str) -> str:
    """A name that no other test has used."""
    return f"{kind}{uuid.uuid4().hex[:12]}{next(_numbers)}"
