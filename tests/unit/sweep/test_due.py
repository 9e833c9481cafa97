"""The due index around every write: new entry, row, old entry; and what races leave in it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.domain.draft import DraftError, DraftStatus
from shared.domain.errors import ConflictError
from shared.domain.events import EventType, event_of
from shared.domain.ids import draft_row_key
from shared.domain.lifecycle import bury, fail, postpone, renew_lease, resend, take_lease
from shared.ports import Row
from shared.records.due import DueEntry
from shared.settings import Settings
from tests.factories import make_draft, make_world
from tests.fakes import NOW

MINUTES = timedelta(minutes=1)
ERROR = DraftError(code="X", detail="x", retryable=True, failed_at=NOW)


def entries(world):
    return sorted(world.deps.due.everything(), key=lambda entry: entry.due_at)


def save(world, draft, after, *events):
    return world.deps.store.save(draft, after, *events, now=world.clock())


def test_entry_is_written_before_the_row_and_the_old_one_removed_after(world):
    """A crash in between leaves one entry too many, never one too few."""
    draft = world.add()
    world.faults.calls.clear()
    save(world, draft, fail(draft, ERROR, NOW))
    assert world.faults.calls == ["due.put", "drafts.transact", "due.delete"]
    [entry] = entries(world)
    assert entry.due_at == NOW + timedelta(days=7)


def test_entry_lies_in_its_hour_spread_over_sixteen_places(world):
    """Hour and last hex digit of the row key, then owner and row."""
    draft = world.add()
    [(partition, key)] = world.due.rows
    assert partition == f"2026080112-{draft.id[-1]}"
    assert key == f"{draft.owner_key}~{draft_row_key(draft.id)}"


def test_entry_stays_while_its_time_does(world):
    """Lease and heartbeat cost no call to the index."""
    draft = world.add()
    world.faults.calls.clear()
    leased = save(world, draft, take_lease(draft, "x", NOW, 30 * MINUTES / 60))
    save(world, leased, renew_lease(leased, NOW, MINUTES))
    assert world.faults.calls == ["drafts.transact", "drafts.transact"]


def test_entry_is_moved_within_its_hour_without_a_gap(world):
    """Two times of one hour share a place: it is overwritten, not removed."""
    draft = world.add()
    world.clock.pass_(minutes=5)
    save(world, draft, resend(draft, world.clock()))
    [entry] = entries(world)
    assert (entry.due_at, entry.queued_at) == (NOW + 8 * MINUTES, NOW + 5 * MINUTES)


def test_entry_of_wanted_work_says_when_its_message_is_visible(world):
    """The sweep can tell from it alone that the message still waits."""
    draft = world.add()
    save(world, draft, postpone(draft, NOW, 15 * MINUTES))
    [entry] = entries(world)
    assert (entry.due_at, entry.queued_at) == (NOW + 18 * MINUTES, NOW + 15 * MINUTES)


def test_draft_with_an_unsent_event_is_due_in_three_minutes():
    """Where somebody has to be told, the final write itself sees to it."""
    world = make_world(settings=Settings(auth_mode="local", events_queue_enabled=True))
    draft = world.add()
    failed = fail(draft, ERROR, NOW)
    row = save(world, draft, failed, event_of(failed, EventType.FAILED, NOW))
    assert row.due_at == NOW + 3 * MINUTES
    [entry] = entries(world)
    assert entry.unfinished


def test_draft_that_is_kept_for_ever_is_not_in_the_index(world):
    """Nothing has to look at it again."""
    draft = world.add()
    save(world, draft, replace(draft, status=DraftStatus.READY, work=None))
    assert entries(world) == []


def test_tombstone_is_due_for_its_second_pass(world):
    """A quarter of an hour after the deletion."""
    draft = world.add()
    save(world, draft, bury(draft, NOW))
    [entry] = entries(world)
    assert entry.due_at == NOW + 15 * MINUTES


def test_loser_of_a_race_leaves_the_winners_entry_findable(world):
    """It may have overwritten the place; the sweep that reads it writes the right one."""
    draft = world.add()
    world.clock.pass_(minutes=1)
    winner = save(world, draft, postpone(draft, world.clock(), 10 * MINUTES))
    with pytest.raises(ConflictError):
        save(world, draft, resend(draft, world.clock()))
    [entry] = entries(world)
    assert entry.due_at == NOW + 4 * MINUTES, "the loser's"
    world.deps.due.realign(winner, entry)
    [entry] = entries(world)
    assert entry.due_at == winner.due_at == NOW + 14 * MINUTES


def test_entry_that_was_written_anew_is_not_removed(world):
    """Removing is conditional: what somebody needs now stays."""
    index = world.deps.due
    entry = DueEntry(owner_key="o", row_key=draft_row_key(make_draft().id), due_at=NOW)
    old = replace(entry, etag=index.put(entry))
    index.put(replace(entry, due_at=NOW + MINUTES))
    index.remove(old)
    assert [found.due_at for found in entries(world)] == [NOW + MINUTES]


@pytest.mark.parametrize(
    ("due_at", "is_due"),
    [
        (NOW, True),
        (NOW + timedelta(seconds=1), False),
        (NOW - timedelta(days=40), True),
        (NOW.replace(minute=59), False),
        (NOW + timedelta(hours=1), False),
    ],
)
def test_index_gives_what_is_due_and_nothing_later(world, due_at, is_due):
    """Hours are read whole, moments decide."""
    index = world.deps.due
    index.put(DueEntry(owner_key="o", row_key=draft_row_key(make_draft().id), due_at=due_at))
    assert bool(list(index.due(NOW))) is is_due


def test_index_gives_the_oldest_hour_first(world):
    """When the time is up, what has waited longest was handled."""
    for hours in (3, 1, 2, 30):
        row_key = draft_row_key(make_draft().id)
        entry = DueEntry(owner_key="o", row_key=row_key, due_at=NOW - timedelta(hours=hours))
        world.deps.due.put(entry)
    found = [(NOW - entry.due_at) // timedelta(hours=1) for entry in world.deps.due.due(NOW)]
    assert found == [30, 3, 2, 1]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("o~d~x", {}),
        ("o~d~x", {"dueAt": "2026-08-01T11:00:00Z"}),
        ("o~d~x", {"dueAt": NOW, "queuedAt": "2026-08-01T11:00:00Z"}),
        ("nobody", {"dueAt": NOW}),
    ],
    ids=["without_time", "time_as_text", "message_time_as_text", "key_of_nobody"],
)
def test_index_gives_what_it_cannot_read_as_damaged(world, key, values):
    """An entry that somebody wrote by hand neither ends the reading nor vanishes."""
    world.due.put(Row("2026080111-0", key, values))
    world.deps.due.put(DueEntry(owner_key="o", row_key="d~y", due_at=NOW))
    assert [entry.damaged for entry in world.deps.due.due(NOW)] == [True, False]
