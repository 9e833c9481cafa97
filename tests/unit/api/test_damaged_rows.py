"""A row that cannot be read: its owner is told, and the rest is shown."""

import json

import pytest

from shared.domain.ids import draft_row_key
from tests.factories import DRAFT_ID, OTHER_ID
from tests.unit.api.calling import make_ready


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


@pytest.mark.parametrize("name", ["get_draft", "list_draft_events", "accept_draft"])
def test_draft_whose_row_is_damaged_is_not_found(caller, damaged, caplog, name):
    """Alone as in the list and the batch; the log says why."""
    reply = caller.ask(name, damaged)
    assert (reply.status, reply.code) == (404, "NOT_FOUND")
    assert "row_unreadable" in caplog.text


def test_deletion_of_a_damaged_row_is_not_claimed(caller, world, damaged):
    """204 would say that its photo is gone."""
    reply = caller.ask("delete_draft", damaged)
    assert (reply.status, reply.code) == (500, "INTERNAL")
    assert (damaged.owner_key, draft_row_key(damaged.id)) in world.drafts.rows
