"""The poison handler: the last word on a message, and never a wrong one."""

import json
from datetime import timedelta

import pytest

from process_image_job.poison import handle_poison
from shared.domain.draft import DraftStatus
from shared.domain.errors import ConflictError
from shared.sending import message_for
from tests.factories import make_draft, make_work
from tests.fakes import NOW
from tests.invariants import check_settled


def poison(world, draft, dequeue_count=1):
    body = message_for(draft).encode().encode()
    handle_poison(body, dequeue_count=dequeue_count, deps=world.deps)


def letters(world):
    return [letter.code for letter in world.deps.letters.newest(world.clock())]


@pytest.mark.parametrize(
    "changes",
    [
        {"status": DraftStatus.READY, "work": None},
        {"status": DraftStatus.FAILED, "work": None},
        {"deleted_at": NOW, "work": None},
    ],
    ids=["ready", "failed", "deleted"],
)
def test_poison_for_a_draft_that_is_over_is_a_dead_letter(world, changes):
    """Nothing is failed that has ended otherwise."""
    draft = world.add(make_draft(**changes))
    before = dict(world.drafts.rows)
    poison(world, draft)
    assert world.drafts.rows == before
    assert letters(world) == ["POISONED"]


def test_poison_of_an_older_generation_is_a_dead_letter(world):
    """A retry goes on whatever becomes of the old message."""
    old = make_draft()
    world.add(make_draft(generation=2))
    before = dict(world.drafts.rows)
    poison(world, old)
    assert world.drafts.rows == before
    assert letters(world) == ["POISONED"]


def test_poison_while_a_run_is_alive_waits_past_its_lease(world):
    """It is sent to the same queue again, visible five seconds after the lease."""
    draft = world.add(
        make_draft(attempts=5, lease_id="live", lease_expires_at=NOW + timedelta(seconds=20))
    )
    poison(world, draft)
    [(text, delay)] = world.poisoned.sent
    assert (text, delay) == (message_for(draft).encode(), timedelta(seconds=25))
    assert world.row(draft).status is DraftStatus.PROCESSING
    assert letters(world) == []


def test_poison_with_attempts_left_goes_back_to_work(world):
    """The row says so first, so that nobody else sends too."""
    draft = world.add(make_draft(attempts=2, lease_expires_at=NOW))
    world.clock.pass_(minutes=1)
    poison(world, draft)
    assert [text for text, _ in world.jobs.sent] == [message_for(draft).encode()]
    work = world.row(draft).work
    assert (work.resends, work.queued_at) == (1, world.clock())
    assert world.faults.calls.index("jobs.send") > world.faults.calls.index("drafts.transact")


@pytest.mark.parametrize(
    "changes",
    [
        {"attempts": 5, "work": make_work()},
        {"attempts": 2, "work": make_work(resends=3)},
    ],
    ids=["no_attempts", "no_resends"],
)
def test_poison_with_nothing_left_ends_the_draft(world, changes):
    """Failed with a code, a dead letter, and nothing sent."""
    draft = world.add(make_draft(raw=None, lease_expires_at=NOW, **changes))
    poison(world, draft)
    assert world.row(draft).error.code == "ATTEMPTS_EXHAUSTED"
    assert letters(world) == ["ATTEMPTS_EXHAUSTED"]
    assert world.jobs.sent == []
    check_settled(world)


def test_poison_that_ends_a_draft_is_told_as_an_error(world, caplog):
    """Whoever is on call finds the draft by its id."""
    draft = world.add(make_draft(raw=None, attempts=5, lease_expires_at=NOW))
    poison(world, draft)
    lines = [json.loads(record.message) for record in caplog.records if record.levelname == "ERROR"]
    assert {line["event"]: line["draftId"] for line in lines} == {
        "dead_lettered": draft.id,
        "draft_failed": draft.id,
    }


def test_poison_counts_the_run_that_was_lost_last(world):
    """A lease that was never given back is a lost run here too: one of one is more than half."""
    draft = world.add(
        make_draft(raw=None, attempts=1, last_chance=True, lease_id="x", lease_expires_at=NOW)
    )
    poison(world, draft)
    assert world.row(draft).error.code == "WORKER_LOST"


def test_poison_handled_twice_changes_nothing_more(world):
    """The second time the draft is over."""
    draft = world.add(make_draft(raw=None, attempts=5, lease_expires_at=NOW))
    poison(world, draft)
    before = dict(world.drafts.rows)
    poison(world, draft, dequeue_count=2)
    assert world.drafts.rows == before


def test_poison_that_nobody_understands_is_a_dead_letter(world):
    """It is kept, and nothing raises: a poison queue has no poison queue."""
    handle_poison(b"\x00garbage", dequeue_count=1, deps=world.deps)
    assert letters(world) == ["MALFORMED"]


def test_poison_in_a_race_looks_again_soon(world):
    """Somebody changed the draft: no verdict is given on what it was."""
    draft = world.add(make_draft(attempts=5, lease_expires_at=NOW))

    def lose(call):
        if call == "drafts.transact":
            raise ConflictError

    world.faults.before = lose
    poison(world, draft)
    assert [delay for _, delay in world.poisoned.sent] == [timedelta(seconds=5)]
    assert world.row(draft).status is DraftStatus.PROCESSING
