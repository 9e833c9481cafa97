"""The cleanup's time: it keeps to it, says what is left, and goes on with it."""

from datetime import timedelta

from cleanup_abandoned_drafts.due_entries import Attention, attend_all
from cleanup_abandoned_drafts.handler import CLEANUP, run_cleanup_now
from cleanup_abandoned_drafts.policy import Verdict
from cleanup_abandoned_drafts.repair import REPAIR
from shared.jobs import JobContext, Tick, run
from shared.records.due import DueEntry
from shared.records.jobruns import JobRuns, Outcome
from tests.factories import OWNER
from tests.fakes import NOW
from tests.invariants import drafts_of
from tests.unit.sweep.found import failed, many_failed, many_letters, uploading


def test_cleanup_out_of_time_says_what_is_left(world):
    """Oldest first; the next repair tick goes on with the rest."""
    many_failed(world, 5)
    world.clock.pass_(days=8)
    deletions = iter(range(100))

    def slowly(call):
        if call == "uploads.delete":
            next(deletions)
            world.clock.pass_(minutes=3)

    world.faults.before = slowly
    first = run(CLEANUP, Tick(), world.deps)
    world.faults.before = lambda call: None
    assert (first.report.purged, first.report.remaining, first.outcome) == (3, 2, Outcome.PARTIAL)
    assert not first.is_success, "the alarm on its age goes on counting"
    run(REPAIR, Tick(), world.deps)
    last = next(JobRuns(world.deps.jobruns_table).newest(CLEANUP.name))
    assert (last.report.purged, last.outcome) == (2, Outcome.SUCCESS)
    assert drafts_of(world) == []


def test_cleanup_out_of_time_leaves_old_letters_for_the_next(world):
    """A flood of a month ago goes by the hundred; the repair goes on with the rest."""
    many_letters(world, 950)
    world.clock.pass_(days=31)

    def slowly(call):
        if call == "deadletters.transact":
            world.clock.pass_(minutes=1)

    world.faults.before = slowly
    first = run(CLEANUP, Tick(), world.deps)
    world.faults.before = lambda call: None
    assert len(world.letters.rows) == 950 - 5 * 95 - 3 * 100
    assert (first.report.remaining, first.is_success) == (1, False)
    assert first.finished_at - first.started_at == timedelta(minutes=8)
    run(REPAIR, Tick(), world.deps)
    assert world.letters.rows == {}


def test_cleanup_out_of_time_does_not_read_all_that_is_left(world):
    """A million entries would take it past the time at which the host stops it."""
    entry = DueEntry(owner_key=OWNER, row_key="d~x", due_at=NOW)
    entries = iter([entry] * 20_000)
    attention = Attention.paid_to(frozenset(Verdict), world.deps)
    report = attend_all(entries, attention, JobContext(deps=world.deps, deadline=NOW))
    assert (report.examined, report.remaining) == (0, 10_000)
    assert len(list(entries)) == 10_000


def test_repair_leaves_the_cleanup_alone_when_nothing_remains(world, repair):
    """What is due for the night waits for it."""
    failed(world)
    world.clock.pass_(days=8)
    repair()
    assert len(drafts_of(world)) == 1
    assert list(JobRuns(world.deps.jobruns_table).newest(CLEANUP.name)) == []


def test_cleanup_after_missed_days_catches_up(world, clean_up):
    """One late run does what three nights would have done."""
    uploading(world)
    many_failed(world, 3)
    world.clock.pass_(days=11)
    report = clean_up()
    assert (report.purged, report.failed) == (3, 1)
    clean_up()
    world.clock.pass_(days=8)
    clean_up()
    world.clock.pass_(days=1)
    clean_up()
    assert (world.drafts.rows, world.due.rows) == ({}, {})


def test_operator_can_run_the_cleanup_now(world):
    """It is the same job, and its record says who asked."""
    failed(world)
    world.clock.pass_(days=8)
    done = run_cleanup_now(world.deps)
    assert (done.trigger, done.report.purged, done.outcome) == ("operator", 1, Outcome.SUCCESS)


def test_operator_is_answered_before_the_front_end_gives_up(world):
    """Three minutes; what remains is gone on with by the repair."""
    many_failed(world, 5)
    world.clock.pass_(days=8)

    def slowly(call):
        if call == "uploads.delete":
            world.clock.pass_(minutes=1)

    world.faults.before = slowly
    done = run_cleanup_now(world.deps)
    assert (done.report.purged, done.report.remaining) == (3, 2)
    run(REPAIR, Tick(), world.deps)
    assert drafts_of(world) == []
