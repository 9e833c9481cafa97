"""The nightly cleanup: what goes, what stays, and what a fault leaves for the next night."""

import json
import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from cleanup_abandoned_drafts.handler import CLEANUP
from shared.domain.draft import DraftStatus, WorkReason
from shared.domain.events import EventType
from shared.domain.lifecycle import fail, retry
from shared.failing import end_draft
from shared.jobs import Tick, run
from shared.records.idempotency import IdempotencyKeys
from shared.settings import Settings
from tests.factories import OWNER, make_draft, make_work, make_world
from tests.fakes import NOW
from tests.invariants import check_settled, drafts_of
from tests.tiny import tiny_photo
from tests.unit.sweep.found import ERROR, failed, many_failed, started, uploading


def test_cleanup_with_nothing_due_reads_one_page(world, clean_up):
    """An hour in which nothing is due costs a peek, a query and the records."""
    world.add()
    world.faults.calls.clear()
    assert clean_up().examined == 0
    assert [call for call in world.faults.calls if call.startswith(("due", "drafts"))] == [
        "due.query"
    ]


def test_abandoned_upload_fails_after_a_day_and_goes_after_a_week(world, clean_up):
    """Its owner can see why, and cannot retry what never came."""
    draft = uploading(world)
    world.clock.pass_(hours=23)
    clean_up()
    assert world.row(draft).status is DraftStatus.UPLOADING
    world.clock.pass_(hours=1)
    assert clean_up().failed == 1
    error = world.row(draft).error
    assert (error.code, error.retryable) == ("UPLOAD_ABANDONED", False)
    world.clock.pass_(days=7)
    assert clean_up().purged == 1
    assert drafts_of(world) == []


def test_abandoned_upload_is_told_as_no_failure_of_ours(world, clean_up, caplog):
    """Trying again cannot help: no alarm counts it."""
    uploading(world)
    world.clock.pass_(hours=24)
    clean_up()
    [line] = [json.loads(r.getMessage()) for r in caplog.records if "draft_failed" in r.message]
    assert (line["code"], line["permanent"], line["level"]) == ("UPLOAD_ABANDONED", True, "warning")


def test_stuck_draft_is_told_as_a_failure_of_ours(world, clean_up, caplog):
    """Nobody attended to it for two hours."""
    world.add(make_draft(work=make_work(resends=3)))
    world.clock.pass_(hours=2)
    clean_up()
    [line] = [json.loads(r.getMessage()) for r in caplog.records if "draft_failed" in r.message]
    assert (line["code"], line["permanent"], line["level"]) == ("STUCK_PROCESSING", False, "error")


def test_failed_draft_is_kept_for_seven_days_from_its_failure(world, clean_up):
    """The age counts from the failure, not from the upload."""
    draft = world.add_photo(tiny_photo(), created_at=NOW - timedelta(days=300))
    end_draft(draft, ERROR, world.deps)
    world.clock.pass_(days=6, hours=23)
    clean_up()
    assert world.row(draft).status is DraftStatus.FAILED
    world.clock.pass_(hours=1)
    clean_up()
    assert drafts_of(world) == []
    assert world.uploads.stored == {}


def test_purge_leaves_nothing_but_its_entry(world, clean_up):
    """Row, events and blobs of both containers are gone; the entry waits for the second pass."""
    failed(world)
    world.clock.pass_(days=8)
    clean_up()
    assert (world.drafts.rows, world.uploads.stored, world.images.stored) == ({}, {}, {})
    [entry] = world.deps.due.due(world.clock() + timedelta(days=1))
    assert entry.due_at == world.clock() + timedelta(minutes=15)


def test_second_pass_removes_what_a_late_writer_left(world, clean_up):
    """Blobs that came after the deletion go with the entry, not before it is settled."""
    draft = failed(world)
    world.clock.pass_(days=8)
    clean_up()
    world.images.put(
        f"{draft.owner_key}/{draft.id}/1-1/thumb.webp", b"late", content_type="image/webp"
    )
    world.clock.pass_(minutes=25)
    clean_up()
    assert len(world.images.stored) == 1, "somebody may still be writing"
    world.clock.pass_(seconds=1)
    clean_up()
    assert world.images.stored == {}
    check_settled(world)


def test_announced_draft_that_was_never_written_is_cleared_up(world, clean_up):
    """The request died between its blob and its row."""
    [announced] = world.deps.store.announce([make_draft()], NOW)
    world.uploads.put(announced.raw.blob, b"photo", content_type="image/jpeg")
    world.clock.pass_(minutes=13)
    clean_up()
    assert len(world.uploads.stored) == 1, "the request may still write its row"
    world.clock.pass_(seconds=1)
    clean_up()
    assert world.uploads.stored == {}
    assert world.due.rows == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"status": DraftStatus.READY, "work": None},
        {"status": DraftStatus.ACCEPTED, "work": None},
        {"lease_id": "live", "lease_expires_at": NOW + timedelta(days=400)},
    ],
    ids=["ready", "accepted", "held"],
)
def test_draft_that_is_alive_is_never_touched(world, clean_up, changes):
    """However old it is, and however late the cleanup comes."""
    draft = world.add_photo(tiny_photo(), **changes)
    world.clock.pass_(days=300)
    clean_up()
    assert world.row(draft) == draft
    assert len(world.uploads.stored) == 1


