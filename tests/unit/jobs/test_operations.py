"""What operators can do: see how things stand, retry what failed, replay dead letters safely."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from cleanup_abandoned_drafts.handler import CLEANUP
from process_image_job.endings import keep_malformed
from process_image_job.handler import process_image_job
from shared import operations
from shared.domain.draft import DraftError, DraftStatus
from shared.domain.errors import RequestError, StorageUnavailableError
from shared.domain.ids import draft_row_key, new_draft_id
from shared.failing import end_draft
from shared.jobs import Tick, run
from shared.ports import Row
from shared.records.due import DueEntry
from shared.sending import message_for
from tests.factories import make_draft, make_work
from tests.fakehost import FakeHost
from tests.tiny import tiny_photo, tiny_tools


def failed(world, code="ATTEMPTS_EXHAUSTED", *, retryable=True, **changes):
    draft = world.add_photo(tiny_photo(), id=new_draft_id(), **changes)
    error = DraftError(code=code, detail="x", retryable=retryable, failed_at=world.clock())
    return end_draft(draft, error, world.deps)


def exhausted(world):
    """Failed by its last delivery, with the dead letter of that."""
    draft = world.add_photo(tiny_photo(), attempts=5, lease_expires_at=world.clock())
    process_image_job(
        message_for(draft).encode().encode(), dequeue_count=6, deps=world.deps, tools=tiny_tools
    )
    [letter] = operations.dead_letters(world.deps)
    return world.row(draft), letter


def refusal(world, letter_id):
    with pytest.raises(RequestError) as caught:
        operations.replay(letter_id, world.deps)
    return caught.value.status, caught.value.code


def test_summary_tells_how_old_the_last_success_is(world):
    """A failed run since does not make it younger."""
    run(CLEANUP, Tick(), world.deps)
    world.clock.pass_(hours=24)

    def bug(call):
        if call == "due.query":
            raise RuntimeError("a bug")

    world.faults.before = bug
    with pytest.raises(RuntimeError):
        run(CLEANUP, Tick(), world.deps)
    world.faults.before = lambda call: None
    cleanup, repair = operations.summary(world.deps).jobs
    assert cleanup.last_run.outcome == "failed"
    assert cleanup.last_success_age_seconds == 24 * 3600
    assert (repair.last_run, repair.last_success_at, repair.enabled) == (None, None, True)


def test_summary_tells_queues_and_new_dead_letters(world):
    """What waits where, and what nobody has looked at yet."""
    world.jobs.send(message_for(world.add()).encode())
    keep_malformed(b"x", "odd", queue="q", dequeue_count=1, deps=world.deps)
    found = operations.summary(world.deps)
    assert {state.name: state.messages for state in found.queues} == {
        "image-processing-jobs": 1,
        "image-processing-jobs-poison": 0,
        "draft-webhooks": 0,
        "draft-webhooks-poison": 0,
    }
    assert found.new_dead_letters == 1


def test_retry_of_what_failed_takes_all_that_can_be_retried(world):
    """Permanent failures are left out; the owner's tries are not used up."""
    drafts = [failed(world) for _ in range(3)]
    failed(world, "CORRUPT_IMAGE", retryable=False)
    world.add(make_draft(id=new_draft_id(), status=DraftStatus.READY, work=None))
    report = operations.retry_failed(world.deps)
    assert (report.matched, report.retried) == (3, 3)
    assert set(report.draft_ids) == {draft.id for draft in drafts}
    FakeHost(world).work_off()
    rows = [world.row(draft) for draft in drafts]
    assert {(row.status, row.generation, row.retry_count) for row in rows} == {
        (DraftStatus.READY, 2, 0)
    }


def test_retry_of_what_failed_can_be_narrowed(world):
    """By code, by time, by number."""
    old = failed(world, "WORKER_LOST")
    world.clock.pass_(hours=2)
    new = failed(world, "WORKER_LOST")
    failed(world, "STUCK_PROCESSING")
    since = world.clock() - timedelta(hours=1)

    def ids(**narrowed):
        return operations.retry_failed(world.deps, dry_run=True, **narrowed).draft_ids

    assert ids(code="WORKER_LOST") == (old.id, new.id)
    assert ids(code="WORKER_LOST", since=since) == (new.id,)
    assert ids(code="WORKER_LOST", most=1) == (old.id,)


