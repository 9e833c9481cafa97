"""The repair: every lost message is found, and no backlog is multiplied."""

import json
from datetime import timedelta

import pytest

from cleanup_abandoned_drafts.handler import CLEANUP
from cleanup_abandoned_drafts.repair import REPAIR, NotThroughError, repair_and_watch
from shared.deleting import delete_draft
from shared.domain.draft import DraftStatus
from shared.domain.errors import StorageUnavailableError
from shared.domain.ids import new_draft_id
from shared.domain.messages import JobMessage
from shared.jobs import Tick, run
from shared.ports import Row
from shared.records.jobruns import JobReport, JobRun, JobRuns, Outcome
from shared.sending import message_for
from shared.settings import Settings
from tests.factories import make_draft, make_work, make_world
from tests.fakehost import FakeHost
from tests.fakes import NOW
from tests.invariants import check_settled
from tests.tiny import tiny_photo
from tests.unit.api.failing import at


def waiting(world, **changes):
    """A draft whose message is in the queue."""
    draft = world.add(make_draft(id=new_draft_id(), **changes))
    world.jobs.send(message_for(draft).encode())
    return draft


def lost(world, **changes):
    """A draft whose message was never sent."""
    return world.add(make_draft(id=new_draft_id(), **changes))


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


def test_stuck_poison_message_becomes_a_dead_letter(world, repair):
    """Delivered three times and never handled: nobody will."""
    world.poisoned.send('{"dequeueCount":"abc"}')
    for _ in range(3):
        world.poisoned.receive(1, hide=timedelta(minutes=10))
        world.clock.pass_(minutes=11)
    assert repair().dead_lettered == 1
    [letter] = world.deps.letters.newest(world.clock())
    assert (letter.code, letter.body) == ("STUCK", b'{"dequeueCount":"abc"}')
    assert letter.queue == "image-processing-jobs-poison"
    assert world.poisoned.depth() == 0


def test_fresh_poison_message_is_left_to_its_handler(world, repair):
    """Two deliveries may be bad luck."""
    world.poisoned.send("one")
    for _ in range(2):
        world.poisoned.receive(1, hide=timedelta(minutes=10))
        world.clock.pass_(minutes=11)
    assert repair().dead_lettered == 0
    assert len(world.poisoned.peek()) == 1


def test_event_that_found_no_receiver_becomes_a_dead_letter(world, repair):
    """The webhook's poison queue has no handler of its own."""
    world.deps.webhooks_poisoned.send('{"id":"x/1"}')
    assert repair().dead_lettered == 1
    [letter] = world.deps.letters.newest(world.clock())
    assert letter.queue == "draft-webhooks-poison"


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


@pytest.mark.parametrize(
    "call", ["jobs.depth", "poisoned.peek", "webhooks.peek", "webhooks-poisoned.peek"]
)
def test_queue_that_cannot_be_read_does_not_stop_the_repair(world, repair, call):
    """A gauge is missing, the run is partial, and the lost message is sent all the same."""
    lost(world)
    world.clock.pass_(minutes=5)

    def away(name):
        if name == call:
            raise StorageUnavailableError

    world.faults.before = away
    report = repair()
    assert report.resent == 1
    assert report.failed_rows >= 1


def test_repair_that_cannot_see_the_head_sends_nothing(world, repair):
    """Whatever waits may be in line: nothing is multiplied by a fault. The rest is done."""
    lost(world)
    done = world.add(make_draft(id=new_draft_id(), status=DraftStatus.READY, work=None,
                                leftovers=True))  # fmt: skip
    world.clock.pass_(minutes=5)
    calls = iter([None])

    def away(name):
        if name == "jobs.peek" and next(calls, "later") == "later":
            raise StorageUnavailableError

    world.faults.before = away  # the gauge's peek is answered, that for the head is not
    report = repair()
    assert (report.resent, report.failed_rows, world.jobs.sent) == (0, 1, [])
    assert report.remaining == 1
    assert not world.row(done).leftovers