def test_draft_retried_during_the_cleanup_survives(world, clean_up):
    """The person wins: the tombstone meets another ETag."""
    draft = failed(world)
    world.clock.pass_(days=8)

    def retry_now(call):
        if call == "due.put":  # the first step of the deletion
            world.faults.before = lambda call: None
            again = retry(world.row(draft), world.clock())
            world.deps.store.save(world.row(draft), again, now=world.clock())

    world.faults.before = retry_now
    clean_up()
    assert world.row(draft).status is DraftStatus.PROCESSING
    assert draft.raw.blob in world.uploads.stored


def test_stuck_draft_fails_after_two_hours(world, clean_up):
    """Nobody attends to it, and its owner is told that a retry may help."""
    draft = world.add(make_draft(work=make_work(resends=3)))
    world.clock.pass_(hours=2)
    assert clean_up().failed == 1
    row = world.row(draft)
    assert (row.error.code, row.error.retryable) == ("STUCK_PROCESSING", True)
    assert world.deps.store.events_of(row)[-1].type is EventType.FAILED


def test_stuck_reprocess_keeps_the_picture(world, clean_up):
    """A draft that was Ready stays so, with a warning."""
    work = make_work(reason=WorkReason.REPROCESS, resends=3)
    draft = world.add(make_draft(status=DraftStatus.READY, work=work))
    world.clock.pass_(hours=2)
    clean_up()
    row = world.row(draft)
    assert (row.status, row.work) == (DraftStatus.READY, None)
    assert "REPROCESS_FAILED" in row.warnings


def test_expired_key_is_forgotten(world, clean_up):
    """An idempotency row lives 24 hours from its answer, then goes with its entry."""
    keys = IdempotencyKeys(world.deps.drafts_table, world.deps.due)
    begun = keys.begin(OWNER, "key", "print", world.clock())
    world.clock.pass_(minutes=1)
    world.deps.drafts_table.transact([begun.finish([], world.clock())])
    world.clock.pass_(hours=23, minutes=59, seconds=30)
    clean_up()
    assert len(world.drafts.rows) == 1, "its time counts from the answer"
    world.clock.pass_(hours=1)
    clean_up()
    assert (world.drafts.rows, world.due.rows) == ({}, {})


def test_cleanup_twice_at_once_has_the_same_end(world):
    """Two hosts at three o'clock: no error, each draft deleted once."""
    many_failed(world, 20)
    world.clock.pass_(days=8)
    start, reports = threading.Barrier(2), []

    def go():
        start.wait()
        reports.append(run(CLEANUP, Tick(), world.deps).report)

    threads = [threading.Thread(target=go) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert drafts_of(world) == []
    assert sum(report.failed_rows + report.failed_blob_deletions for report in reports) == 0
    assert (world.uploads.stored, world.images.stored) == ({}, {})


def test_cleanup_with_longer_lifetimes_reschedules(world, clean_up):
    """A draft that is not due any more is looked at when it is."""
    draft = failed(world)
    longer = Settings(auth_mode="local", failed_ttl_days=30)
    deps = replace(
        world.deps,
        settings=longer,
        store=type(world.deps.store)(world.drafts, world.deps.due, longer.retention),
    )
    world.clock.pass_(days=8)
    run(CLEANUP, Tick(), deps)
    assert world.row(draft).due_at == NOW + timedelta(days=30)
    world.clock.pass_(days=23)
    run(CLEANUP, Tick(), deps)
    assert drafts_of(world) == []


def test_ready_draft_with_a_lifetime_goes():
    """READY_TTL_DAYS is counted from its last change."""
    world = make_world(settings=Settings(auth_mode="local", ready_ttl_days=14))
    world.add_photo(tiny_photo(), status=DraftStatus.READY, work=None)
    world.clock.pass_(days=14)
    assert run(CLEANUP, Tick(), world.deps).report.purged == 1
    assert drafts_of(world) == []


def test_entry_that_no_row_names_is_dropped_when_it_is_old(world, clean_up):
    """A writer that lost its race leaves an entry behind."""
    draft = world.add()
    stale = fail(draft, ERROR, NOW)
    world.deps.store.announce([replace(stale, due_at=None, due_etag=None)], NOW)
    assert len(world.due.rows) == 2
    world.clock.pass_(days=8)
    clean_up()
    world.clock.pass_(minutes=30)
    clean_up()
    assert [row.values["dueAt"] for row in world.due.rows.values()] == [world.row(draft).due_at]


def test_records_are_dropped_when_they_are_old(world, clean_up):
    """Runs after 90 days, dead letters after 30."""
    from process_image_job.endings import keep_malformed

    clean_up()
    keep_malformed(b"x", "odd", queue="q", dequeue_count=1, deps=world.deps)
    world.clock.pass_(days=30)
    clean_up()
    assert len(world.letters.rows) == 1
    world.clock.pass_(seconds=1)
    clean_up()
    assert world.letters.rows == {}
    world.clock.pass_(days=59, hours=23)
    clean_up()
    assert len(started(world)) == 4
    world.clock.pass_(hours=1)
    clean_up()
    assert min(started(world)) == NOW + timedelta(days=30)
