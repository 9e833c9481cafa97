"""POST …/retry: Failed becomes Processing once more."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from shared.domain.draft import DraftError, DraftStatus, Stage, WorkReason
from shared.domain.events import EventType
from shared.domain.messages import JobMessage
from tests.factories import DRAFT_ID, make_draft
from tests.fakes import NOW
from tests.unit.api.calling import make_pictures, make_ready
from tests.unit.api.failing import at


def failed(code="ATTEMPTS_EXHAUSTED", *, retryable=True, **changes):
    error = DraftError(code=code, detail="It failed.", retryable=retryable, failed_at=NOW)
    fields = {
        "status": DraftStatus.FAILED,
        "work": None,
        "error": error,
        "attempts": 5,
        "stage": Stage.RENDERED,
        "checkpoint": make_pictures(),
    }
    return make_draft(**(fields | changes))


def with_blobs(world, draft):
    for name in draft.checkpoint.blobs():
        world.images.put(name, b"x", content_type="image/webp")
    return world.add(draft)


def test_retry_of_a_failed_draft(caller, world):
    """202: a new generation, error cleared, attempts from zero, one message."""
    with_blobs(world, failed())
    reply = caller.ask("retry_draft", DRAFT_ID)
    shown = reply.json
    assert (reply.status, shown["status"], shown["error"]) == (202, "Processing", None)
    assert (shown["generation"], shown["attempts"], shown["retryCount"]) == (2, 0, 1)
    [(text, _)] = world.jobs.sent
    assert JobMessage.parse(text.encode()).generation == 2
    assert reply.headers["retry-after"] == "2"


def test_retry_keeps_a_checkpoint_whose_blobs_are_there(caller, world):
    """What was made is not made again."""
    draft = with_blobs(world, failed())
    caller.ask("retry_draft", DRAFT_ID)
    again = world.row(draft)
    assert (again.stage, again.checkpoint) == (Stage.RENDERED, draft.checkpoint)


def test_retry_starts_over_where_a_blob_is_gone(caller, world):
    """A checkpoint that cannot be read is dropped as a whole."""
    draft = with_blobs(world, failed())
    world.images.delete(draft.checkpoint.mask)
    caller.ask("retry_draft", DRAFT_ID)
    again = world.row(draft)
    assert (again.stage, again.checkpoint, again.work.reason) == (
        Stage.UPLOADED,
        None,
        WorkReason.RETRY,
    )


def test_retry_starts_over_where_a_blob_is_empty(caller, world):
    """Nothing was stored under its name."""
    draft = with_blobs(world, failed())
    world.images.put(draft.checkpoint.mask, b"", content_type="image/png")
    caller.ask("retry_draft", DRAFT_ID)
    assert world.row(draft).checkpoint is None


def test_retry_after_a_lost_worker_is_the_last_chance(caller, world):
    """A photo that kills workers gets one more run, not five."""
    draft = world.add(failed("WORKER_LOST"))
    caller.ask("retry_draft", DRAFT_ID)
    assert world.row(draft).last_chance


@pytest.mark.parametrize(
    ("draft", "code"),
    [
        (make_draft(), "NOT_FAILED"),
        (make_draft(status=DraftStatus.UPLOADING, work=None), "NOT_FAILED"),
        (make_ready(), "NOT_FAILED"),
        (make_ready(status=DraftStatus.ACCEPTED), "NOT_FAILED"),
        (failed("CORRUPT_IMAGE", retryable=False), "NOT_RETRYABLE"),
        (failed(retry_count=5), "RETRY_LIMIT"),
    ],
    ids=["Processing", "Uploading", "Ready", "Accepted", "permanent", "limit"],
)
def test_retry_at_the_wrong_time(caller, world, draft, code):
    """409 with the reason and the current status; nothing is sent."""
    world.add(draft)
    reply = caller.ask("retry_draft", DRAFT_ID)
    assert (reply.status, reply.code) == (409, code)
    assert reply.json["currentStatus"] == draft.status
    assert world.jobs.sent == []


def test_retry_sent_five_times_at_once(caller, world):
    """One is accepted and one message sent; the others are told the status of now."""
    with_blobs(world, failed())
    with ThreadPoolExecutor(5) as pool:
        replies = list(pool.map(lambda _: caller.ask("retry_draft", DRAFT_ID), range(5)))
    assert sorted(reply.status for reply in replies) == [202, 409, 409, 409, 409]
    assert len(world.jobs.sent) == 1


def test_retry_with_the_queue_away_takes_the_row_back(caller, world):
    """503: Failed with the old error, the retry not counted, the generation not lowered."""
    draft = with_blobs(world, failed(retry_count=2))
    world.faults.before = at("jobs.send")
    reply = caller.ask("retry_draft", DRAFT_ID)
    row = world.row(draft)
    assert (reply.status, reply.code, reply.json["retryable"]) == (503, "STORAGE_UNAVAILABLE", True)
    assert (row.status, row.error, row.retry_count) == (DraftStatus.FAILED, draft.error, 2)
    assert (row.generation, row.work) == (2, None)
    assert world.deps.store.events_of(row)[-1].type is EventType.FAILED


def test_retry_works_after_the_queue_is_back(caller, world):
    """What was taken back can be asked for again."""
    with_blobs(world, failed())
    world.faults.before = at("jobs.send")
    caller.ask("retry_draft", DRAFT_ID)
    reply = caller.ask("retry_draft", DRAFT_ID)
    assert (reply.status, reply.json["generation"], reply.json["retryCount"]) == (202, 3, 1)


def test_retry_that_cannot_be_taken_back_stands(caller, world):
    """202: the row wants the run, and the repair sends its message."""
    draft = with_blobs(world, failed())
    faults = [at("jobs.send"), at("drafts.transact", skip=1)]

    def before(call):
        for fault in faults:
            fault(call)

    world.faults.before = before
    reply = caller.ask("retry_draft", DRAFT_ID)
    assert (reply.status, reply.json["status"]) == (202, "Processing")
    assert world.row(draft).work is not None


def test_retry_whose_run_has_begun_all_the_same_stands(caller, world):
    """The message arrived although the queue said no, and a run holds the draft."""
    draft = with_blobs(world, failed())

    def before(call):
        if call != "jobs.send":
            return
        row = world.row(draft)
        world.deps.store.save(row, replace(row, lease_id="run", lease_expires_at=NOW), now=NOW)
        at("jobs.send")(call)

    world.faults.before = before
    reply = caller.ask("retry_draft", DRAFT_ID)
    assert (reply.status, world.row(draft).lease_id) == (202, "run")


def test_retry_keeps_the_wish_to_accept(caller, world):
    """Acceptance asked for before the failure holds for the retry."""
    world.add(failed(accept_requested=True))
    assert caller.ask("retry_draft", DRAFT_ID).json["acceptRequested"] is True
