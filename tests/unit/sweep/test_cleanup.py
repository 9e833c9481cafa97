"""The nightly cleanup: what goes, what stays, and what a fault leaves for the next night."""

import json
import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from cleanup_abandoned_drafts.attending import Attention, attend_all
from cleanup_abandoned_drafts.handler import CLEANUP, run_cleanup_now
from cleanup_abandoned_drafts.policy import Verdict
from cleanup_abandoned_drafts.repair import REPAIR
from shared.deleting import delete_draft
from shared.domain.draft import DraftError, DraftStatus, WorkReason
from shared.domain.errors import ConflictError, StorageUnavailableError
from shared.domain.events import EventType
from shared.domain.ids import draft_row_key, inverted_ms, new_draft_id
from shared.domain.lifecycle import fail, retry
from shared.failing import end_draft
from shared.jobs import Tick, Turn, run
from shared.ports import Row
from shared.records.deadletters import DeadLetter
from shared.records.due import DueEntry
from shared.records.idempotency import IdempotencyKeys
from shared.records.jobruns import JobRuns, Outcome
from shared.settings import Settings
from tests.factories import OWNER, make_draft, make_work, make_world
from tests.fakes import NOW
from tests.invariants import check_settled, drafts_of
from tests.tiny import tiny_photo
from tests.unit.api.failing import at

ERROR = DraftError(code="ATTEMPTS_EXHAUSTED", detail="x", retryable=True, failed_at=NOW)


def uploading(world, **changes):
    return world.add(
        make_draft(status=DraftStatus.UPLOADING, work=None, stage=None, raw=None, **changes)
    )


def failed(world, **changes):
    """A draft that failed now, with its photo and a blob of a run."""
    draft = world.add_photo(tiny_photo(), **changes)
    world.images.put(f"{draft.owner_key}/{draft.id}/1-1/mask.png", b"x", content_type="image/png")
    return end_draft(draft, replace(ERROR, failed_at=world.clock()), world.deps)


def many_failed(world, count):
    return [failed(world, id=new_draft_id()) for _ in range(count)]


def many_letters(world, count):
    """Dead letters of one night, in two months."""
    for number in range(count):
        at = NOW - timedelta(days=number % 2)
        letter = DeadLetter(at=at, queue="q", reason="r", code="c", body=b"")
        world.deps.letters.keep(letter, name=str(number))


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


def test_deletion_that_breaks_off_at_the_history_keeps_the_row(world, clean_up):
    """The row goes last, so that what is left of a draft can be found by it."""
    draft = failed(world)
    world.faults.before = at("drafts.transact", skip=1)  # the first one is the tombstone
    delete_draft(draft, world.deps)
    [tombstone] = drafts_of(world)
    assert tombstone.deleted_at == NOW
    world.clock.pass_(minutes=15)
    clean_up()
    assert world.drafts.rows == {}


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


def test_blob_that_cannot_be_deleted_is_left_for_the_next_night(world, clean_up, caplog):
    """The rest goes on; the tombstone stays until its blobs are gone."""
    many_failed(world, 2)
    world.clock.pass_(days=8)

    def refuse(call):
        if call == "images.delete":
            world.faults.before = lambda call: None
            raise StorageUnavailableError(unknown=False)

    world.faults.before = refuse
    report = clean_up()
    assert (report.purged, report.failed_blob_deletions) == (1, 1)
    assert report.outcome is Outcome.PARTIAL
    assert "blob_delete_failed" in caplog.text
    [tombstone] = drafts_of(world)
    assert tombstone.deleted_at is not None
    assert world.deps.store.find(OWNER, tombstone.id) is None
    world.clock.pass_(days=1)
    assert clean_up().purged == 1
    assert (drafts_of(world), world.images.stored) == ([], {})


def test_blob_that_somebody_has_leased_is_counted(world, clean_up):
    """A lease on a blob is no reason to stop."""
    failed(world)
    world.clock.pass_(days=8)

    def refuse(call):
        if call == "uploads.delete":
            raise ConflictError

    world.faults.before = refuse
    assert clean_up().failed_blob_deletions == 1


def test_row_that_is_damaged_does_not_stop_the_rest(world, clean_up, caplog):
    """It is counted and told; the others are handled."""
    damaged, _, _ = many_failed(world, 3)
    world.damage(damaged)
    world.clock.pass_(days=8)
    report = clean_up()
    assert (report.purged, report.failed_rows) == (2, 1)
    assert f'"draftId":"{damaged.id}"' in caplog.text


