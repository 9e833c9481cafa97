"""Several drafts at once: the status of a batch and the list, page by page."""

import itertools
import random

import pytest

from shared.domain.ids import draft_row_key, new_draft_id
from tests.factories import DRAFT_ID, OTHER_ID, make_draft
from tests.fakes import NOW
from tests.unit.api.calling import make_ready

UNKNOWN = "0198640d-c000-7000-8000-00000000ffff"


def many(world, count):
    return [world.add(make_draft(id=new_draft_id())).id for _ in range(count)]


def test_status_of_several_in_the_order_asked_for(caller, world):
    """Known ones as drafts, others as NotFound, each id once."""
    world.add()
    world.add(make_ready(id=OTHER_ID))
    ids = f"{OTHER_ID},{UNKNOWN},{DRAFT_ID},{OTHER_ID}"
    reply = caller.ask("get_draft_status", query={"ids": ids})
    assert [(d["id"], d["status"]) for d in reply.json["drafts"]] == [
        (OTHER_ID, "Ready"),
        (UNKNOWN, "NotFound"),
        (DRAFT_ID, "Processing"),
    ]
    assert reply.json["drafts"][1] == {"id": UNKNOWN, "status": "NotFound"}
    assert (reply.headers["retry-after"], reply.json["retryAfterSeconds"]) == ("2", 2)


def test_status_of_what_is_being_deleted_is_not_found(caller, world):
    """A tombstone is gone for its owner, alone and among others."""
    world.add(make_ready(deleted_at=NOW))
    world.add(make_ready(id=OTHER_ID))
    for ids in (DRAFT_ID, f"{DRAFT_ID},{OTHER_ID}"):
        reply = caller.ask("get_draft_status", query={"ids": ids})
        assert reply.json["drafts"][0] == {"id": DRAFT_ID, "status": "NotFound"}
    assert caller.ask("get_draft", DRAFT_ID).status == 404


def test_status_of_drafts_at_rest(caller, world):
    """Nobody has to ask again."""
    world.add(make_ready())
    reply = caller.ask("get_draft_status", query={"ids": DRAFT_ID})
    assert (reply.json["retryAfterSeconds"], "retry-after" in reply.headers) == (None, False)


def test_status_of_neighbours_is_one_read(caller, world):
    """Ten ids of one upload cost one range query."""
    ids = []
    for _ in range(10):
        ids.append(world.add(make_draft(id=new_draft_id())).id)
    world.faults.calls.clear()
    reply = caller.ask("get_draft_status", query={"ids": ",".join(ids)})
    assert [item["id"] for item in reply.json["drafts"]] == ids
    assert world.faults.calls == ["drafts.query"]


@pytest.mark.parametrize("ids", ["", "nope", f"{DRAFT_ID},", f"{DRAFT_ID};{OTHER_ID}", "0" * 36])
def test_status_of_what_is_no_uuid(caller, ids):
    """A token that is no UUID is the caller's mistake."""
    reply = caller.ask("get_draft_status", query={"ids": ids})
    assert (reply.status, reply.code) == (400, "VALIDATION")
    assert reply.json["errors"][0]["field"] == "ids"


def test_status_of_too_many(caller):
    """Twenty distinct ids are the limit; repeated ones do not count."""
    ids = [new_draft_id() for _ in range(21)]
    assert caller.ask("get_draft_status", query={"ids": ",".join(ids)}).code == "TOO_MANY_IDS"
    allowed = ",".join([*ids[:20], ids[0]])
    assert caller.ask("get_draft_status", query={"ids": allowed}).status == 200


def test_list_is_newest_first_in_pages(caller, world):
    """Pages follow each other without gap or repetition."""
    ids = [f"0198640d-{n:04x}-7000-8000-000000000001" for n in range(45)]  # one a millisecond
    for draft_id in random.Random(7).sample(ids, len(ids)):
        world.add(make_draft(id=draft_id))
    seen, token = [], ""
    while token is not None:
        reply = caller.ask("list_drafts", query={"continuation": token} if token else {})
        seen.append([item["id"] for item in reply.json["drafts"]])
        token = reply.json["continuation"]
    assert [len(page) for page in seen] == [20, 20, 5]
    assert list(itertools.chain(*seen)) == ids[::-1]


def test_list_by_status(caller, world):
    """Only what was asked for, of one or more states."""
    world.add()
    world.add(make_ready(id=OTHER_ID))
    ready = caller.ask("list_drafts", query={"status": "Ready"}).json["drafts"]
    assert [draft["id"] for draft in ready] == [OTHER_ID]
    both = caller.ask("list_drafts", query={"status": "Ready,Processing"})
    assert len(both.json["drafts"]) == 2
    assert caller.ask("list_drafts", query={"status": "Failed"}).json["drafts"] == []


def test_list_reads_a_thousand_rows_at_most(caller, world):
    """A call that finds nothing in a long list ends, and the next goes on from there."""
    keys = sorted(draft_row_key(draft_id) for draft_id in many(world, 1001))
    reply = caller.ask("list_drafts", query={"status": "Failed"})
    assert reply.json == {"drafts": [], "continuation": keys[999]}
    rest = caller.ask(
        "list_drafts", query={"status": "Failed", "continuation": reply.json["continuation"]}
    )
    assert rest.json == {"drafts": [], "continuation": None}


def test_list_reads_no_more_rows_than_it_shows(caller, world):
    """A page of three from a long list is one query of three rows."""
    many(world, 30)
    world.faults.calls.clear()
    caller.ask("list_drafts", query={"pageSize": "3"})
    assert world.faults.calls == ["drafts.query"]


def test_list_leaves_out_what_is_being_deleted(caller, world):
    """A tombstone is gone for its owner."""
    world.add(make_ready(deleted_at=NOW))
    assert caller.ask("list_drafts").json["drafts"] == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"pageSize": "0"}, "pageSize"),
        ({"pageSize": "101"}, "pageSize"),
        ({"pageSize": "ten"}, "pageSize"),
        ({"pageSize": "1e1"}, "pageSize"),
        ({"pageSize": "٣"}, "pageSize"),
        ({"status": "ready"}, "status"),
        ({"status": "Ready,"}, "status"),
        ({"status": "NotFound"}, "status"),
        ({"continuation": "?"}, "continuation"),
        ({"continuation": "é"}, "continuation"),
        ({"continuation": "e~x"}, "continuation"),
        ({"continuation": "k~" + "0" * 64}, "continuation"),
        ({"continuation": "d~000000000000~\n"}, "continuation"),
    ],
)
def test_list_with_a_wrong_query(caller, query, field):
    """Each parameter is checked and named."""
    reply = caller.ask("list_drafts", query=query)
    assert (reply.status, reply.code) == (400, "VALIDATION")
    assert reply.json["errors"][0]["field"] == field


def test_list_with_somebody_elses_token(caller, world):
    """A token is a place in one's own list: it shows nothing of the list it came from."""
    many(world, 3)
    token = caller.ask("list_drafts", query={"pageSize": "1"}).json["continuation"]
    theirs = caller.as_("owner-2").ask("list_drafts", query={"continuation": token})
    assert theirs.json == {"drafts": [], "continuation": None}
