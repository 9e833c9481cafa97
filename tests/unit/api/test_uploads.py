"""The direct way: shell, address, submit."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from shared.domain.draft import DraftStatus, Stage, WorkReason
from shared.domain.events import EventType
from tests.factories import DRAFT_ID
from tests.unit.api.calling import BASE, make_ready, photo
from tests.unit.api.failing import at

JPEG = photo()
TRACE = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
WISH = {"fileName": "shirt.heic", "contentType": "image/heic", "size": 2_000_000}


def begun(caller, world, data=None):
    """An Uploading draft; its bytes, where given, are in storage."""
    draft_id = caller.ask("create_upload", json=WISH).json["draftId"]
    if data is not None:
        world.uploads.put(f"owner-1/{draft_id}/raw", data, content_type="image/heic")
    return draft_id


def test_upload_address_is_for_one_blob_and_ten_minutes(caller, world):
    """201: create-only, with the headers to send and where to say that it is there."""
    reply = caller.ask("create_upload", json=WISH)
    view = reply.json
    assert (reply.status, view["method"]) == (201, "PUT")
    assert f"owner-1/{view['draftId']}/raw?sp=c&se=2026-08-01T12:10:00" in view["uploadUrl"]
    assert view["headers"] == {"x-ms-blob-type": "BlockBlob", "Content-Type": "image/heic"}
    assert view["expiresAt"] == "2026-08-01T12:10:00Z"
    assert view["submitUrl"] == f"{BASE}/wardrobe/drafts/{view['draftId']}/submit"
    assert reply.headers["location"] == f"{BASE}/wardrobe/drafts/{view['draftId']}"


def test_upload_size_may_be_written_as_any_json_number(caller):
    """7.0 is a whole number in JSON."""
    assert caller.ask("create_upload", json=WISH | {"size": 7.0}).status == 201


def test_upload_shell_waits_and_is_not_queued(caller, world):
    """An unfinished direct upload has no work, and ends after a day."""
    draft_id = begun(caller, world)
    shown = caller.ask("get_draft", draft_id).json
    assert (shown["status"], shown["stage"], shown["fileName"]) == ("Uploading", None, "shirt.heic")
    assert shown["expiresAt"] == "2026-08-02T12:00:00Z"
    assert world.jobs.sent == []


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"size": 0}, 400, "EMPTY_FILE"),
        ({"size": 10_000_001}, 413, "FILE_TOO_LARGE"),
        ({"contentType": "application/pdf"}, 415, "UNSUPPORTED_FORMAT"),
        ({"size": -1}, 422, "VALIDATION"),
        ({"size": "7"}, 422, "VALIDATION"),
        ({"size": 1.5}, 422, "VALIDATION"),
        ({"contentType": None}, 422, "VALIDATION"),
        ({"fileName": "x" * 1001}, 422, "VALIDATION"),
        ({"surprise": 1}, 422, "VALIDATION"),
    ],
)
def test_upload_that_would_be_refused_anyway(caller, world, changes, status, code):
    """What submit would refuse is refused before a byte is sent."""
    reply = caller.ask("create_upload", json=WISH | changes)
    assert (reply.status, reply.code) == (status, code)
    assert [key for _, key in world.drafts.rows if key.startswith("d~")] == []


def test_submit_starts_the_first_run(caller, world):
    """202: size, format and ETag of what is really there, one message."""
    draft_id = begun(caller, world, JPEG)
    reply = caller.ask("submit_upload", draft_id)
    draft = world.deps.store.find("owner-1", draft_id)
    assert (reply.status, reply.json["status"], reply.json["stage"]) == (
        202,
        "Processing",
        "Uploaded",
    )
    assert (draft.raw.size, draft.raw.content_type) == (len(JPEG), "image/jpeg")
    assert draft.raw.etag == world.uploads.stored[draft.raw.blob][2]
    assert (draft.work.reason, len(world.jobs.sent)) == (WorkReason.INITIAL, 1)


def test_submit_again_changes_nothing(caller, world):
    """202 in any later state, without a second message."""
    draft_id = begun(caller, world, JPEG)
    first = caller.ask("submit_upload", draft_id)
    again = caller.ask("submit_upload", draft_id)
    assert (again.status, again.json) == (202, first.json)
    assert len(world.jobs.sent) == 1


@pytest.mark.parametrize("status", [DraftStatus.READY, DraftStatus.ACCEPTED])
def test_submit_in_a_later_state(caller, world, status):
    """202 with the state of now."""
    world.add(make_ready(status=status))
    reply = caller.ask("submit_upload", DRAFT_ID)
    assert (reply.status, reply.json["status"]) == (202, status)


def test_submit_five_times_at_once(caller, world):
    """One run is wanted, by one message."""
    draft_id = begun(caller, world, JPEG)
    with ThreadPoolExecutor(5) as pool:
        replies = list(pool.map(lambda _: caller.ask("submit_upload", draft_id), range(5)))
    assert {reply.status for reply in replies} == {202}
    assert len(world.jobs.sent) == 1


def test_submit_of_what_has_not_arrived(caller, world):
    """409, and the draft goes on waiting."""
    reply = caller.ask("submit_upload", begun(caller, world))
    assert (reply.status, reply.code, reply.json["retryable"]) == (409, "NOT_UPLOADED", True)


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (b"", 400, "EMPTY_FILE"),
        (b"x" * 10_000_001, 413, "FILE_TOO_LARGE"),
        (b"<html>", 415, "UNSUPPORTED_FORMAT"),
        (JPEG[:40], 400, "CORRUPT_IMAGE"),
    ],
)
def test_submit_of_what_is_no_photo(caller, world, data, status, code):
    """Refused by its bytes and removed, so that a better one can be sent."""
    draft_id = begun(caller, world, data)
    reply = caller.ask("submit_upload", draft_id)
    assert (reply.status, reply.code) == (status, code)
    assert (world.uploads.stored, world.jobs.sent) == ({}, [])
    world.uploads.put(f"owner-1/{draft_id}/raw", JPEG, content_type="image/jpeg")
    assert caller.ask("submit_upload", draft_id).status == 202


def test_submit_while_the_bytes_are_replaced(caller, world):
    """What was probed is what the row will name; anything else is not there yet."""
    draft_id = begun(caller, world, JPEG)

    def replace(call):
        if call == "uploads.read":
            world.uploads.stored[f"owner-1/{draft_id}/raw"] = (b"other", "image/jpeg", "new")

    world.faults.before = replace
    assert caller.ask("submit_upload", draft_id).code == "NOT_UPLOADED"


def test_submit_whose_bytes_vanish(caller, world):
    """Gone between the look and the read is not there."""
    draft_id = begun(caller, world, JPEG)
    world.faults.before = lambda call: world.uploads.stored.clear() if call.endswith("read") else 0
    assert caller.ask("submit_upload", draft_id).code == "NOT_UPLOADED"


def test_submit_with_the_queue_away(caller, world):
    """202: the row wants the run, and the repair sends."""
    draft_id = begun(caller, world, JPEG)
    world.faults.before = at("jobs.send")
    assert caller.ask("submit_upload", draft_id).status == 202
    assert world.deps.store.find("owner-1", draft_id).due_at == world.clock() + timedelta(minutes=3)


def test_submit_is_in_the_history(caller, world):
    """Created, then Submitted."""
    draft_id = begun(caller, world, JPEG)
    caller.ask("submit_upload", draft_id)
    events = caller.ask("list_draft_events", draft_id).json["events"]
    assert [event["type"] for event in events] == [EventType.CREATED, EventType.SUBMITTED]


def test_submit_tells_the_log_how_the_photo_came(caller, world, caplog):
    """The line says `direct`, of which draft, and by which request."""
    caplog.set_level("INFO")
    draft_id = begun(caller, world, JPEG)
    caller.ask("submit_upload", draft_id, headers={"traceparent": TRACE})
    [line] = [json.loads(r.message) for r in caplog.records if "draft_accepted" in r.message]
    assert (line["source"], line["draftId"], line["traceId"]) == ("direct", draft_id, "a" * 32)


def test_submit_keeps_to_the_stage_of_the_photo(caller, world):
    """A draft that was submitted starts at its first checkpoint."""
    draft_id = begun(caller, world, JPEG)
    caller.ask("submit_upload", draft_id)
    assert world.deps.store.find("owner-1", draft_id).stage is Stage.UPLOADED


def test_submit_that_refuses_old_bytes_leaves_new_ones(caller, world):
    """A slow submit removes what it refused, never the photo that came since."""
    draft_id = begun(caller, world, b"no picture")
    blob = f"owner-1/{draft_id}/raw"

    def replace_late(call):
        if call == "uploads.delete":
            world.faults.before = lambda call: None
            world.uploads.put(blob, JPEG, content_type="image/jpeg")

    world.faults.before = replace_late
    assert caller.ask("submit_upload", draft_id).code == "UNSUPPORTED_FORMAT"
    assert world.uploads.stored[blob][0] == JPEG
