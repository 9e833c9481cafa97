"""A row that cannot be read: its owner is told, and the rest is shown."""

import json
from dataclasses import replace

import pytest

from cleanup_abandoned_drafts.handler import CLEANUP
from shared.domain.events import EventType, event_of
from shared.domain.ids import draft_row_key, event_row_key
from shared.jobs import Tick, run
from tests.factories import DRAFT_ID, OTHER_ID
from tests.fakes import NOW
from tests.unit.api.calling import make_ready
from tests.unit.api.failing import at


@pytest.fixture
def damaged(world):
    """One of the owner's two drafts cannot be read any more."""
    world.add()
    draft = world.add(make_ready(id=OTHER_ID))
    world.damage(draft)
    return draft


def test_list_passes_over_a_damaged_row(caller, damaged, caplog):
    """The other drafts are there; the log names the one that is not."""
    reply = caller.ask("list_drafts")
    assert (reply.status, [item["id"] for item in reply.json["drafts"]]) == (200, [DRAFT_ID])
    [line] = [json.loads(record.message) for record in caplog.records]
    assert (line["event"], line["kind"]) == ("row_unreadable", "Draft")
    assert line["rowKey"] == draft_row_key(damaged.id)


@pytest.mark.parametrize("ids", [(OTHER_ID,), (OTHER_ID, DRAFT_ID)], ids=["alone", "among_others"])
def test_status_of_a_damaged_row_is_not_found(caller, damaged, caplog, ids):
    """The rest of the batch is answered."""
    reply = caller.ask("get_draft_status", query={"ids": ",".join(ids)})
    states = {item["id"]: item["status"] for item in reply.json["drafts"]}
    assert states == {i: {OTHER_ID: "NotFound", DRAFT_ID: "Processing"}[i] for i in ids}
    assert damaged.id in caplog.text


@pytest.mark.parametrize(
    "name",
    [
        "get_draft",
        "get_draft_image",
        "list_draft_events",
        "patch_draft",
        "submit_upload",
        "accept_draft",
        "retry_draft",
        "reprocess_draft",
    ],
)
def test_draft_whose_row_is_damaged_is_not_found(caller, damaged, caplog, name):
    """Alone as in the list and the batch; the log says why."""
    reply = caller.ask(name, damaged)
    assert (reply.status, reply.code) == (404, "NOT_FOUND")
    assert "row_unreadable" in caplog.text


def test_history_passes_over_a_damaged_event(caller, world, caplog):
    """The other events are told, and the log names the one that is not."""
    draft = world.add()
    world.deps.store.save(draft, draft, event_of(draft, EventType.ACCEPT_REQUESTED, NOW), now=NOW)
    key = (draft.owner_key, event_row_key(draft.id, 1))
    world.drafts.rows[key] = replace(world.drafts.rows[key], values={"seq": "first"})
    reply = caller.ask("list_draft_events", draft)
    assert (reply.status, [event["seq"] for event in reply.json["events"]]) == (200, [2])
    assert key[1] in caplog.text


@pytest.fixture
def photos(world, damaged):
    """Blobs of the damaged draft in both containers."""
    for blobs in (world.uploads, world.images):
        blobs.put(f"{damaged.owner_key}/{damaged.id}/x", b"x", content_type="image/webp")


def test_deletion_of_a_damaged_row_removes_everything(caller, world, damaged, photos, caplog):
    """Its ids say what is to go: row, events, blobs; the other draft stays."""
    reply = caller.ask("delete_draft", damaged)
    assert (reply.status, world.uploads.stored, world.images.stored) == (204, {}, {})
    assert [key for _, key in world.drafts.rows if damaged.id in key] == []
    assert caller.ask("get_draft", DRAFT_ID).status == 200
    assert "row_unreadable" in caplog.text


def test_deletion_of_a_damaged_row_by_somebody_else(caller, world, damaged, photos):
    """204 as for any foreign id, and nothing is touched."""
    rows = dict(world.drafts.rows)
    assert caller.as_("owner-2").ask("delete_draft", damaged).status == 204
    assert (world.drafts.rows, len(world.uploads.stored), len(world.images.stored)) == (rows, 1, 1)


def test_deletion_of_a_damaged_row_before_its_tombstone(caller, world, damaged, photos):
    """503 and not 204: its photo is still there."""
    world.faults.before = at("drafts.transact")
    reply = caller.ask("delete_draft", damaged)
    assert (reply.status, reply.code) == (503, "STORAGE_UNAVAILABLE")
    assert len(world.uploads.stored) == 1


def test_deletion_of_a_damaged_row_whose_blobs_stay_is_finished_by_the_sweep(
    caller, world, damaged, photos
):
    """The tombstone can be read again, so the cleanup erases it like any other."""
    world.faults.before = at("uploads.delete", times=9)
    assert caller.ask("delete_draft", damaged).status == 204
    world.faults.before = at("none")
    world.clock.pass_(hours=1)
    run(CLEANUP, Tick(), world.deps)
    assert (world.uploads.stored, world.images.stored) == ({}, {})
    assert [key for _, key in world.drafts.rows if damaged.id in key] == []