def test_index_that_breaks_off_leaves_the_rest_for_the_next_run(world, repair):
    """What was read is handled; the run says that something remains."""
    lost(world)
    world.clock.pass_(minutes=5)

    def away(name):
        if name == "due.query":
            raise StorageUnavailableError

    world.faults.before = away
    report = repair()
    assert (report.remaining, report.failed_rows) == (1, 1)


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("call", ["drafts.get", "due.put", "drafts.transact", "jobs.send"])
def test_fault_while_a_draft_is_attended_to_costs_it_one_tick(world, repair, call, side):
    """The entry of a write that failed stands where the row's own stood: it brings it up too."""
    lost(world)
    world.clock.pass_(minutes=5)
    setattr(world.faults, side, at(call))
    repair()
    world.faults.before = world.faults.after = lambda call: None
    world.clock.pass_(minutes=5)
    repair()
    assert len(world.jobs.sent) >= 1


@pytest.mark.parametrize("call", ["jobs.peek", "due.query"])
def test_tick_that_could_not_see_all_is_run_again_by_the_host(world, call):
    """It is recorded first; the host's retry, half a minute later, finds the lost message."""
    lost(world)
    world.clock.pass_(minutes=5)
    world.faults.before = at(call, times=2)  # the gauge's peek, and that for the head
    with pytest.raises(NotThroughError):
        repair_and_watch(Tick(), world.deps, pause=never)
    [record] = JobRuns(world.deps.jobruns_table).newest(REPAIR.name)
    assert record.outcome is Outcome.PARTIAL
    world.faults.before = lambda call: None
    world.clock.pass_(seconds=30)
    repair_and_watch(Tick(), world.deps, pause=never)
    assert len(world.jobs.sent) == 1


def never(seconds):
    raise AssertionError("nothing is poisoned: there is nothing to watch")


def test_stuck_message_that_is_hidden_is_caught_when_it_comes_back(world):
    """The host takes it every ten minutes and hides it again; the repair is there in between."""
    world.poisoned.send("{}")
    for _ in range(3):
        world.clock.pass_(minutes=10)
        world.poisoned.receive(1, hide=timedelta(minutes=10))
    world.clock.pass_(minutes=8)
    repair_and_watch(Tick(), world.deps, pause=lambda seconds: world.clock.pass_(seconds=seconds))
    [letter] = world.deps.letters.newest(world.clock())
    assert letter.code == "STUCK"
    assert world.poisoned.depth() == 0


def test_watch_ends_at_once_where_nothing_is_poisoned(world):
    """An ordinary tick does not wait."""
    pauses = []
    repair_and_watch(Tick(), world.deps, pause=pauses.append)
    assert pauses == []


def test_watch_lasts_no_longer_than_four_minutes(world):
    """The next tick goes on; ten seconds after the queue is empty it ends early."""
    world.poisoned.send("{}", delay=timedelta(hours=1))
    pauses = []
    repair_and_watch(Tick(), world.deps, pause=pauses.append)
    assert sum(pauses) == 240
    pauses.clear()

    def emptied(seconds):
        pauses.append(seconds)
        world.poisoned.waiting.clear()

    repair_and_watch(Tick(), world.deps, pause=emptied)
    assert sum(pauses) == 10


def test_watch_ends_before_the_host_loses_its_patience(world):
    """A tick that went on with a cleanup for eight minutes has one left: the host stops at ten."""
    world.poisoned.send("{}", delay=timedelta(hours=1))

    def slowly(call):
        if call == "jobruns.query":
            world.faults.before = lambda call: None
            world.clock.pass_(minutes=8)

    world.faults.before = slowly
    repair_and_watch(Tick(), world.deps, pause=lambda seconds: world.clock.pass_(seconds=seconds))
    assert world.clock() == NOW + timedelta(minutes=9)


def test_watch_is_off_with_its_job(world):
    """The switch of the repair holds for it too."""
    world = make_world(
        settings=Settings(auth_mode="local", job_repair_unattended_drafts_enabled=False)
    )
    world.poisoned.send("{}")
    pauses = []
    repair_and_watch(Tick(), world.deps, pause=pauses.append)
    assert pauses == []


