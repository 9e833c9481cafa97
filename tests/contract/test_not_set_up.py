"""What our gateways say when storage is not there, or does not hold what it should."""

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from devhost.azurite import connection_string
from shared.domain.errors import StorageUnavailableError
from shared.leftovers import remove_blob
from shared.ports import Delete, Insert, Replace, Row, Span
from shared.storage.blobs import AzureBlobs, SasSigner
from shared.storage.queues import AzureQueue
from shared.storage.services import Services
from shared.storage.tables import AzureTable
from tests.contract.conftest import fresh

ROW = Row("p", "k", {"n": 1}, "W/\"datetime'2026-08-01T12%3A00%3A00.0000000Z'\"")

TABLE_CALLS = {
    "get": lambda table: table.get("p", "k"),
    "put": lambda table: table.put(ROW),
    "insert": lambda table: table.transact([Insert(ROW)]),
    "replace": lambda table: table.transact([Replace(ROW)]),
    "remove": lambda table: table.transact([Delete(ROW)]),
    "together": lambda table: table.transact([Insert(ROW), Insert(Row("p", "l", {}))]),
    "query": lambda table: list(table.query(Span())),
}
BLOB_CALLS = {
    "put": lambda blobs: blobs.put("b", b"x", content_type="image/webp"),
    "read": lambda blobs: blobs.read("b"),
    "delete": lambda blobs: blobs.delete("b"),
    "names": lambda blobs: list(blobs.names("b")),
}
QUEUE_CALLS = {
    "send": lambda queue: queue.send("a"),
    "peek": lambda queue: queue.peek(),
    "depth": lambda queue: queue.depth(),
}


@pytest.mark.parametrize("call", TABLE_CALLS.values(), ids=TABLE_CALLS)
def test_table_that_does_not_exist_is_an_error(services, call):
    """A missing table is never taken for a missing row."""
    table = AzureTable(services.tables.get_table_client(fresh("t")))
    with pytest.raises(StorageUnavailableError) as caught:
        call(table)
    assert not caught.value.unknown, "it was refused: nothing was written"


@pytest.mark.parametrize("call", BLOB_CALLS.values(), ids=BLOB_CALLS)
def test_container_that_does_not_exist_is_an_error(services, call):
    """A missing container is never taken for a missing blob."""
    with pytest.raises(StorageUnavailableError):
        call(AzureBlobs(services.blobs, fresh("c"), SasSigner(services.blobs)))


@pytest.mark.parametrize("call", QUEUE_CALLS.values(), ids=QUEUE_CALLS)
def test_queue_that_does_not_exist_is_an_error(services, call):
    """A missing queue is never taken for an empty one."""
    with pytest.raises(StorageUnavailableError):
        call(AzureQueue(services.queue(fresh("q"))))


def test_deletion_that_is_refused_is_told_in_the_words_of_the_service(services, caplog):
    """The alarm on refused deletions has to name the reason as Azure does."""
    name = fresh("c")
    services.blobs.create_container(name).upload_blob("a/b", b"x").acquire_lease()
    blobs = AzureBlobs(services.blobs, name, SasSigner(services.blobs))
    assert remove_blob("a/b", blobs, name, "a-draft") == 1
    assert '"errorCode":"LeaseIdMissing"' in caplog.text


@pytest.fixture(scope="module")
def away():
    """Services at ports where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: every connection is refused
        port = taken.getsockname()[1]
        yield Services.from_connection_string(connection_string(port, port, port))


def test_storage_that_is_away_refuses_every_service(away):
    """No connection means that nothing was written, and each gateway says so."""
    calls = (
        lambda: AzureTable(away.tables.get_table_client("drafts")).get("p", "k"),
        lambda: AzureTable(away.tables.get_table_client("drafts")).transact([Insert(ROW)]),
        lambda: AzureBlobs(away.blobs, "images", SasSigner(away.blobs)).read("b"),
        lambda: AzureQueue(away.queue("jobs")).send("a"),
    )
    for call in calls:
        with pytest.raises(StorageUnavailableError) as caught:
            call()
        assert not caught.value.unknown


class Busy(BaseHTTPRequestHandler):
    """Storage that has no time, and remembers who asked."""

    protocol_version = "HTTP/1.1"
    asked: list[str]

    def answer(self) -> None:
        self.asked.append(self.command)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *parts: object) -> None:
        """Not into the tests' output."""


@pytest.fixture
def busy() -> Iterator[tuple[Services, list[str]]]:
    """Services that answer 503, and the requests that they were sent."""
    asked: list[str] = []
    verbs = dict.fromkeys(("do_GET", "do_PUT", "do_POST", "do_DELETE", "do_HEAD"), Busy.answer)
    kind = type("BusyOnce", (Busy,), {"asked": asked} | verbs)
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        yield Services.from_connection_string(connection_string(port, port, port)), asked
        server.shutdown()


@pytest.mark.parametrize("call", TABLE_CALLS.values(), ids=TABLE_CALLS)
def test_table_that_is_busy_is_asked_once(busy, call):
    """The host's retries are the only layer: what failed says so, and is not multiplied."""
    services, asked = busy
    with pytest.raises(StorageUnavailableError):
        call(AzureTable(services.tables.get_table_client("drafts")))
    assert len(asked) == 1


@pytest.mark.parametrize("call", BLOB_CALLS.values(), ids=BLOB_CALLS)
def test_container_that_is_busy_is_asked_once(busy, call):
    """Nor are calls for blobs repeated."""
    services, asked = busy
    with pytest.raises(StorageUnavailableError):
        call(AzureBlobs(services.blobs, "images", SasSigner(services.blobs)))
    assert len(asked) == 1


@pytest.mark.parametrize("call", QUEUE_CALLS.values(), ids=QUEUE_CALLS)
def test_queue_that_is_busy_is_asked_once(busy, call):
    """Nor is a message sent twice because the first answer was bad."""
    services, asked = busy
    with pytest.raises(StorageUnavailableError):
        call(AzureQueue(services.queue("jobs")))
    assert len(asked) == 1
