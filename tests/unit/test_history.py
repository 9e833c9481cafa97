"""The history of a draft that is worked on without end: it stays short and loses no outcome."""

import json

import pytest

from shared.deleting import delete_draft
from shared.domain.events import MAX_EVENTS, MAX_PROGRESS_EVENTS, EventType, event_of
from shared.settings import Settings
from tests.factories import make_draft, make_world
from tests.fakes import NOW
from tests.unit.api.failing import at

PROGRESS, OUTCOME = EventType.SEGMENTED, EventType.READY


@pytest.fixture
def world():
    return make_world(settings=Settings(auth_mode="local", events_queue_enabled=True))


def go_through(world, *kinds, tell=True):
    """The draft after these events, each in a write of its own, all after its `Created`."""
    row = world.row(world.add(make_draft(work=None)))
    for kind in kinds:
        row = world.deps.store.save(row, row, event_of(row, kind, NOW), now=NOW)
        row = world.deps.outbox.flush(row, NOW) if tell else row
    return row


def numbers(world, draft):
    return [event.seq for event in world.deps.store.events_of(draft)]


def told(world):
    """The ids of the events that went out."""
    return {json.loads(text)["id"] for text, _ in world.deps.events.sent}


def test_progress_ends_early(world):
    """What is left of the room is for outcomes."""
    draft = go_through(world, *[PROGRESS] * 300)
    assert numbers(world, draft) == list(range(1, MAX_PROGRESS_EVENTS + 1))


def test_outcome_past_the_room_pushes_out_the_oldest_outcome(world):
    """The beginning and the newest are kept, and the row counts on."""
    draft = go_through(world, *[PROGRESS, OUTCOME] * 150)
    kept = numbers(world, draft)
    assert len(kept) == MAX_EVENTS
    assert kept[:MAX_PROGRESS_EVENTS] == list(range(1, MAX_PROGRESS_EVENTS + 1))
    assert kept[MAX_PROGRESS_EVENTS:] == list(range(draft.events - 49, draft.events + 1))


def test_every_outcome_is_told_however_many_there_are(world):
    """Subscribers hear of the three hundredth as of the first."""
    go_through(world, *[PROGRESS, OUTCOME] * 300)
    assert len(told(world)) == 300


def test_outcome_that_nobody_was_told_of_is_not_pushed_out(world):
    """Subscribers could not be told for a long time; then they hear of all."""
    draft = go_through(world, *[OUTCOME] * 260, tell=False)
    assert numbers(world, draft) == list(range(1, 262))
    while draft.unsent_since is not None:
        draft = world.deps.outbox.send_unsent(draft, NOW)
    assert told(world) == {f"{draft.id}/{number}" for number in range(2, 262)}


def test_outcome_stands_where_the_room_cannot_be_made(world):
    """An old row more is no fault of this write."""
    draft = go_through(world, *[OUTCOME] * (MAX_EVENTS - 1))
    world.faults.before = at("drafts.delete")
    after = world.deps.store.save(draft, draft, event_of(draft, OUTCOME, NOW), now=NOW)
    assert after.events == MAX_EVENTS + 1
    assert numbers(world, after)[-1] == MAX_EVENTS + 1


def test_history_of_any_length_goes_with_its_draft(world):
    """In transactions of at most 100 rows, as Azure takes them."""
    draft = go_through(world, *[PROGRESS] * 140, *[OUTCOME] * 40)
    assert len(numbers(world, draft)) == 181
    delete_draft(draft, world.deps)
    assert world.drafts.rows == {}
