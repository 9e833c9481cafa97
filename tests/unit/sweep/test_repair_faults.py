"""The repair where something cannot be read or written: the rest is still attended to."""

import pytest

from cleanup_abandoned_drafts.handler import CLEANUP
from cleanup_abandoned_drafts.repair import REPAIR, NotThroughError, repair_and_watch
from shared.deleting import delete_draft
from shared.domain.draft import DraftStatus
from shared.domain.errors import StorageUnavailableError
from shared.domain.ids import new_draft_id
from shared.jobs import Tick
from shared.ports import Row
from shared.records.jobruns import JobReport, JobRun, JobRuns, Outcome
from tests.factories import make_draft, make_work
from tests.fakes import NOW
from tests.unit.api.failing import at
from tests.unit.sweep.found import lost, waiting


def never(seconds):
    raise AssertionError("nothing is poisoned: there is nothing to watch")


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


def test_record_that_is_damaged_does_not_keep_the_rest_of_a_cleanup_back(world, repair):
    """The newest that can be read says whether something remains."""
    runs = JobRuns(world.deps.jobruns_table)
    left = JobReport(remaining=1)
    runs.record(JobRun(job=CLEANUP.name, trigger="timer", started_at=NOW, report=left))
    world.deps.jobruns_table.put(Row(CLEANUP.name, "0", {"trigger": "timer"}))
    world.clock.pass_(minutes=5)
    repair()
    assert [found.trigger for found in runs.newest(CLEANUP.name)] == ["repair", "timer"]
