"""The worker: what each delivery does to its draft, and what becomes of the message."""

import io
import json
import threading
from dataclasses import replace

import pytest
from PIL import Image

from process_image_job.delivery import Delivery
from process_image_job.handler import process_image_job
from process_image_job.job import Job
from process_image_job.stages import _store
from process_image_job.values import EncodedPicture
from shared.claims import LeaseLostError, claim
from shared.deleting import delete_draft
from shared.domain.draft import DraftStatus, Stage
from shared.domain.edits import accept
from shared.domain.errors import ClaimHeldError, EncodingError, StorageUnavailableError
from shared.domain.events import EventType
from shared.domain.pictures import Segmentation
from shared.sending import message_for
from tests.factories import make_work
from tests.fakehost import FakeHost
from tests.invariants import check_always, check_settled
from tests.tiny import TINY_TOOLS, tiny_photo, tiny_tools


def deliver(world, draft, *, body=None, tools=tiny_tools, dequeue_count=1):
    message = body if body is not None else message_for(draft).encode().encode()
    process_image_job(message, dequeue_count=dequeue_count, deps=world.deps, tools=tools)


def failing(error):
    """Tools whose segmenter always raises."""

    def segmenter(photo):
        raise error

    return lambda: replace(TINY_TOOLS, segmenter=segmenter)


def shows_the_cut_out(world, row):
    """Whether the item's picture is transparent around the garment."""
    stored = world.images.read(row.pictures.renditions["display"].blob)
    return Image.open(io.BytesIO(stored)).mode == "RGBA"


def letters(world):
    return list(world.deps.letters.newest(world.clock()))


def at_call(world, name, act, number=1):
    """Do `act` once, before the call of that name with that number."""
    seen = iter(range(1, 1000))

    def before(call):
        if call == name and next(seen) == number:
            world.faults.before = lambda call: None
            act()

    world.faults.before = before


def test_delivery_of_a_photo_ends_ready(world):
    """Every stage is a checkpoint with its event, and the lease is given back."""
    draft = world.add_photo(tiny_photo())
    deliver(world, draft)
    row = world.row(draft)
    assert (row.status, row.stage, row.attempts) == (DraftStatus.READY, Stage.ANALYZED, 1)
    assert (row.work, row.lease_id, row.due_at) == (None, None, None)
    assert [event.type for event in world.deps.store.events_of(row)] == [
        EventType.CREATED,
        EventType.ATTEMPT_STARTED,
        EventType.SEGMENTED,
        EventType.RENDERED,
        EventType.ANALYZED,
        EventType.READY,
    ]
    check_settled(world)


@pytest.mark.parametrize(
    "body",
    [
        b"hello",
        b"{}",
        b'{"draftId":"nope"}',
        b"\xff\xfe\x00",
        b"[]",
        b'"text"',
        b"null",
        b"12",
        b"",
    ],
)
def test_delivery_that_nobody_understands_is_one_dead_letter(world, body):
    """It is kept with its reason at its first delivery, and done."""
    deliver(world, None, body=body)
    [letter] = letters(world)
    assert (letter.body, letter.code, letter.dequeue_count) == (body, "MALFORMED", 1)
    assert letter.reason
    assert world.drafts.rows == {}


@pytest.mark.parametrize("generation", [2**31, 10**30])
def test_delivery_of_a_generation_beyond_every_table_is_a_dead_letter(world, generation):
    """It would wait for a row that never comes, and the letter of its end could not be kept."""
    draft = world.add_photo(tiny_photo())
    wanted = {"ownerId": draft.owner_id, "draftId": draft.id, "generation": generation}
    world.jobs.send(json.dumps(wanted))
    FakeHost(world).work_off()
    assert [letter.code for letter in letters(world)] == ["MALFORMED"]


def test_delivery_for_an_unknown_draft_writes_nothing(world):
    """No row, no blob: a draft that was withdrawn does not come back to life."""
    draft = world.add_photo(tiny_photo())
    delete_draft(draft, world.deps)
    deliver(world, draft)
    assert world.drafts.rows == {}
    assert world.images.stored == {}


def test_delivery_after_the_end_changes_nothing(world):
    """The second delivery of a message finds its work done."""
    draft = world.add_photo(tiny_photo())
    deliver(world, draft)
    before = (dict(world.drafts.rows), dict(world.images.stored))
    deliver(world, draft, dequeue_count=2)
    assert (world.drafts.rows, world.images.stored) == before


def test_deliveries_at_once_make_one_set_of_renditions(world):
    """Eight threads with one message: one runs, the others wait or find it done."""
    draft = world.add_photo(tiny_photo())
    start, waiting = threading.Barrier(8), []

    def run():
        start.wait()
        try:
            deliver(world, draft)
        except ClaimHeldError:
            waiting.append(1)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert world.row(draft).status is DraftStatus.READY
    assert world.row(draft).attempts == 1
    check_settled(world)


