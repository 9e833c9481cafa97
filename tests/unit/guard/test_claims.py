"""The guard: one run at a time, lost runs taken over, late writers fenced."""

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.claims import Exhausted, LeaseLostError, Run, Skipped, claim
from shared.domain.draft import DraftStatus, Metadata, Stage, WorkReason
from shared.domain.errors import (
    ClaimHeldError,
    ConflictError,
    MessageAheadError,
    StorageUnavailableError,
)
from shared.domain.events import EventType
from shared.domain.lifecycle import bury, give_back, reach
from shared.sending import message_for
from shared.settings import Settings
from tests.factories import make_draft, make_work, make_world
from tests.fakes import NOW

LATER = NOW + timedelta(seconds=20)
EARLIER = NOW - timedelta(seconds=1)


def claim_of(world, draft, **changes):
    deps = world.deps
    message = replace(message_for(draft), **changes)
    return claim(message, store=deps.store, settings=deps.settings, clock=deps.clock)


def kinds(world, draft):
    return [event.type for event in world.deps.store.events_of(draft)]


def test_claim_of_a_waiting_draft_takes_the_lease_and_counts(world):
    """The attempt is on the row before anything is decoded."""
    draft = world.add()
    run = claim_of(world, draft)
    row = world.row(draft)
    assert isinstance(run, Run)
    assert (row.attempts, row.lease_id, row.lease_expires_at) == (
        1,
        run.lease_id,
        NOW + timedelta(seconds=30),
    )
    assert kinds(world, draft)[-1] is EventType.ATTEMPT_STARTED


@pytest.mark.parametrize(
    ("changes", "generation", "why"),
    [
        ({"status": DraftStatus.READY, "work": None}, 1, "done"),
        ({"generation": 2}, 1, "older_generation"),
        ({"deleted_at": NOW, "work": None}, 1, "missing"),
    ],
)
def test_claim_where_nothing_is_wanted_is_skipped(world, changes, generation, why):
    """The message can be acknowledged, and the row stays as it was."""
    draft = world.add(make_draft(**changes))
    before = dict(world.drafts.rows)
    assert claim_of(world, draft, generation=generation) == Skipped(why)
    assert world.drafts.rows == before


def test_claim_of_an_unknown_draft_is_skipped(world):
    """A draft that was never there, or is somebody else's."""
    draft = world.add()
    assert claim_of(world, draft, owner_id="somebody-else") == Skipped("missing")


def test_claim_held_by_a_live_run_raises_until_when(world):
    """The message has to come back: the other run may still be lost."""
    draft = world.add(make_draft(attempts=1, lease_id="other", lease_expires_at=LATER))
    with pytest.raises(ClaimHeldError) as caught:
        claim_of(world, draft)
    assert caught.value.lease_until == LATER
    assert world.row(draft).attempts == 1


def test_claim_of_a_newer_generation_waits_for_the_row(world):
    """The write of the row is not visible yet."""
    draft = world.add()
    with pytest.raises(MessageAheadError):
        claim_of(world, draft, generation=2)
    assert world.row(draft).attempts == 0


def test_claim_of_a_dead_lease_counts_a_lost_run(world):
    """A lease that ran out without being given back is taken over, and that is said."""
    draft = world.add(make_draft(attempts=1, lease_id="dead", lease_expires_at=EARLIER))
    claim_of(world, draft)
    row = world.row(draft)
    assert (row.attempts, row.work.lost_runs) == (2, 1)
    assert kinds(world, draft)[-2:] == [EventType.LEASE_TAKEN_OVER, EventType.ATTEMPT_STARTED]


def test_claim_after_a_lease_was_given_back_counts_no_lost_run(world):
    """A run that failed in order is an attempt, not a loss."""
    draft = world.add(make_draft(attempts=1, lease_id=None, lease_expires_at=EARLIER))
    claim_of(world, draft)
    assert (world.row(draft).attempts, world.row(draft).work.lost_runs) == (2, 0)


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({}, 5),
        ({"last_chance": True}, 1),
        ({"status": DraftStatus.READY, "work": make_work(reason=WorkReason.DEGRADED)}, 3),
    ],
    ids=["as_set", "after_worker_lost", "degraded"],
)
def test_claim_at_the_limit_starts_no_run(world, changes, limit):
    """The last run is the one that the limit counts; the next delivery ends the draft."""
    last = world.add(make_draft(attempts=limit - 1, **changes))
    assert claim_of(world, last).is_last
    world.clock.pass_(minutes=1)
    row = world.row(last)
    assert claim_of(world, last) == Exhausted(row)
    assert world.row(last) == row


def test_claim_in_a_race_has_one_winner(world):
    """Eight deliveries at once: one runs, seven have to come back."""
    draft = world.add()
    start, runs, held = threading.Barrier(8), [], []

    def deliver():
        start.wait()
        try:
            runs.append(claim_of(world, draft))
        except ClaimHeldError:
            held.append(1)

    threads = [threading.Thread(target=deliver) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(runs), len(held)) == (1, 7)
    assert world.row(draft).attempts == 1


def test_claim_whose_answer_was_lost_holds_the_lease(world):
    """A write that happened counts as done, whatever the connection said."""
    draft = world.add()

    def lose(call):
        if call == "drafts.transact":
            raise StorageUnavailableError

    world.faults.after = lose
    run = claim_of(world, draft)
    assert world.row(draft).lease_id == run.lease_id


