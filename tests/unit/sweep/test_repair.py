"""The repair: every lost message is found, and no backlog is multiplied."""

import json
from datetime import timedelta

import pytest

from cleanup_abandoned_drafts.repair import REPAIR
from shared.deleting import delete_draft
from shared.domain.draft import DraftStatus
from shared.domain.errors import StorageUnavailableError
from shared.domain.messages import JobMessage
from shared.jobs import Tick, run
from shared.sending import message_for
from shared.settings import Settings
from tests.factories import make_work, make_world
from tests.fakehost import FakeHost
from tests.fakes import NOW
from tests.invariants import check_settled
from tests.tiny import tiny_photo
from tests.unit.api.failing import at
from tests.unit.sweep.found import lost, waiting


def test_lost_message_is_sent_again(world, repair):
    """The row says so first; the draft is processed like any other."""
    draft = world.add_photo(tiny_photo())
    world.clock.pass_(minutes=5)
    assert repair().resent == 1
    work = world.row(draft).work
    assert (work.resends, work.queued_at) == (1, world.clock())
    FakeHost(world).work_off()
    assert world.row(draft).status is DraftStatus.READY
    check_settled(world)


def test_message_is_sent_again_three_times_at_most(world, repair):
    """After that the draft waits for its two hours, and fails."""
    draft = lost(world, raw=None)
    for _ in range(23):
        world.clock.pass_(minutes=5)
        repair()
        world.jobs.waiting.clear()
    assert len(world.jobs.sent) == 3
    assert world.row(draft).status is DraftStatus.PROCESSING
    world.clock.pass_(minutes=5)
    assert repair().failed == 1
    assert world.row(draft).error.code == "STUCK_PROCESSING"


def test_backlog_is_not_multiplied(world, repair):
    """An hour in line is not unattended: nothing is sent, and no waiting row is read."""
    for _ in range(300):
        waiting(world)
    world.clock.pass_(hours=1)
    world.faults.calls.clear()
    assert repair().resent == 0
    reads = [call for call in world.faults.calls if call == "drafts.get"]
    assert len(reads) <= 32, "only the head of the queue is looked at"
    assert len(world.jobs.sent) == 300


def test_lost_message_before_a_backlog_is_found(world, repair):
    """Its mark is older than the head of the queue."""
    missing = lost(world)
    world.clock.pass_(minutes=2)
    for _ in range(100):
        waiting(world, work=make_work(queued_at=world.clock()))
    world.clock.pass_(hours=1)
    assert repair().resent == 1
    assert world.row(missing).work.resends == 1


def test_lost_message_inside_a_backlog_is_found_when_the_head_has_passed(world, repair):
    """It may still be in the queue as long as older ones are."""
    for minute in range(10):
        waiting(world, work=make_work(queued_at=NOW + timedelta(minutes=minute)))
        if minute == 4:
            missing = lost(world, work=make_work(queued_at=NOW + timedelta(minutes=minute)))
    world.clock.pass_(hours=1)
    assert repair().resent == 0
    for _ in range(7):
        FakeHost(world).deliver()
    world.clock.pass_(minutes=5)
    assert repair().resent == 1
    assert world.row(missing).work.resends == 1


@pytest.mark.parametrize(
    "message",
    [
        lambda draft: "garbage",
        lambda draft: JobMessage(owner_id="nobody", draft_id=draft.id).encode(),
        lambda draft: JobMessage(owner_id=draft.owner_id, draft_id=draft.id, generation=9).encode(),
    ],
    ids=["garbage", "unknown", "other_generation"],
)
def test_message_that_speaks_for_nobody_is_no_head(world, repair, message):
    """A flood of garbage does not hide a lost draft."""
    draft = lost(world)
    other = lost(world, status=DraftStatus.READY, work=None)
    for _ in range(32):
        world.jobs.send(message(other))
    world.clock.pass_(minutes=5)
    assert repair().resent == 1
    assert world.row(draft).work.resends == 1


@pytest.mark.parametrize("generation", [1, 3])
def test_message_of_another_generation_is_no_head(world, repair, generation):
    """It does not bring the run that its row waits for, however old that row is."""
    draft = lost(world, generation=2)
    message = JobMessage(owner_id=draft.owner_id, draft_id=draft.id, generation=generation)
    world.jobs.send(message.encode())
    world.clock.pass_(minutes=5)
    assert repair().resent == 1


def test_draft_held_by_a_live_run_is_left_alone(world, repair):
    """A long run is not unattended."""
    lost(world, lease_id="live", lease_expires_at=NOW + timedelta(hours=1))
    world.clock.pass_(minutes=30)
    assert repair().resent == 0


