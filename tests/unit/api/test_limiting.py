"""Rates: uploads exact per owner, status calls per process."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from shared.ports import Row
from shared.records.ratelimits import ROW_KEY, count_upload
from shared.settings import Settings
from tests.factories import make_world
from tests.fakes import NOW, MemoryTable
from tests.unit.api.calling import Caller, photo

JPEG = photo()


def counted(table, n, *, limit=3, at=NOW):
    return [count_upload(table, "me", limit=limit, now=at) for _ in range(n)]


def test_upload_window_counts_exactly():
    """As many as the limit, then a wait until the oldest is a minute old."""
    table = MemoryTable()
    assert counted(table, 3) == [None, None, None]
    assert count_upload(table, "me", limit=3, now=NOW + timedelta(seconds=20)) == timedelta(
        seconds=40
    )


def test_upload_window_moves_on():
    """A request leaves the window a minute after it was counted, and no other does."""
    table = MemoryTable()
    counted(table, 2)
    counted(table, 1, at=NOW + timedelta(seconds=30))
    assert counted(table, 3, at=NOW + timedelta(seconds=60)) == [
        None,
        None,
        timedelta(seconds=30),
    ]


@pytest.mark.parametrize(
    "values", [{}, {"times": "now"}, {"times": b"123"}, {"times": b"\xff" * 8}, {"times": 7}]
)
def test_upload_window_that_cannot_be_read_shuts_nobody_out(values, caplog):
    """It is told, begins anew, and is exact from then on; no other row of ours would mend it."""
    table = MemoryTable()
    table.put(Row("me", ROW_KEY, values))
    assert counted(table, 4) == [None, None, None, timedelta(minutes=1)]
    assert caplog.text.count("row_unreadable") == 1


def test_upload_window_does_not_count_what_was_refused():
    """A client in a loop is free again when its counted requests are old enough."""
    table = MemoryTable()
    counted(table, 50)
    assert counted(table, 1, at=NOW + timedelta(seconds=60)) == [None]


def test_upload_window_is_exact_under_races():
    """Many at once: exactly as many pass as the limit says."""
    table = MemoryTable()
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda _: counted(table, 1, limit=10)[0], range(40)))
    assert results.count(None) == 10


def test_upload_window_belongs_to_one_owner():
    """Another owner's uploads do not count."""
    table = MemoryTable()
    counted(table, 3)
    assert count_upload(table, "you", limit=3, now=NOW) is None


@pytest.mark.parametrize("name", ["create_drafts", "create_image_v1"])
def test_uploads_over_the_rate_are_told_when_to_come_back(name):
    """429 with Retry-After, nothing stored, and a line in the log's words."""
    world = make_world(settings=Settings(auth_mode="local", uploads_per_minute=2))
    caller = Caller(world)
    for _ in range(2):
        caller.upload(("a.jpg", JPEG))
    stored = dict(world.uploads.stored)
    reply = caller.upload(("a.jpg", JPEG), name=name)
    assert (reply.status, reply.code, reply.json["retryable"]) == (429, "RATE_LIMITED", True)
    assert reply.headers["retry-after"] == "60"
    assert world.uploads.stored == stored


def test_direct_uploads_count_like_others():
    """The direct way is no way around the window."""
    world = make_world(settings=Settings(auth_mode="local", uploads_per_minute=1))
    wish = {"contentType": "image/jpeg", "size": 3}
    statuses = [Caller(world).ask("create_upload", json=wish).status for _ in range(2)]
    assert statuses == [201, 429]


@pytest.mark.parametrize(
    ("name", "query"),
    [("get_draft_status", {"ids": "0198640d-c000-7000-8000-000000000001"}), ("get_draft", {})],
)
def test_status_calls_over_the_rate(name, query, caplog):
    """A client in a loop is slowed down; another owner is not."""
    caplog.set_level("INFO")
    world = make_world(settings=Settings(auth_mode="local", status_calls_per_minute=3))
    caller = Caller(world, owner=f"looping-{name}")
    statuses = [caller.ask(name, "x", query=query).status for _ in range(4)]
    assert statuses[3] == 429
    assert 429 not in statuses[:3]
    assert caller.as_(f"patient-{name}").ask(name, "x", query=query).status != 429
    assert '"event":"rate_limited","level":"info","limit":"status"' in caplog.text
