"""What an owner reads: a draft, a batch of states, the list, the history."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.domain.draft import DraftError, DraftStatus, ImageUse
from shared.domain.events import EventType, event_of
from tests.factories import DRAFT_ID, make_draft, make_work
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
