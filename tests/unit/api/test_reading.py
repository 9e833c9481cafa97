"""What an owner reads: a draft, a batch of states, the list, the history."""

import itertools
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.domain.draft import DraftError, DraftStatus, ImageUse
from shared.domain.events import EventType, event_of
from shared.domain.ids import draft_row_key, new_draft_id
from tests.factories import DRAFT_ID, OTHER_ID, make_draft, make_work
from tests.fakes import NOW
from tests.unit.api.calling import make_ready

UNKNOWN = "0198640d-c000-7000-8000-00000000ffff"


def failed(**changes):
    error = DraftError(code="WORKER_LOST", detail="Lost.", retryable=True, failed_at=NOW)
    fields = {"status": DraftStatus.FAILED, "work": None, "error": error}
    return make_draft(**(fields | changes))


def test_draft_that_is_processing_says_when_to_ask_again(caller, world):
    """200 with an ETag and Retry-After, which nobody may store."""
    world.add()
    reply = caller.ask("get_draft", DRAFT_ID)
    assert (reply.status, reply.json["status"]) == (200, "Processing")
    assert (reply.headers["retry-after"], reply.headers["etag"]) == ("2", '"1"')
    assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(("waited", "seconds"), [(29, "2"), (30, "5"), (299, "5"), (300, "30")])
def test_draft_that_takes_longer_is_asked_for_less_often(caller, world, waited, seconds):
    """The longer the work has been wanted, the longer the wait."""
    world.add()
    world.clock.pass_(seconds=waited)
    assert caller.ask("get_draft", DRAFT_ID).headers["retry-after"] == seconds


@pytest.mark.parametrize(
    "draft",
    [make_ready(), failed(), make_ready(status=DraftStatus.ACCEPTED)],
    ids=["Ready", "Failed", "Accepted"],
)
def test_draft_at_rest_has_no_retry_after(caller, world, draft):
    """Nothing is to be waited for."""
    world.add(draft)
    assert "retry-after" not in caller.ask("get_draft", DRAFT_ID).headers


def test_draft_that_is_reprocessed_has_no_retry_after(caller, world):
    """A reprocess leaves the status, and with it the answer."""
    world.add(make_ready(work=make_work()))
    assert "retry-after" not in caller.ask("get_draft", DRAFT_ID).headers


def test_etag_does_not_follow_the_lease(caller, world):
    """A heartbeat is nothing a client sees."""
    draft = world.add()
    before = caller.ask("get_draft", DRAFT_ID).headers["etag"]
    world.deps.store.save(draft, replace(draft, lease_expires_at=NOW), now=NOW)
    assert caller.ask("get_draft", DRAFT_ID).headers["etag"] == before


def test_draft_json_is_the_contract(caller, world):
    """Every field of the contract, in camelCase, and none else."""
    world.add(make_ready())
    draft = caller.ask("get_draft", DRAFT_ID).json
    assert list(draft) == [
        "id", "status", "stage", "generation", "attempts", "retryCount", "skipSegmentation",
        "segmentation", "acceptRequested", "fileName", "createdAt", "updatedAt", "expiresAt",
        "revision", "error", "image", "metadata", "warnings",
    ]  # fmt: skip
    assert list(draft["image"]) == [
        "use", "archiveUrl", "displayUrl", "thumbUrl", "originalUrl", "width", "height", "blurHash",
    ]  # fmt: skip
    assert draft["metadata"] == {
        "category": "Dress",
        "categoryConfidence": 0.8,
        "colors": [{"name": "navy", "hex": "#000080", "share": 0.9}],
        "title": None,
        "notes": None,
        "needsReview": False,
        "source": "model",
    }
    assert draft["createdAt"] == "2026-08-01T12:00:00Z"


def test_error_of_a_draft_says_why_and_when(caller, world):
    """A person can tell a bad photo from a bad service."""
    world.add(failed())
    assert caller.ask("get_draft", DRAFT_ID).json["error"] == {
        "code": "WORKER_LOST",
        "detail": "Lost.",
        "retryable": True,
        "failedAt": "2026-08-01T12:00:00Z",
    }


def test_failed_draft_says_when_it_expires(caller, world):
    """A week after it failed."""
    world.add(failed())
    assert caller.ask("get_draft", DRAFT_ID).json["expiresAt"] == "2026-08-08T12:00:00Z"


def test_image_describes_the_cut_out(caller, world):
    """Links, size and placeholder are those of the cut-out; the original is a download."""
    world.add(make_ready())
    image = caller.ask("get_draft", DRAFT_ID).json["image"]
    assert (image["use"], image["width"], image["height"]) == ("cutout", 600, 800)
    assert "/archive.webp?" in image["archiveUrl"]
    assert "/display.webp?" in image["displayUrl"]
    assert "/thumb.webp?" in image["thumbUrl"]
    assert image["originalUrl"].endswith(f"as={DRAFT_ID}.jpg")