def test_two_repairs_at_once_send_once(world):
    """The second one meets another ETag."""
    lost(world)
    world.clock.pass_(minutes=5)

    def second(call):
        if call == "due.put":
            world.faults.before = lambda call: None
            run(REPAIR, Tick(), world.deps)

    world.faults.before = second
    run(REPAIR, Tick(), world.deps)
    assert len(world.jobs.sent) == 1


def test_unsent_event_is_sent_by_the_repair():
    """The writer died, or the queue was away: subscribers are told all the same, once."""
    world = make_world(settings=Settings(auth_mode="local", events_queue_enabled=True))
    draft = world.add_photo(tiny_photo())
    world.jobs.send(message_for(draft).encode())

    def away(call):
        if call == "events.send":
            raise StorageUnavailableError

    world.faults.before = away
    FakeHost(world).work_off()
    world.faults.before = lambda call: None
    assert world.row(draft).status is DraftStatus.READY, "a notification never fails a job"
    world.clock.pass_(minutes=5)
    run(REPAIR, Tick(), world.deps)
    [(text, _)] = world.deps.events.sent
    assert json.loads(text)["type"] == "fitting-room.draft.ready"
    world.clock.pass_(minutes=5)
    run(REPAIR, Tick(), world.deps)
    assert len(world.deps.events.sent) == 1
    check_settled(world)


def test_leftovers_are_removed_by_the_repair(world, repair):
    """The worker died between Ready and tidying up."""
    draft = world.add_photo(tiny_photo(), attempts=1, lease_id="x", lease_expires_at=NOW)
    world.images.put(f"{draft.owner_key}/{draft.id}/1-1/mask.png", b"old", content_type="image/png")
    world.jobs.send(message_for(draft).encode())
    world.clock.pass_(seconds=1)

    def away(call):
        if call in ("images.names", "images.delete"):
            raise StorageUnavailableError

    world.faults.before = away
    FakeHost(world).work_off()
    world.faults.before = lambda call: None
    assert world.row(draft).leftovers
    world.clock.pass_(minutes=5)
    repair()
    check_settled(world)


def test_gauges_tell_depth_and_age_of_every_queue(world, repair, caplog):
    """One line per queue that we read, once a tick."""
    caplog.set_level("INFO", logger="fitting_room")
    waiting(world)
    world.clock.pass_(minutes=2)
    repair()
    lines = [json.loads(record.message) for record in caplog.records]
    gauges = {line["queue"]: line for line in lines if line["event"] == "queue_depth"}
    assert set(gauges) == {
        "image-processing-jobs",
        "image-processing-jobs-poison",
        "draft-webhooks",
        "draft-webhooks-poison",
    }
    jobs = gauges["image-processing-jobs"]
    assert (jobs["messages"], jobs["oldestAgeSeconds"]) == (1, 120)
    assert gauges["draft-webhooks"]["oldestAgeSeconds"] is None


@pytest.mark.parametrize("side", ["before", "after"])
def test_draft_whose_deletion_broke_off_is_sent_again(world, repair, side):
    """Its message was lost, and the tombstone's entry stands where that of the draft stood."""
    draft = lost(world)
    setattr(world.faults, side, at("due.put" if side == "after" else "drafts.transact"))
    with pytest.raises(StorageUnavailableError):
        delete_draft(draft, world.deps)
    world.clock.pass_(minutes=16)
    assert repair().resent == 1
    assert world.row(draft).work.resends == 1


def test_deletions_come_after_the_drafts_that_people_wait_for(world, repair):
    """However many there are, they take no time from a lost message."""
    delete_draft(world.add_photo(tiny_photo()), world.deps)
    world.clock.pass_(minutes=14)
    lost(world)
    world.clock.pass_(minutes=4)
    calls = []
    world.faults.before = calls.append
    assert repair().resent == 1
    sent = calls.index("jobs.send")
    assert (calls[:sent].count("drafts.get"), calls[sent:].count("drafts.get")) == (1, 1)


def test_deletion_that_storage_refuses_is_left_to_the_nights(world, repair):
    """A legal hold may stand for months: it costs the ticks one hour of looks."""
    draft = world.add_photo(tiny_photo())
    world.faults.before = at("uploads.delete", times=99)
    delete_draft(draft, world.deps)
    world.clock.pass_(minutes=76)
    calls = []
    world.faults.before = calls.append
    repair()
    assert "drafts.get" not in calls


def test_second_pass_of_a_deletion_leaves_late_writers_their_time(world, repair):
    """25 minutes; what they left goes with the entry."""
    draft = world.add_photo(tiny_photo())
    delete_draft(draft, world.deps)
    world.uploads.put(draft.raw.blob, b"late", content_type="image/jpeg")
    for minutes in (16, 9):
        world.clock.pass_(minutes=minutes)
        repair()
        assert len(world.uploads.stored) == 1, "somebody may still be writing"
    world.clock.pass_(seconds=1)
    repair()
    assert (world.uploads.stored, world.due.rows) == ({}, {})