def test_entry_that_is_damaged_does_not_stop_the_rest(world, clean_up, caplog):
    """It is counted and told, and lies where it was for a person to mend."""
    many_failed(world, 2)
    world.due.put(Row("2026080100-0", f"{OWNER}~d~0~damaged", {"dueAt": "2026-08-01T00:00:00Z"}))
    world.clock.pass_(days=8)
    report = clean_up()
    assert (report.purged, report.failed_rows, report.outcome) == (2, 1, Outcome.PARTIAL)
    assert '"draftId":"damaged"' in caplog.text
    assert ("2026080100-0", f"{OWNER}~d~0~damaged") in world.due.rows


def test_key_without_its_time_goes_with_its_entry(world, clean_up):
    """The entry's time is the longest that a key is kept."""
    keys = IdempotencyKeys(world.deps.drafts_table, world.deps.due)
    row = keys.begin(OWNER, "key", "print", world.clock()).row
    world.drafts.put(replace(row, values={"state": "Done"}))
    many_failed(world, 2)
    world.clock.pass_(days=8)
    report = clean_up()
    assert (report.purged, report.failed_rows) == (2, 0)
    assert (row.partition, row.key) not in world.drafts.rows


def test_event_without_its_number_does_not_stop_the_rest():
    """The history of one draft is damaged: it is counted, the others are handled."""
    world = make_world(settings=Settings(auth_mode="local", events_queue_enabled=True))
    world.faults.before = at("events.send", times=2)
    damaged, _ = many_failed(world, 2)
    for key, row in world.drafts.rows.items():
        if key[1].startswith(f"e~{damaged.id}"):
            values = {name: value for name, value in row.values.items() if name != "seq"}
            world.drafts.rows[key] = replace(row, values=values)
    world.clock.pass_(minutes=5)
    assert run(REPAIR, Tick(), world.deps).report.failed_rows == 1
    assert sum(draft.unsent_since is None for draft in drafts_of(world)) == 1


def test_damaged_records_are_dropped_when_they_are_old(world, clean_up):
    """The key of a letter or a run holds its time; what else is old goes with them."""
    many_letters(world, 2)
    for table, partition in ((world.letters, "2026-08"), (world.deps.jobruns_table, CLEANUP.name)):
        key = f"{inverted_ms(int(NOW.timestamp() * 1000))}~damaged"
        table.put(Row(partition, key, {"at": "long ago"}))
    clean_up()
    assert (len(world.letters.rows), len(started(world))) == (3, 1)
    world.clock.pass_(days=91)
    assert clean_up().outcome is Outcome.SUCCESS
    assert (world.letters.rows, len(world.deps.jobruns_table.rows)) == ({}, 1)


def test_time_without_its_zone_does_not_stop_the_rest(world, clean_up):
    """A row that somebody migrated by hand is damaged like any other."""
    bare, _, _ = many_failed(world, 3)
    key = (bare.owner_key, draft_row_key(bare.id))
    row = world.drafts.rows[key]
    error = row.values["error"].replace("Z", "")
    world.drafts.rows[key] = replace(row, values={**row.values, "error": error})
    world.clock.pass_(days=8)
    report = clean_up()
    assert (report.purged, report.failed_rows) == (2, 1)


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


def test_letters_that_somebody_else_drops_are_no_failure(world, clean_up):
    """Two cleanups at once: one of them meets rows that are gone."""
    many_letters(world, 1)
    world.clock.pass_(days=31)

    def first(call):
        if call == "deadletters.transact":
            world.faults.before = lambda call: None
            clean_up()

    world.faults.before = first
    assert clean_up().outcome is Outcome.SUCCESS
    assert world.letters.rows == {}


def test_cleanup_out_of_time_does_not_read_all_that_is_left(world):
    """A million entries would take it past the time at which the host stops it."""
    entry = DueEntry(owner_key=OWNER, row_key="d~x", due_at=NOW)
    entries = iter([entry] * 20_000)
    attention = Attention.paid_to(frozenset(Verdict), world.deps)
    report = attend_all(entries, attention, Turn(deps=world.deps, deadline=NOW))
    assert (report.examined, report.remaining) == (0, 10_000)
    assert len(list(entries)) == 10_000


def test_repair_leaves_the_cleanup_alone_when_nothing_remains(world, repair):
    """What is due for the night waits for it."""
    failed(world)
    world.clock.pass_(days=8)
    repair()
    assert len(drafts_of(world)) == 1
    assert list(JobRuns(world.deps.jobruns_table).newest(CLEANUP.name)) == []


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
    assert all(world.row(draft).due_at == row.values["dueAt"] for row in world.due.rows.values())


def started(world):
    """When the cleanups began whose records are kept."""
    return [found.started_at for found in JobRuns(world.deps.jobruns_table).newest(CLEANUP.name)]


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