def test_delivery_that_fails_gives_the_lease_back_and_raises(world):
    """The host redelivers, and the next run may start at once."""
    draft = world.add_photo(tiny_photo())
    with pytest.raises(StorageUnavailableError):
        deliver(world, draft, tools=failing(StorageUnavailableError()))
    row = world.row(draft)
    assert (row.status, row.attempts, row.lease_id) == (DraftStatus.PROCESSING, 1, None)
    assert row.lease_expires_at == world.clock()
    deliver(world, draft, dequeue_count=2)
    assert world.row(draft).status is DraftStatus.READY
    assert world.row(draft).work is None


def test_delivery_goes_on_from_the_checkpoint(world):
    """What an earlier run has stored is not made again."""
    draft = world.add_photo(tiny_photo())
    at_call(world, "images.put", lambda: (_ for _ in ()).throw(StorageUnavailableError()), 3)
    with pytest.raises(StorageUnavailableError):
        deliver(world, draft)
    assert world.row(draft).stage is Stage.SEGMENTED
    deliver(world, draft, tools=failing(AssertionError("cut out twice")))
    row = world.row(draft)
    assert row.pictures.mask.split("/")[2] == "1-1"
    assert {r.blob.split("/")[2] for r in row.pictures.renditions.values()} == {"1-2"}
    check_settled(world)


def test_last_delivery_that_fails_ends_the_draft(world):
    """A transient error of the last run is the end, said by the run itself, with a dead letter."""
    draft = world.add_photo(tiny_photo(), attempts=4, lease_expires_at=world.clock())
    deliver(world, draft, tools=failing(StorageUnavailableError()))
    row, [letter] = world.row(draft), letters(world)
    assert (row.status, row.attempts, row.error.code) == (
        DraftStatus.FAILED,
        5,
        "ATTEMPTS_EXHAUSTED",
    )
    assert row.error.retryable
    assert (letter.draft_id, letter.code, letter.attempts) == (draft.id, "ATTEMPTS_EXHAUSTED", 5)


@pytest.mark.parametrize(
    ("lost", "code"), [(0, "ATTEMPTS_EXHAUSTED"), (2, "WORKER_LOST"), (4, "WORKER_LOST")]
)
def test_delivery_past_the_limit_says_why(world, lost, code):
    """More than half of the runs lost: the photo stops the worker. The last lost one counts."""
    draft = world.add_photo(
        tiny_photo(),
        attempts=5,
        work=make_work(lost_runs=lost),
        lease_id="dead",
        lease_expires_at=world.clock(),
    )
    deliver(world, draft)
    row = world.row(draft)
    assert (row.status, row.attempts, row.error.code) == (DraftStatus.FAILED, 5, code)
    check_settled(world)


def test_photo_that_stops_the_worker_twice_over_is_final(world):
    """The generation after a WORKER_LOST has one attempt; then no retry is offered."""
    draft = world.add_photo(
        tiny_photo(), attempts=1, last_chance=True, lease_id="x", lease_expires_at=world.clock()
    )
    deliver(world, draft)
    error = world.row(draft).error
    assert (error.code, error.retryable) == ("WORKER_LOST", False)


def test_photo_that_is_damaged_fails_at_once(world):
    """Hopeless jobs are not tried again, and leave no dead letter."""
    draft = world.add_photo(tiny_photo()[:40])
    deliver(world, draft)
    row = world.row(draft)
    assert (row.status, row.attempts) == (DraftStatus.FAILED, 1)
    assert (row.error.code, row.error.retryable) == ("CORRUPT_IMAGE", False)
    assert letters(world) == []


def test_rendition_without_bytes_is_no_rendition(world):
    """An empty file is never stored: the run has failed, and the next one writes it anew."""
    draft = world.add_photo(tiny_photo())
    message = message_for(draft)
    deps = world.deps
    job = Job(
        run=claim(message, store=deps.store, settings=deps.settings, clock=deps.clock),
        delivery=Delivery(message=message, body=b"", dequeue_count=1, queue="jobs"),
        deps=deps,
        tools=tiny_tools,
    )
    with pytest.raises(EncodingError, match="thumb came out empty"):
        _store(job, EncodedPicture(name="thumb", data=b"", width=1, height=1))
    assert world.images.stored == {}


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda world, blob: world.uploads.delete(blob), "RAW_MISSING"),
        (
            lambda world, blob: world.uploads.put(blob, tiny_photo(), content_type="image/png"),
            "RAW_CHANGED",
        ),
    ],
)
def test_photo_that_is_not_the_submitted_one_fails(world, spoil, code):
    """The bytes that were judged are the bytes that are processed."""
    draft = world.add_photo(tiny_photo())
    spoil(world, draft.raw.blob)
    deliver(world, draft)
    assert world.row(draft).error.code == code