def test_retry_of_what_failed_counts_a_draft_once(world):
    """A lost race has left a second entry of it in the index."""
    draft = failed(world)
    world.deps.due.put(DueEntry(
        owner_key=draft.owner_key, row_key=draft_row_key(draft.id), due_at=world.clock()
    ))  # fmt: skip
    assert operations.retry_failed(world.deps, dry_run=True).matched == 1


def test_dry_run_changes_nothing(world):
    """It says what would be retried."""
    failed(world)
    before = dict(world.drafts.rows)
    report = operations.retry_failed(world.deps, dry_run=True)
    assert (report.matched, report.retried) == (1, 0)
    assert world.drafts.rows == before
    assert world.jobs.sent == []


def test_retry_of_what_failed_goes_on_where_one_cannot_be_sent(world):
    """The queue was away for one: it is Failed as before, and not counted."""
    first, second = failed(world), failed(world)
    failures = iter([StorageUnavailableError(unknown=False)])

    def once(call):
        if call == "jobs.send" and (error := next(failures, None)):
            raise error

    world.faults.before = once
    report = operations.retry_failed(world.deps)
    assert (report.matched, report.retried) == (2, 1)
    assert {world.row(first).status, world.row(second).status} == {
        DraftStatus.FAILED,
        DraftStatus.PROCESSING,
    }


def test_replay_of_a_failed_draft_is_a_retry_that_is_not_counted(world):
    """The draft is processed, the letter is marked."""
    draft, letter = exhausted(world)
    assert operations.replay(letter.id, world.deps).state == "replayed"
    FakeHost(world).work_off()
    row = world.row(draft)
    assert (row.status, row.generation, row.retry_count) == (DraftStatus.READY, 2, 0)


def test_replay_twice_is_refused_while_the_first_is_under_way(world):
    """Somebody attends to the draft; nothing is sent a second time."""
    _, letter = exhausted(world)
    operations.replay(letter.id, world.deps)
    assert refusal(world, letter.id) == (409, "NOT_REPLAYABLE")
    assert len(world.jobs.sent) == 1


def test_replay_of_an_unattended_draft_sends_its_message(world):
    """No new generation: the work is wanted already."""
    body = message_for(make_draft()).encode().encode()
    keep_malformed(body, "odd", queue="q", dequeue_count=1, deps=world.deps)
    draft = world.add_photo(tiny_photo())
    [letter] = operations.dead_letters(world.deps)
    assert refusal(world, letter.id) == (409, "NOT_REPLAYABLE"), "it may still be in the queue"
    world.clock.pass_(minutes=4)
    operations.replay(letter.id, world.deps)
    assert world.row(draft).work.resends == 1
    FakeHost(world).work_off()
    assert (world.row(draft).status, world.row(draft).generation) == (DraftStatus.READY, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"status": DraftStatus.READY, "work": None},
        {"status": DraftStatus.PROCESSING, "work": make_work(), "lease_id": "x"},
        {"deleted_at": make_draft().created_at, "work": None},
    ],
    ids=["ready", "processing", "deleted"],
)
def test_replay_where_nobody_waits_is_refused(world, changes):
    """Nothing is done twice, and nothing comes back to life."""
    draft = world.add(make_draft(**changes))
    body = message_for(draft).encode().encode()
    keep_malformed(body, "odd", queue="q", dequeue_count=1, deps=world.deps)
    [letter] = operations.dead_letters(world.deps)
    before = dict(world.drafts.rows)
    assert refusal(world, letter.id) == (409, "NOT_REPLAYABLE")
    assert (world.drafts.rows, world.jobs.sent) == (before, [])


def test_replay_of_a_failure_that_is_final_is_refused(world):
    """Trying again cannot help."""
    draft = failed(world, "CORRUPT_IMAGE", retryable=False)
    body = message_for(draft).encode().encode()
    keep_malformed(body, "odd", queue="q", dequeue_count=1, deps=world.deps)
    [letter] = operations.dead_letters(world.deps)
    assert refusal(world, letter.id) == (409, "NOT_REPLAYABLE")


def test_replay_of_garbage_is_refused(world):
    """Nobody can understand it the second time either."""
    keep_malformed(b"hello", "odd", queue="q", dequeue_count=1, deps=world.deps)
    [letter] = operations.dead_letters(world.deps)
    assert refusal(world, letter.id) == (409, "NOT_REPLAYABLE")


@pytest.mark.parametrize("letter_id", ["2026-08~nothing", "nothing", "", "2026-08~"])
def test_replay_of_an_unknown_letter_is_not_found(world, letter_id):
    """Whatever the id looks like."""
    assert refusal(world, letter_id) == (404, "NOT_FOUND")


