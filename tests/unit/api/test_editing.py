"""PATCH …/drafts/{id}: what a person corrects by hand."""

from dataclasses import replace

import pytest

from shared.domain.draft import DraftStatus, Metadata
from shared.domain.events import EventType
from shared.domain.lifecycle import finish
from tests.factories import DRAFT_ID, make_work
from tests.fakes import NOW
from tests.unit.api.calling import make_pictures, make_ready
from tests.unit.api.failing import at

NOW_MATCH = {"If-Match": '"1"'}


def test_patch_changes_what_was_sent_and_nothing_else(caller, world):
    """200 with the corrected draft and its new ETag."""
    world.add(make_ready())
    reply = caller.ask("patch_draft", DRAFT_ID, json={"title": "  Red hat "}, headers=NOW_MATCH)
    assert (reply.status, reply.headers["etag"]) == (200, '"2"')
    metadata = reply.json["metadata"]
    assert (metadata["title"], metadata["category"]) == ("Red hat", "Dress")


def test_patch_of_the_category_is_the_persons_word(caller, world):
    """The guess and its confidence are gone, and nobody has to review it."""
    world.add(make_ready(metadata=Metadata(category="Dress", category_confidence=0.3)))
    reply = caller.ask("patch_draft", DRAFT_ID, json={"category": "Skirt"}, headers=NOW_MATCH)
    metadata = reply.json["metadata"]
    assert (metadata["category"], metadata["categoryConfidence"]) == ("Skirt", None)
    assert (metadata["needsReview"], metadata["source"]) == (False, "user")


def test_patch_of_the_colours(caller, world):
    """Hex in lower case; without shares the colours count alike."""
    world.add(make_ready())
    colors = [{"name": "red", "hex": "#FF0000"}, {"name": "white", "hex": "#ffffff", "share": 0.2}]
    reply = caller.ask("patch_draft", DRAFT_ID, json={"colors": colors}, headers=NOW_MATCH)
    assert reply.json["metadata"]["colors"] == [
        {"name": "red", "hex": "#ff0000", "share": 0.5},
        {"name": "white", "hex": "#ffffff", "share": 0.2},
    ]


@pytest.mark.parametrize("status", [DraftStatus.READY, DraftStatus.ACCEPTED])
def test_patch_undoes_the_cut_out_at_any_time(caller, world, status):
    """And brings it back."""
    world.add(make_ready(status=status))
    undone = caller.ask("patch_draft", DRAFT_ID, json={"useImage": "original"}, headers=NOW_MATCH)
    assert undone.json["image"]["use"] == "original"
    back = {"If-Match": undone.headers["etag"]}
    redone = caller.ask("patch_draft", DRAFT_ID, json={"useImage": "cutout"}, headers=back)
    assert redone.json["image"]["use"] == "cutout"


def test_patch_with_null_clears_a_text(caller, world):
    """Title and notes can be removed."""
    world.add(make_ready(metadata=Metadata(title="Old", notes="Old")))
    body = {"title": None, "notes": None}
    reply = caller.ask("patch_draft", DRAFT_ID, json=body, headers=NOW_MATCH)
    assert (reply.json["metadata"]["title"], reply.json["metadata"]["notes"]) == (None, None)


@pytest.mark.parametrize("body", [{}, {"useImage": "cutout"}])
def test_patch_that_changes_nothing(caller, world, body):
    """The draft stays as it was, ETag and history too."""
    draft = world.add(make_ready())
    reply = caller.ask("patch_draft", DRAFT_ID, json=body, headers=NOW_MATCH)
    assert (reply.status, reply.headers["etag"]) == (200, '"1"')
    assert len(world.deps.store.events_of(world.row(draft))) == 1


def test_patch_while_processing_outlives_the_run(caller, world):
    """What the person says before the run is done, the run does not overwrite."""
    draft = world.add()
    caller.ask("patch_draft", DRAFT_ID, json={"category": "Hat"}, headers=NOW_MATCH)
    row = world.row(draft)
    done = finish(
        replace(
            row, checkpoint=make_pictures(), analysis=Metadata(category="Dress", source="model")
        ),
        NOW,
    )
    assert (done.metadata.category, done.metadata.source) == ("Hat", "user")


def test_patch_tells_the_history_which_fields(caller, world):
    """Names only, never what a person wrote."""
    draft = world.add(make_ready())
    body = {"title": "Secret", "useImage": "original"}
    caller.ask("patch_draft", DRAFT_ID, json=body, headers=NOW_MATCH)
    event = world.deps.store.events_of(world.row(draft))[-1]
    assert (event.type, event.data) == (EventType.EDITED, {"fields": "title,useImage"})


def test_patch_without_if_match(caller, world):
    """428: two people must not overwrite each other unknowingly."""
    world.add(make_ready())
    reply = caller.ask("patch_draft", DRAFT_ID, json={"title": "x"})
    assert (reply.status, reply.code) == (428, "PRECONDITION_REQUIRED")


@pytest.mark.parametrize("tag", ['"2"', "1", 'W/"1"', "", '"0", "2"'])
def test_patch_of_a_stale_draft(caller, world, tag):
    """412: the draft is read again first."""
    world.add(make_ready())
    reply = caller.ask("patch_draft", DRAFT_ID, json={"title": "x"}, headers={"If-Match": tag})
    assert (reply.status, reply.code) == (412, "PRECONDITION_FAILED")