def test_image_describes_the_original_where_that_is_used(caller, world):
    """After an undo every field speaks of the photo as taken."""
    world.add(make_ready(use=ImageUse.ORIGINAL))
    image = caller.ask("get_draft", DRAFT_ID).json["image"]
    assert (image["use"], image["archiveUrl"]) == ("original", None)
    assert "/original-display.webp?" in image["displayUrl"]
    assert "/original-thumb.webp?" in image["thumbUrl"]
    assert (image["width"], image["height"]) == (603, 803)
    assert image["blurHash"] == "L6PZfSjE.AyE_3t7t7R**0o#DgR4"


@pytest.mark.parametrize("minute", [0, 1, 59])
def test_links_last_until_the_hour_after_the_next(caller, world, minute):
    """A link is the same all through the hour, so that it can be cached."""
    world.clock.now = NOW + timedelta(minutes=minute)
    world.add(make_ready())
    link = caller.ask("get_draft", DRAFT_ID).json["image"]["thumbUrl"]
    assert "sp=r&se=2026-08-01T14:00:00" in link


@pytest.mark.parametrize(
    "draft_id",
    [
        UNKNOWN,
        UNKNOWN.upper(),
        "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
        UNKNOWN.replace("-", ""),
        "{" + UNKNOWN + "}",
    ],
)
@pytest.mark.parametrize("name", ["get_draft", "list_draft_events", "accept_draft", "retry_draft"])
def test_draft_that_is_unknown(caller, name, draft_id):
    """Any id that is not one of ours is unknown, in the same words."""
    reply = caller.ask(name, draft_id)
    assert (reply.status, reply.code) == (404, "NOT_FOUND")
    assert reply.json["detail"] == "There is no such draft."


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


def many(world, count):
    return [world.add(make_draft(id=new_draft_id())).id for _ in range(count)]


def test_list_is_newest_first_in_pages(caller, world):
    """Pages follow each other without gap or repetition."""
    ids = many(world, 45)
    seen, token = [], ""
    while token is not None:
        reply = caller.ask("list_drafts", query={"continuation": token} if token else {})
        seen.append([item["id"] for item in reply.json["drafts"]])
        token = reply.json["continuation"]
    assert [len(page) for page in seen] == [20, 20, 5]
    assert sorted(itertools.chain(*seen)) == sorted(ids)


def test_list_by_status(caller, world):
    """Only what was asked for, of one or more states."""
    world.add()
    world.add(make_ready(id=OTHER_ID))
    assert [d["id"] for d in caller.ask("list_drafts", query={"status": "Ready"}).json["drafts"]]
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


def test_events_are_oldest_first(caller, world):
    """The history tells what happened, with numbers that count up."""
    draft = world.add()
    world.deps.store.save(
        draft,
        replace(draft, attempts=1),
        event_of(draft, EventType.ATTEMPT_STARTED, NOW),
        now=NOW,
    )
    reply = caller.ask("list_draft_events", DRAFT_ID)
    assert [(e["seq"], e["type"]) for e in reply.json["events"]] == [
        (1, "Created"),
        (2, "AttemptStarted"),
    ]
    assert reply.json["events"][0] == {
        "seq": 1,
        "type": "Created",
        "at": "2026-08-01T12:00:00Z",
        "generation": 1,
        "attempt": 0,
        "data": {},
    }


@pytest.mark.parametrize(
    ("variant", "use", "blob"),
    [
        ("archive", ImageUse.CUTOUT, "/archive.webp"),
        ("display", ImageUse.CUTOUT, "/display.webp"),
        ("thumb", ImageUse.CUTOUT, "/thumb.webp"),
        ("display", ImageUse.ORIGINAL, "/original-display.webp"),
        ("thumb", ImageUse.ORIGINAL, "/original-thumb.webp"),
        ("original-display", ImageUse.CUTOUT, "/original-display.webp"),
        ("original-thumb", ImageUse.CUTOUT, "/original-thumb.webp"),
        ("original", ImageUse.CUTOUT, "/raw"),
    ],
)
def test_lasting_address_of_a_picture(caller, world, variant, use, blob):
    """302 to a fresh link of one blob; what was chosen to be used is what is shown."""
    world.add(make_ready(use=use))
    reply = caller.ask("get_draft_image", DRAFT_ID, path={"variant": variant})
    assert (reply.status, reply.headers["cache-control"]) == (302, "no-store")
    assert f"{blob}?sp=r&" in reply.headers["location"]


@pytest.mark.parametrize(
    ("draft", "variant"),
    [
        (make_draft(), "display"),
        (make_ready(use=ImageUse.ORIGINAL), "archive"),
        (make_ready(), "mask"),
        (make_ready(), "DISPLAY"),
        (make_ready(), "../raw"),
    ],
)
def test_lasting_address_of_no_picture(caller, world, draft, variant):
    """404 for what is not there (yet) and for what never is."""
    world.add(draft)
    reply = caller.ask("get_draft_image", DRAFT_ID, path={"variant": variant})
    assert (reply.status, reply.code) == (404, "IMAGE_NOT_FOUND")


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
