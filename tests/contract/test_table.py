"""What every table does, in memory and on the emulator."""

from datetime import UTC, datetime, timedelta, timezone
from threading import Barrier, Thread

import pytest
from azure.data.tables import EdmType, EntityProperty

from shared.domain.errors import AlreadyExistsError, ConflictError
from shared.ports import Delete, Insert, Replace, Row, Span
from shared.storage.tables import AzureTable
from tests.contract.conftest import fresh

NOW = datetime(2026, 8, 1, 12, 0, 0, 123456, tzinfo=UTC)


def row(key="k", partition="p", **values):
    return Row(partition, key, values or {"n": 1})


def insert(table, *rows):
    for each in rows:
        table.transact([Insert(each)])


def keys(table, span, **options):
    return [(found.partition, found.key) for found in table.query(span, **options)]


@pytest.mark.parametrize(
    "value",
    [
        "zażółć 👗",
        "",
        0,
        2**31,
        3_000_000_000,
        -(2**62),
        0.1,
        True,
        False,
        NOW,
        NOW.replace(microsecond=0),
        b"\x00\xff",
    ],
)
def test_table_returns_a_value_as_it_was_stored(table, value):
    """Every kind of value comes back equal and of the same type."""
    insert(table, row(v=value))
    found = table.get("p", "k").values["v"]
    assert (type(found), found) == (type(value), value)


def test_table_get_of_a_missing_row_is_none(table):
    """A row that is not there is no error."""
    assert table.get("p", "nothing") is None


def test_table_insert_of_an_existing_row_is_refused(table):
    """The first writer stays."""
    insert(table, row(n=1))
    with pytest.raises(AlreadyExistsError):
        insert(table, row(n=2))
    assert table.get("p", "k").values == {"n": 1}


def test_table_replace_with_the_known_etag_returns_the_next(table):
    """A chain of conditional writes needs no read in between."""
    [first] = table.transact([Insert(row(n=1))])
    [second] = table.transact([Replace(row(n=2).with_etag(first))])
    [third] = table.transact([Replace(row(n=3).with_etag(second))])
    found = table.get("p", "k")
    assert (found.values, found.etag) == ({"n": 3}, third)


def test_table_replace_with_an_old_etag_is_refused(table):
    """The loser of a race changes nothing."""
    [first] = table.transact([Insert(row(n=1))])
    table.transact([Replace(row(n=2).with_etag(first))])
    with pytest.raises(ConflictError):
        table.transact([Replace(row(n=3).with_etag(first))])
    assert table.get("p", "k").values == {"n": 2}


def test_table_replace_without_an_etag_is_refused(table):
    """Nothing is ever overwritten blindly."""
    insert(table, row(n=1))
    with pytest.raises(ConflictError):
        table.transact([Replace(row(n=2))])
    assert table.get("p", "k").values == {"n": 1}


def test_table_replace_of_a_missing_row_is_refused(table):
    """A row that was deleted does not come back."""
    [etag] = table.transact([Insert(row())])
    table.delete(table.get("p", "k"))
    with pytest.raises(ConflictError):
        table.transact([Replace(row(n=2).with_etag(etag))])
    assert table.get("p", "k") is None


def test_table_replace_drops_what_is_absent(table):
    """A property that the new row does not have is null afterwards."""
    [etag] = table.transact([Insert(row(a=1, b=2))])
    table.transact([Replace(row(a=1).with_etag(etag))])
    assert table.get("p", "k").values == {"a": 1}


def test_table_transaction_writes_all_and_tells_each_etag(table):
    """Inserts, replaces and deletes of one partition go together."""
    insert(table, row("b", n=1), row("c", n=1))
    changes = [
        Insert(row("a", n=1)),
        Replace(row("b", n=2).with_etag(table.get("p", "b").etag)),
        Delete(table.get("p", "c")),
    ]
    etags = table.transact(changes)
    assert etags == [table.get("p", "a").etag, table.get("p", "b").etag, ""]
    assert table.get("p", "b").values == {"n": 2}
    assert table.get("p", "c") is None


@pytest.mark.parametrize("late", [0, 1], ids=["first", "last"])
def test_table_transaction_with_an_old_etag_writes_nothing(table, late):
    """One refused change refuses them all, wherever it stands."""
    [first] = table.transact([Insert(row("a", n=1))])
    table.transact([Replace(row("a", n=2).with_etag(first))])
    changes = [Insert(row("b"))]
    changes.insert(late, Replace(row("a", n=3).with_etag(first)))
    with pytest.raises(ConflictError):
        table.transact(changes)
    assert table.get("p", "a").values == {"n": 2}
    assert table.get("p", "b") is None


def test_table_transaction_with_an_existing_row_says_so(table):
    """An insert that met a row is told apart from a lost race."""
    insert(table, row("a", n=1))
    with pytest.raises(AlreadyExistsError):
        table.transact([Insert(row("b")), Insert(row("a", n=2))])
    assert table.get("p", "b") is None


def test_table_transaction_holds_a_hundred_rows(table):
    """Ten drafts with their events and an idempotency row fit many times over."""
    table.transact([Insert(row(f"{number:03}")) for number in range(100)])
    assert len(list(table.query(Span(partition="p")))) == 100


def test_table_put_writes_whatever_is_there(table):
    """An entry that nobody decides about is simply written."""
    first = table.put(row(n=1))
    second = table.put(row(n=2))
    found = table.get("p", "k")
    assert (found.values, found.etag) == ({"n": 2}, second)
    assert first != second


