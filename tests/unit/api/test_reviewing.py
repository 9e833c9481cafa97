"""The owner's decisions: accept, ask for another picture, delete."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from cleanup_abandoned_drafts.repair import REPAIR
from shared.domain.draft import DraftError, DraftStatus, Stage, WorkReason
from shared.domain.events import EventType
from shared.domain.lifecycle import finish
from shared.domain.messages import JobMessage
from shared.jobs import Tick, run
from shared.settings import Settings
from tests.factories import DRAFT_ID, make_draft, make_work, make_world
from tests.fakes import NOW
from tests.unit.api.calling import Caller, make_pictures, make_ready
from tests.unit.api.failing import at

ERROR = DraftError(code="CORRUPT_IMAGE", detail="Damaged.", retryable=False, failed_at=NOW)
FAILED = make_draft(status=DraftStatus.FAILED, work=None, error=ERROR)
UPLOADING = make_draft(status=DraftStatus.UPLOADING, work=None, raw=None, stage=None)


def types(world, draft):
    return [event.type for event in world.deps.store.events_of(world.row(draft))]


def test_accept_of_a_ready_draft(caller, world):
    """200 and final, and the same 200 again."""
    draft = world.add(make_ready())
    first = caller.ask("accept_draft", DRAFT_ID)
    again = caller.ask("accept_draft", DRAFT_ID)
    assert (first.status, first.json["status"]) == (200, "Accepted")
    assert (again.status, again.json) == (200, first.json)
    assert types(world, draft).count(EventType.ACCEPTED) == 1


def test_accept_while_processing_waits_for_the_run(caller, world):
    """The wish is kept, and the write that would set Ready sets Accepted."""
    draft = world.add()
    first = caller.ask("accept_draft", DRAFT_ID)
    again = caller.ask("accept_draft", DRAFT_ID)
    assert (first.status, first.json["status"], first.json["acceptRequested"]) == (
        200,
        "Processing",
        True,
    )
    assert again.json == first.json
    done = finish(replace(world.row(draft), checkpoint=make_pictures()), NOW)
    assert done.status is DraftStatus.ACCEPTED


def test_accept_while_reprocessing_drops_the_run(caller, world):
    """The picture that is shown is the one that is accepted."""
    draft = world.add(
        make_ready(
            work=make_work(reason=WorkReason.REPROCESS),
            lease_id="run",
            lease_expires_at=NOW,
            stage=Stage.UPLOADED,
            attempts=1,
            generation=2,
        )
    )
    for name in ("2-1/mask.png", "2-1/thumb.webp"):
        world.images.put(f"{draft.owner_key}/{DRAFT_ID}/{name}", b"x", content_type="image/webp")
    reply = caller.ask("accept_draft", DRAFT_ID)
    row = world.row(draft)
    assert (reply.json["status"], row.work, row.lease_id) == ("Accepted", None, None)
    assert row.pictures == draft.pictures
    world.clock.pass_(minutes=5)  # until then that run may be writing still
    run(REPAIR, Tick(), world.deps)
    assert world.images.stored == {}


@pytest.mark.parametrize(("draft", "code"), [(FAILED, "DRAFT_FAILED"), (UPLOADING, "NOT_READY")])
def test_accept_at_the_wrong_time(caller, world, draft, code):
    """409 with the reason."""
    world.add(draft)
    reply = caller.ask("accept_draft", DRAFT_ID)
    assert (reply.status, reply.code) == (409, code)


def test_accept_is_told_to_subscribers(world):
    """The event leaves by the outbox at once."""
    world = make_world(settings=Settings(auth_mode="local", events_queue_enabled=True))
    draft = world.add(make_ready())
    Caller(world).ask("accept_draft", DRAFT_ID)
    assert world.row(draft).unsent_since is None
    assert '"type":"fitting-room.draft.accepted"' in world.deps.events.sent[0][0]


def test_accept_five_times_at_once_is_one_event(caller, world):
    """Five clicks are one acceptance."""
    draft = world.add(make_ready())
    with ThreadPoolExecutor(5) as pool:
        replies = list(pool.map(lambda _: caller.ask("accept_draft", DRAFT_ID), range(5)))
    assert {reply.status for reply in replies} == {200}
    assert types(world, draft).count(EventType.ACCEPTED) == 1


@pytest.mark.parametrize(
    ("body", "stage", "kept"),
    [(None, Stage.UPLOADED, False), ("Segmented", Stage.UPLOADED, False),
     ("Analyzed", Stage.RENDERED, True)],
)  # fmt: skip
def test_reprocess_of_a_ready_draft(caller, world, body, stage, kept):
    """202: the status and the picture stay, a new generation is wanted from that stage."""
    draft = world.add(make_ready())
    reply = caller.ask("reprocess_draft", DRAFT_ID, json=body and {"from": body})
    row = world.row(draft)
    assert (reply.status, reply.json["status"], reply.json["generation"]) == (202, "Ready", 2)
    assert (row.stage, row.checkpoint is not None, row.pictures) == (stage, kept, draft.pictures)
    assert row.work.reason is WorkReason.REPROCESS
    assert JobMessage.parse(world.jobs.sent[0][0].encode()).generation == 2


@pytest.mark.parametrize(
    ("draft", "code"),
    [
        (make_draft(), "NOT_READY"),
        (FAILED, "NOT_READY"),
        (UPLOADING, "NOT_READY"),
        (make_ready(status=DraftStatus.ACCEPTED), "ACCEPTED"),
    ],
)
def test_reprocess_at_the_wrong_time(caller, world, draft, code):
    """409: only a Ready draft, and never an accepted one."""
    world.add(draft)
    reply = caller.ask("reprocess_draft", DRAFT_ID)
    assert (reply.status, reply.code) == (409, code)
    assert world.jobs.sent == []


def test_reprocess_of_an_unknown_draft_comes_before_everything_else(caller):
    """404 tells nothing about what else is wrong."""
    assert caller.ask("reprocess_draft", DRAFT_ID, json={"from": "?"}).code == "NOT_FOUND"


@pytest.mark.parametrize("body", [{"from": "Rendered"}, {"first": "Segmented"}, {"from": None}])
def test_reprocess_from_another_stage(caller, world, body):
    """422: two stages can be asked for."""
    world.add(make_ready())
    reply = caller.ask("reprocess_draft", DRAFT_ID, json=body)
    assert (reply.status, reply.code) == (422, "VALIDATION")


def test_reprocess_with_a_body_of_unknown_length(caller, world):
    """411 rather than a wish that is not seen."""
    world.add(make_ready())
    headers = {"transfer-encoding": "chunked"}
    assert caller.ask("reprocess_draft", DRAFT_ID, headers=headers).code == "LENGTH_REQUIRED"


def test_reprocess_with_the_queue_away(caller, world):
    """202: the row wants the run, and the repair sends its message."""
    draft = world.add(make_ready())
    world.faults.before = at("jobs.send")
    assert caller.ask("reprocess_draft", DRAFT_ID).status == 202
    assert world.row(draft).work is not None


@pytest.mark.parametrize(
    "draft",
    [make_draft(), FAILED, UPLOADING, make_ready(), make_ready(status=DraftStatus.ACCEPTED)],
    ids=["Processing", "Failed", "Uploading", "Ready", "Accepted"],
)
def test_delete_from_any_state(caller, world, draft):
    """204 and gone: row, events and blobs of both containers; and 204 again."""
    world.add(draft)
    for blobs in (world.uploads, world.images):
        blobs.put(f"{draft.owner_key}/{DRAFT_ID}/x", b"x", content_type="image/webp")
    first = caller.ask("delete_draft", DRAFT_ID)
    again = caller.ask("delete_draft", DRAFT_ID)
    assert (first.status, first.body, again.status) == (204, b"", 204)
    assert (world.drafts.rows, world.uploads.stored, world.images.stored) == ({}, {}, {})
    assert caller.ask("get_draft", DRAFT_ID).status == 404


def test_delete_with_storage_away_before_the_tombstone(caller, world):
    """503: nothing is deleted, the caller tries again."""
    draft = world.add()
    world.faults.before = at("drafts.transact")
    assert caller.ask("delete_draft", DRAFT_ID).status == 503
    assert world.row(draft).deleted_at is None


def test_delete_whose_blobs_cannot_be_removed_yet(caller, world):
    """204: the draft is gone for everybody; the sweep removes the rest."""
    world.add()
    world.uploads.put(f"owner-1/{DRAFT_ID}/raw", b"x", content_type="image/jpeg")
    world.faults.before = at("uploads.delete", times=9)
    assert caller.ask("delete_draft", DRAFT_ID).status == 204
    assert caller.ask("get_draft", DRAFT_ID).status == 404
    assert world.uploads.stored != {}


def test_delete_that_meets_a_run_wins(caller, world):
    """A checkpoint written in between does not bring the draft back."""
    draft = world.add()

    def write(call):
        if call == "drafts.transact" and not written:
            written.append(call)
            world.deps.store.save(draft, replace(draft, attempts=1), now=NOW)

    written: list[str] = []
    world.faults.before = write
    assert caller.ask("delete_draft", DRAFT_ID).status == 204
    assert caller.ask("get_draft", DRAFT_ID).status == 404