@pytest.mark.parametrize("tag", ["*", '"0", "1"', '"1"'])
def test_patch_of_a_fresh_draft(caller, world, tag):
    """Any listed ETag that fits, or any at all."""
    world.add(make_ready())
    reply = caller.ask("patch_draft", DRAFT_ID, json={"title": "x"}, headers={"If-Match": tag})
    assert reply.status == 200


def test_patch_that_meets_a_heartbeat_is_applied_to_the_newer_row(caller, world):
    """What no client sees makes no correction stale."""
    draft = world.add(make_ready(work=make_work(), lease_id="run", lease_expires_at=NOW))

    def beat(call):
        if call == "drafts.transact" and not beaten:
            beaten.append(call)
            world.deps.store.save(draft, replace(draft, lease_expires_at=NOW), now=NOW)

    beaten: list[str] = []
    world.faults.before = beat
    reply = caller.ask("patch_draft", DRAFT_ID, json={"title": "x"}, headers=NOW_MATCH)
    assert (reply.status, reply.json["metadata"]["title"]) == (200, "x")


def test_patch_that_meets_another_correction_is_stale(caller, world):
    """The second of two corrections of the same state is told so."""
    world.add(make_ready())
    caller.ask("patch_draft", DRAFT_ID, json={"title": "first"}, headers=NOW_MATCH)
    reply = caller.ask("patch_draft", DRAFT_ID, json={"title": "second"}, headers=NOW_MATCH)
    assert reply.status == 412


def test_patch_with_texts_as_long_as_they_may_be(caller, world):
    """120 characters of title, 2,000 of notes."""
    world.add(make_ready())
    texts = {"title": "t" * 120, "notes": "n" * 2000}
    reply = caller.ask("patch_draft", DRAFT_ID, json=texts, headers=NOW_MATCH)
    assert reply.status == 200
    assert texts.items() <= reply.json["metadata"].items()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"category": "Spaceship"}, "category"),
        ({"category": None}, "category"),
        ({"category": 7}, "category"),
        ({"colors": None}, "colors"),
        ({"colors": [{"name": "red"}]}, "colors.0.hex"),
        ({"colors": [{"name": "red", "hex": "red"}]}, "colors.0.hex"),
        ({"colors": [{"name": "", "hex": "#ff0000"}]}, "colors.0.name"),
        ({"colors": [{"name": "red", "hex": "#ff0000", "share": 2}]}, "colors.0.share"),
        ({"colors": [{"name": "red", "hex": "#ff0000"}] * 9}, "colors"),
        ({"title": "x" * 121}, "title"),
        ({"title": "   "}, "title"),
        ({"notes": "x" * 2001}, "notes"),
        ({"useImage": "both"}, "useImage"),
        ({"useImage": None}, "useImage"),
        ({"status": "Accepted"}, "status"),
        ({"use_image": "original"}, "use_image"),
        ([], "body"),
    ],
)
def test_patch_with_what_is_not_allowed(caller, world, body, field):
    """422 naming the field; unknown fields are not ignored."""
    world.add(make_ready())
    reply = caller.ask("patch_draft", DRAFT_ID, json=body, headers=NOW_MATCH)
    assert (reply.status, reply.code) == (422, "VALIDATION")
    assert field in [fault["field"] for fault in reply.json["errors"]]


@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"title": "\\ud800"}', b"nul", b"[" * 5000])
def test_patch_with_what_is_no_json(caller, world, body):
    """400: the body cannot be read at all."""
    world.add(make_ready())
    reply = caller.ask("patch_draft", DRAFT_ID, body=body, headers=NOW_MATCH)
    assert (reply.status, reply.code) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    ("headers", "body", "status", "code"),
    [
        ({"content-type": "text/plain"}, b"{}", 415, "UNSUPPORTED_MEDIA_TYPE"),
        ({"content-type": "application/json"}, b" " * 64_001, 413, "BODY_TOO_LARGE"),
        ({"content-type": "application/json"}, b"", 411, "LENGTH_REQUIRED"),
        ({"content-type": "application/merge-patch+json; charset=utf-8"}, b"{}", 200, ""),
    ],
)
def test_patch_with_another_body(caller, world, headers, body, status, code):
    """JSON of a known and reasonable length."""
    world.add(make_ready())
    reply = caller.ask("patch_draft", DRAFT_ID, body=body, headers=NOW_MATCH | headers)
    assert reply.status == status
    assert status == 200 or reply.code == code


def test_patch_of_an_unknown_draft_comes_before_everything_else(caller):
    """404 tells nothing about what else is wrong."""
    assert caller.ask("patch_draft", DRAFT_ID, body=b"{").status == 404


def test_patch_with_storage_away(caller, world):
    """503, and nothing is half changed."""
    draft = world.add(make_ready())
    world.faults.before = at("drafts.transact")
    reply = caller.ask("patch_draft", DRAFT_ID, json={"title": "x"}, headers=NOW_MATCH)
    assert (reply.status, reply.code) == (503, "STORAGE_UNAVAILABLE")
    assert world.row(draft) == draft