def test_run_applies_its_step_to_a_row_that_a_person_changed(world):
    """An edit meanwhile is kept, and so is the checkpoint."""
    draft = world.add()
    run = claim_of(world, draft)
    edited = replace(world.row(draft), metadata=Metadata(title="mine"))
    world.deps.store.save(world.row(draft), edited, now=NOW)
    run.apply(lambda row, now: (reach(row, Stage.SEGMENTED, now), ()))
    row = world.row(draft)
    assert (row.stage, row.metadata.title) == (Stage.SEGMENTED, "mine")


def test_run_whose_refused_write_came_through_goes_on(world):
    """The row carries its lease and the stage it wanted; a person has only written since."""
    draft = world.add()
    run = claim_of(world, draft)

    def refuse(call):
        if call == "drafts.transact":
            world.faults.after = lambda call: None
            edited = replace(world.row(draft), metadata=Metadata(title="mine"))
            world.deps.store.save(world.row(draft), edited, now=NOW)
            raise ConflictError

    world.faults.after = refuse
    run.apply(lambda row, now: (reach(row, Stage.SEGMENTED, now), ()))
    run.apply(lambda row, now: (reach(row, Stage.RENDERED, now), ()))
    row = world.row(draft)
    assert (row.stage, row.metadata.title) == (Stage.RENDERED, "mine")


@pytest.mark.parametrize("what", ["taken_over", "given_back", "buried"])
def test_run_that_wakes_too_late_changes_nothing(world, what):
    """Its lease is another's, nobody's, or the draft is gone: the row stays as it is."""
    draft = world.add()
    run = claim_of(world, draft)
    world.clock.pass_(seconds=31)
    if what == "taken_over":
        claim_of(world, draft)
    else:
        change = {"given_back": give_back, "buried": bury}[what]
        row = world.row(draft)
        world.deps.store.save(row, change(row, world.clock()), now=world.clock())
    before = dict(world.drafts.rows)
    with pytest.raises(LeaseLostError):
        run.apply(lambda row, now: (reach(row, Stage.SEGMENTED, now), ()))
    assert world.drafts.rows == before


def test_run_with_an_expired_lease_that_nobody_took_goes_on(world):
    """The ETag is the fence: a late write is fine while it is the only one."""
    draft = world.add()
    run = claim_of(world, draft)
    world.clock.pass_(minutes=1)
    run.apply(lambda row, now: (reach(row, Stage.SEGMENTED, now), ()))
    assert world.row(draft).stage is Stage.SEGMENTED


def test_run_gives_up_when_the_row_never_stands_still(world):
    """After five lost races the message has to come back."""
    draft = world.add()
    run = claim_of(world, draft)

    def lose(call):
        if call == "drafts.transact":
            raise ConflictError

    world.faults.before = lose
    with pytest.raises(StorageUnavailableError):
        run.apply(lambda row, now: (reach(row, Stage.SEGMENTED, now), ()))


def beating():
    """A world whose leases are renewed every second."""
    return make_world(settings=Settings(auth_mode="local", heartbeat_seconds=1, lease_seconds=3))


def wait_for(condition):
    """Wait for another thread, at most ten seconds."""
    tick = threading.Event()
    for _ in range(1000):
        if condition():
            return
        tick.wait(0.01)
    raise AssertionError("it did not happen")


def heart_of(draft):
    return [thread for thread in threading.enumerate() if thread.name == f"heartbeat-{draft.id}"]


def test_heartbeat_renews_the_lease():
    """While a run works its lease moves on, and the revision does not."""
    world = beating()
    draft = world.add()
    with claim_of(world, draft):
        revision = world.row(draft).revision
        world.clock.pass_(seconds=2)
        wait_for(lambda: world.row(draft).lease_expires_at == NOW + timedelta(seconds=5))
        assert world.row(draft).revision == revision
    assert heart_of(draft) == []


def test_heartbeat_stops_at_the_time_limit():
    """A run past its limit loses its lease, so that another can take over."""
    world = beating()
    draft = world.add()
    with claim_of(world, draft):
        world.clock.pass_(seconds=120)
        wait_for(lambda: heart_of(draft) == [])
        assert world.row(draft).lease_expires_at == NOW + timedelta(seconds=3)


def test_heartbeat_outlives_storage_that_is_away():
    """A missed beat is made up for by the next."""
    world = beating()
    draft = world.add()
    failures = iter([StorageUnavailableError(unknown=False)])

    def fail_once(call):
        if call == "drafts.transact" and (error := next(failures, None)):
            raise error

    with claim_of(world, draft):
        world.faults.before = fail_once
        world.clock.pass_(seconds=2)
        wait_for(lambda: world.row(draft).lease_expires_at == NOW + timedelta(seconds=5))


def test_heartbeat_ends_when_the_lease_is_lost():
    """A zombie does not win its lease back."""
    world = beating()
    draft = world.add()
    with claim_of(world, draft):
        world.clock.pass_(seconds=4)
        row = world.row(draft)
        world.deps.store.save(row, bury(row, world.clock()), now=world.clock())
        wait_for(lambda: heart_of(draft) == [])
    assert world.deps.store.load(row.owner_key, next(iter(world.drafts.rows))[1]) is not None