def test_table_delete_with_an_old_etag_is_refused(table):
    """What was written anew meanwhile stays."""
    old = row().with_etag(table.put(row(n=1)))
    table.put(row(n=2))
    with pytest.raises(ConflictError):
        table.delete(old)
    assert table.get("p", "k").values == {"n": 2}


def test_table_delete_without_an_etag_always_fits(table):
    """Where nobody else writes, no ETag is needed."""
    table.put(row())
    table.delete(row())
    assert table.get("p", "k") is None


def test_table_delete_of_a_missing_row_is_fine(table):
    """Two deleters of one row both succeed."""
    old = row().with_etag(table.put(row()))
    table.delete(old)
    table.delete(old)
    assert table.get("p", "k") is None


def test_table_conditional_delete_of_a_missing_row_is_refused(table):
    """Within a transaction the row has to be there."""
    old = row().with_etag(table.put(row()))
    table.delete(old)
    with pytest.raises(ConflictError):
        table.transact([Delete(old)])


def test_table_query_keeps_key_order_across_partitions(table):
    """Partition first, then row key, as text."""
    for partition, key in (("b", "1"), ("a", "2"), ("a", "10"), ("c", "1")):
        table.put(row(key, partition))
    assert keys(table, Span(partition_to="c")) == [
        ("a", "10"),
        ("a", "2"),
        ("b", "1"),
    ]


def test_table_query_of_one_partition_meets_no_neighbour(table):
    """A partition whose name begins alike is another one."""
    for partition in ("p", "p-", "p0", "o"):
        table.put(row("k", partition))
    assert keys(table, Span(partition="p")) == [("p", "k")]


def test_table_query_by_prefix_ends_where_the_prefix_does(table):
    """Rows of one kind in a partition that holds others."""
    for key in ("d~1", "d~2", "e~1", "d", "c~9", "da"):  # "d~" itself is no key of ours
        table.put(row(key))
    assert keys(table, Span.prefix("p", "d~")) == [("p", "d~1"), ("p", "d~2")]


def test_table_query_after_a_row_leaves_it_out(table):
    """A page goes on behind the last key it returned."""
    for key in ("a", "b", "b!", "c"):
        table.put(row(key))
    span = Span(partition="p", key_after="b")
    assert keys(table, span) == [("p", "b!"), ("p", "c")]


def test_table_query_up_to_a_row_holds_it(table):
    """The last row of a range is part of it."""
    for key in ("a", "b", "b!", "c"):
        table.put(row(key))
    span = Span(partition="p", key_from="a", key_last="b")
    assert keys(table, span) == [("p", "a"), ("p", "b")]


def test_table_query_without_ends_is_everything(table):
    """A span that is open on all sides reads the whole table."""
    for partition in ("a", "b"):
        table.put(row("k", partition))
    assert keys(table, Span()) == [("a", "k"), ("b", "k")]


def test_table_query_goes_on_over_pages(table):
    """More rows than a page arrive all, in order, once."""
    wanted = [f"{number:03}" for number in range(25)]
    for key in wanted:
        table.put(row(key))
    assert [key for _, key in keys(table, Span(partition="p"), page=10)] == wanted


def test_table_query_survives_deletions_on_the_way(table):
    """A sweep deletes the rows that it reads, page by page, and misses none."""
    for number in range(25):
        table.put(row(f"{number:03}"))
    seen = []
    for found in table.query(Span(partition="p"), page=5):
        table.delete(found)
        seen.append(found.key)
    assert seen == [f"{number:03}" for number in range(25)]
    assert keys(table, Span(partition="p")) == []


def test_table_keys_hold_what_ours_hold(table):
    """Tildes, dashes, quotes-free text of the longest owner key and row key."""
    owner, key = "h-" + "f" * 62, "2026080112-f~" + "o" * 64 + "~d~fe679bf23fff~" + "0" * 36
    table.put(Row(owner, key, {"n": 1}))
    assert keys(table, Span(partition=owner)) == [(owner, key)]


def test_table_race_of_four_has_one_winner(table):
    """Four writers with the same ETag: one is told yes, three are told no."""
    [etag] = table.transact([Insert(row(n=0))])
    start, won, lost = Barrier(4), [], []

    def write(number):
        start.wait()
        try:
            table.transact([Replace(row(n=number).with_etag(etag))])
        except ConflictError:
            lost.append(number)
        else:
            won.append(number)

    writers = [Thread(target=write, args=(number,)) for number in range(1, 5)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (len(won), len(lost)) == (1, 3)
    assert table.get("p", "k").values == {"n": won[0]}


def test_table_time_in_another_zone_is_the_same_moment(table):
    """Times are UTC when they come back."""
    insert(table, row(at=NOW.astimezone(timezone(timedelta(hours=2)))))
    found = table.get("p", "k").values["at"]
    assert (found, found.utcoffset()) == (NOW, timedelta(0))


def test_table_time_with_seven_digits_is_read(services):
    """The service and other tools write ten-millionths of a second; our times end at millionths."""
    client = services.tables.get_table_client(fresh("t"))
    client.create_table()
    seven = EntityProperty("2026-08-01T12:00:00.1234567Z", EdmType.DATETIME)
    client.create_entity({"PartitionKey": "p", "RowKey": "k", "at": seven})
    found = AzureTable(client).get("p", "k").values["at"]
    assert (type(found), found) == (datetime, NOW)