def test_replay_of_an_event_sends_it_to_its_subscriber_again(world):
    """A notification that found no receiver is at least once by design."""
    world.deps.webhooks_poisoned.send('{"id":"x/1"}')
    from cleanup_abandoned_drafts.repair import REPAIR

    run(REPAIR, Tick(), world.deps)
    [letter] = operations.dead_letters(world.deps)
    operations.replay(letter.id, world.deps)
    assert [text for text, _ in world.deps.webhooks.sent] == ['{"id":"x/1"}']


def test_replay_of_an_event_that_is_no_text_is_refused(world):
    """Somebody else's bytes in the queue of events cannot be sent again."""
    queue = world.deps.settings.webhooks_poison_queue
    keep_malformed(b"\xff\xfe", "odd", queue=queue, dequeue_count=1, deps=world.deps)
    [letter] = operations.dead_letters(world.deps)
    assert refusal(world, letter.id) == (409, "NOT_REPLAYABLE")


def test_dead_letters_come_newest_first_and_no_more_than_asked(world):
    """The last thing that went wrong is on top."""
    for number in range(3):
        body = str(number).encode()
        keep_malformed(body, "odd", queue="q", dequeue_count=1, deps=world.deps)
        world.clock.pass_(days=10)
    found = operations.dead_letters(world.deps, most=2)
    assert [letter.body for letter in found] == [b"2", b"1"]


def test_replay_goes_on_where_another_row_is_damaged(world, caplog):
    """The row at the head of the queue is nobody's business here; the line names the draft."""
    draft = world.add_photo(tiny_photo())
    keep_malformed(
        message_for(draft).encode().encode(), "odd", queue="q", dequeue_count=1, deps=world.deps
    )
    world.clock.pass_(minutes=4)
    other = world.add(make_draft(id=new_draft_id(), work=make_work(queued_at=world.clock())))
    world.jobs.send(message_for(other).encode())
    world.damage(other)
    [letter] = operations.dead_letters(world.deps)
    assert operations.replay(letter.id, world.deps).state == "replayed"
    [line] = [json.loads(r.message) for r in caplog.records if "draft_resent" in r.message]
    assert (line["trigger"], line["draftId"]) == ("operator", draft.id)


def test_retry_of_what_failed_goes_on_past_a_damaged_row(world, caplog):
    """It is told and left out; the others are retried."""
    damaged, draft = failed(world), failed(world)
    world.damage(damaged)
    assert operations.retry_failed(world.deps).draft_ids == (draft.id,)
    assert f'"draftId":"{damaged.id}"' in caplog.text


def test_damaged_records_hide_no_others(world, caplog):
    """A letter and a run that cannot be read are told; summary and listing show the rest."""
    run(CLEANUP, Tick(), world.deps)
    world.deps.jobruns_table.put(Row(CLEANUP.name, "0", {"startedAt": "long ago"}))
    keep_malformed(b"x", "odd", queue="q", dequeue_count=1, deps=world.deps)
    world.letters.put(Row(f"{world.clock():%Y-%m}", "0", {"body": b"y"}))
    found = operations.summary(world.deps)
    assert (found.new_dead_letters, found.jobs[0].last_run.outcome) == (1, "success")
    assert [letter.body for letter in operations.dead_letters(world.deps)] == [b"x"]
    assert '"kind":"DeadLetter"' in caplog.text
    assert '"kind":"JobRun"' in caplog.text


def test_replay_of_a_damaged_letter_is_not_found(world, caplog):
    """As the listing, which does not show it; the log says why."""
    world.letters.put(Row("2026-08", "damaged", {"body": b"y"}))
    assert refusal(world, "2026-08~damaged") == (404, "NOT_FOUND")
    assert '"rowKey":"damaged"' in caplog.text


def test_replay_where_the_draft_is_damaged_keeps_the_letter(world, caplog):
    """Refused, told, and as new: once the row is mended it is replayed."""
    draft, letter = exhausted(world)
    key = (draft.owner_key, draft_row_key(draft.id))
    whole = world.drafts.rows[key]
    world.damage(draft)
    assert refusal(world, letter.id) == (409, "NOT_REPLAYABLE")
    assert f'"rowKey":"{key[1]}"' in caplog.text
    assert operations.dead_letters(world.deps) == [letter]
    world.drafts.rows[key] = replace(whole, etag=world.drafts.rows[key].etag)
    assert operations.replay(letter.id, world.deps).state == "replayed"
