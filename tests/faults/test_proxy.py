"""The fault proxy: transparent where it means no harm, and harmful in each of its ways."""

import pytest

from shared.domain.errors import StorageUnavailableError
from shared.ports import Insert, Row, Span
from shared.storage.blobs import AzureBlobs, SasSigner
from shared.storage.queues import AzureQueue
from shared.storage.services import Services
from shared.storage.tables import AzureTable
from tests.contract.conftest import fresh
from tests.faults.proxy import Fault, FaultProxy


def table_behind(proxy, azurite):
    """A table seen through the proxy, and the same one without it."""
    name = fresh("t")
    direct = Services.from_connection_string(azurite.connection_string)
    direct.tables.create_table(name)
    through = Services.from_connection_string(proxy.connection_string)
    return (
        AzureTable(through.tables.get_table_client(name)),
        AzureTable(direct.tables.get_table_client(name)),
    )


def test_proxy_without_faults_is_transparent(azurite):
    """Rows, transactions, blobs of any size and messages pass as they are."""
    with FaultProxy(targets=azurite.ports, rate=0) as proxy:
        table, _ = table_behind(proxy, azurite)
        table.transact([Insert(Row("p", str(number), {"n": number})) for number in range(50)])
        assert len(list(table.query(Span(partition="p"), page=20))) == 50
        services = Services.from_connection_string(proxy.connection_string)
        name = fresh("c")
        services.blobs.create_container(name)
        blobs = AzureBlobs(services.blobs, name, SasSigner(services.blobs))
        photo = bytes(range(256)) * 12_000
        etag = blobs.put("b", photo, content_type="image/webp")
        assert blobs.read("b", etag=etag) == photo
        assert blobs.info("b").size == len(photo)
        client = services.queue(fresh("q"))
        client.create_queue()
        AzureQueue(client).send("a")
        assert [message.body for message in AzureQueue(client).peek()] == [b"a"]
    assert proxy.faults.total() == 0


@pytest.mark.parametrize(
    ("fault", "written"),
    [
        (Fault.REFUSED, False),
        (Fault.BROKEN_BEFORE, False),
        (Fault.ERROR_AFTER, True),
        (Fault.ANSWER_LOST, True),
    ],
)
def test_proxy_makes_a_call_go_wrong(azurite, monkeypatch, fault, written):
    """The caller sees storage that is away; the effect has happened or not."""
    with FaultProxy(targets=azurite.ports, rate=1) as proxy:
        monkeypatch.setattr(proxy, "_draw", lambda: fault)
        table, direct = table_behind(proxy, azurite)
        with pytest.raises(StorageUnavailableError):
            table.transact([Insert(Row("p", "k", {"n": 1}))])
        assert (direct.get("p", "k") is not None) is written


def test_proxy_with_a_seed_repeats_itself(azurite):
    """The same seed draws the same faults."""
    drawn = []
    for _ in range(2):
        proxy = FaultProxy(targets=azurite.ports, rate=0.05, seed=7)
        drawn.append([proxy._draw() for _ in range(2000)])
    assert drawn[0] == drawn[1]
    assert 60 < sum(fault is not None for fault in drawn[0]) < 140