def test_head_whose_row_cannot_be_read_is_as_old_as_its_message(world, repair):
    """A fault makes nobody seem unattended, and hides nobody who is older than the message."""
    missing = lost(world)
    world.clock.pass_(minutes=10)
    waiting(world, work=make_work(queued_at=world.clock()))
    inside = lost(world, work=make_work(queued_at=world.clock()))
    world.clock.pass_(minutes=5)
    reads = iter([None])

    def away(name):
        if name == "drafts.get" and next(reads, "later") is None:
            raise StorageUnavailableError

    world.faults.before = away
    assert repair().resent == 1
    assert world.row(missing).work.resends == 1
    assert world.row(inside).work.resends == 0


def test_head_whose_row_is_damaged_does_not_stop_the_repair(world, repair):
    """It too is as old as its message: what is older than that was lost."""
    missing = lost(world)
    world.clock.pass_(minutes=10)
    world.damage(waiting(world, work=make_work(queued_at=world.clock())))
    inside = lost(world, work=make_work(queued_at=world.clock()))
    world.clock.pass_(minutes=5)
    assert repair().resent == 1
    assert world.row(missing).work.resends == 1
    assert world.row(inside).work.resends == 0


def test_entry_that_is_damaged_does_not_stop_the_repair(world, repair):
    """Nobody can tell what it stands for: it is counted with each run until it is mended."""
    lost(world)
    world.due.put(Row("2026080100-0", "x~d~0~damaged", {}))
    world.clock.pass_(minutes=5)
    report = repair()
    assert (report.resent, report.failed_rows) == (1, 1)


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


def test_repair_that_cannot_read_the_records_has_done_its_own_work(world, repair):
    """Whether a cleanup is to be gone on with is asked last, and stops nothing."""
    lost(world)
    world.clock.pass_(minutes=5)

    def away(name):
        if name == "jobruns.query":
            raise StorageUnavailableError

    world.faults.before = away
    report = repair()
    assert (report.resent, report.failed_rows) == (1, 1)


def test_record_that_is_damaged_does_not_keep_the_rest_of_a_cleanup_back(world, repair):
    """The newest that can be read says whether something remains."""
    runs = JobRuns(world.deps.jobruns_table)
    left = JobReport(remaining=1)
    runs.record(JobRun(job=CLEANUP.name, trigger="timer", started_at=NOW, report=left))
    world.deps.jobruns_table.put(Row(CLEANUP.name, "0", {"trigger": "timer"}))
    world.clock.pass_(minutes=5)
    repair()
    assert [found.trigger for found in runs.newest(CLEANUP.name)] == ["repair", "timer"]


@pytest.mark.parametrize("ticks", [3, 20])
def test_message_that_the_queue_refuses_does_not_count(world, repair, ticks):
    """Nobody can have it: the first tick in which the queue is well again sends it."""
    draft = lost(world)
    world.faults.before = at("jobs.send", times=ticks, unknown=False)
    for _ in range(ticks):
        world.clock.pass_(minutes=5)
        assert repair().failed_rows == 1
    world.clock.pass_(minutes=5)
    assert repair().resent == 1
    assert len(world.jobs.sent) == 1
    assert world.row(draft).work.resends == 1


def test_message_that_may_have_been_sent_counts(world, repair):
    """No answer is no refusal: three times at most, whatever becomes of them."""
    draft = lost(world)
    world.faults.after = at("jobs.send", times=9)
    for _ in range(5):
        world.clock.pass_(minutes=5)
        repair()
        world.jobs.waiting.clear()
    assert (len(world.jobs.sent), world.row(draft).work.resends) == (3, 3)


def test_refused_message_of_a_draft_that_somebody_attends_to_by_then(world, repair):
    """It was deleted, or another run holds it: there is nothing to take back."""
    draft = lost(world)

    def refused(call):
        if call == "jobs.send":
            world.faults.before = lambda call: None
            delete_draft(world.row(draft), world.deps)
            raise StorageUnavailableError(unknown=False)

    world.faults.before = refused
    world.clock.pass_(minutes=5)
    assert repair().failed_rows == 1
    assert world.drafts.rows == {}


def test_refused_message_is_not_told_as_sent(world, repair, caplog):
    """`draft_resent` counts messages."""
    lost(world)
    world.faults.before = at("jobs.send", unknown=False)
    for told in (0, 1):
        world.clock.pass_(minutes=5)
        repair()
        assert caplog.text.count("draft_resent") == told