@pytest.mark.parametrize("number", range(1, 7))
def test_zombie_changes_nothing_and_removes_what_it_wrote(world, number):
    """Its lease was taken over at one of its writes; the other run's draft stays whole."""
    draft = world.add_photo(tiny_photo())

    def take_over():
        world.clock.pass_(seconds=31)
        deliver(world, draft)

    at_call(world, "images.put", take_over, number)
    deliver(world, draft)
    row = world.row(draft)
    assert (row.status, row.attempts, row.generation) == (DraftStatus.READY, 2, 1)
    check_settled(world)


def test_zombie_whose_work_is_still_wanted_leaves_its_message(world):
    """The run that took over may be lost too: nothing is acknowledged for it."""
    draft = world.add_photo(tiny_photo())

    def take_over_and_fail():
        world.clock.pass_(seconds=31)
        with pytest.raises(StorageUnavailableError):
            deliver(world, draft, tools=failing(StorageUnavailableError()))

    at_call(world, "images.put", take_over_and_fail)
    with pytest.raises(LeaseLostError):
        deliver(world, draft)
    assert world.row(draft).status is DraftStatus.PROCESSING


@pytest.mark.parametrize("error", [StorageUnavailableError(), ValueError("a bug")])
def test_zombie_that_fails_removes_what_it_wrote(world, error):
    """A run may learn that its lease is lost only when it wants to give it back."""
    draft = world.add_photo(tiny_photo())

    def take_over_and_fail():
        world.clock.pass_(seconds=31)
        deliver(world, draft)
        raise error

    at_call(world, "images.put", take_over_and_fail, 3)
    deliver(world, draft)
    assert world.row(draft).status is DraftStatus.READY
    check_settled(world)


@pytest.mark.parametrize("call", ["images.names", "images.delete"])
def test_zombie_that_cannot_tidy_up_says_so_on_the_row(world, call):
    """Its blobs are found by the repair, not only by an audit."""
    draft = world.add_photo(tiny_photo())

    def take_over():
        world.clock.pass_(seconds=31)
        deliver(world, draft)
        world.faults.before = away

    def away(name):
        if name == call:
            raise StorageUnavailableError

    at_call(world, "images.put", take_over, 3)
    deliver(world, draft)
    world.faults.before = lambda name: None
    assert world.row(draft).leftovers
    FakeHost(world).settle()
    check_settled(world)


@pytest.mark.parametrize("number", range(1, 7))
def test_withdrawal_in_mid_flight_leaves_nothing(world, number):
    """The run finds no draft, and takes with it what it had written since."""
    draft = world.add_photo(tiny_photo())
    at_call(world, "images.put", lambda: delete_draft(world.row(draft), world.deps), number)
    deliver(world, draft)
    assert world.drafts.rows == {}
    assert world.images.stored == {}
    assert world.uploads.stored == {}


def test_acceptance_in_mid_flight_drops_the_run(world):
    """A draft accepted while it is processed again keeps the picture it was accepted with."""
    from shared.domain.draft import WorkReason
    from shared.domain.lifecycle import reprocess

    draft = world.add_photo(tiny_photo())
    deliver(world, draft)
    done = world.row(draft)
    again = reprocess(done, Stage.SEGMENTED, WorkReason.REPROCESS, world.clock())
    wanted = world.deps.store.save(done, again, now=world.clock())

    def accept_now():
        row = world.row(draft)
        world.deps.store.save(row, accept(row, world.clock()), now=world.clock())

    at_call(world, "images.put", accept_now, 2)
    deliver(world, wanted)
    row = world.row(draft)
    assert (row.status, row.pictures) == (DraftStatus.ACCEPTED, done.pictures)
    FakeHost(world).settle()
    check_settled(world)


def test_remote_processor_away_in_the_last_run_is_a_degraded_ready(world):
    """The local cut-out is shown, and another try is wanted later."""
    from shared.domain.errors import ProcessorUnavailableError

    draft = world.add_photo(tiny_photo(), attempts=4, lease_expires_at=world.clock())
    deliver(world, draft, tools=failing(ProcessorUnavailableError()))
    row = world.row(draft)
    assert (row.status, row.pictures.segmentation) == (
        DraftStatus.READY,
        Segmentation.DEGRADED,
    )
    assert shows_the_cut_out(world, row)
    assert (row.generation, str(row.work.reason)) == (2, "degraded")
    [(_, delay)] = world.jobs.sent
    assert delay.total_seconds() == 900
    check_always(world)


def test_lines_of_a_run_name_its_draft_and_attempt(world, caplog):
    """Every line can be found by draft and run."""
    caplog.set_level("INFO", logger="fitting_room")
    draft = world.add_photo(tiny_photo())
    deliver(world, draft)
    lines = [json.loads(record.message) for record in caplog.records]
    assert [line["event"] for line in lines] == [
        "job_started",
        "stage_done",
        "stage_done",
        "stage_done",
        "draft_ready",
    ]
    assert {(line["draftId"], line["attempt"]) for line in lines} == {(draft.id, 1)}
