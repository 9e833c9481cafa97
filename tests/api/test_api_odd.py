"""Odd requests and odd photos on the real host, and the operators' routes."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import httpx
import pytest

from shared.domain.draft import DraftStatus, Stage, Work, WorkReason
from tests.api.service import PHOTOS

UNKNOWN = "2026-08~0000~nope"


def sent_as(api: httpx.Client, name: str, data: bytes, content_type: str) -> dict:
    """The item of one file in a form."""
    reply = api.post("/wardrobe/drafts", files=[("files", (name, data, content_type))])
    return reply.json()["drafts"][0]


@pytest.mark.parametrize("name", ["photo.heic", "photo.jpg"])
@pytest.mark.parametrize("content_type", ["image/heic", "application/octet-stream", "image/jpeg"])
@pytest.mark.parametrize(
    "file", ["exif-samples__heic_IMG_5195.HEIC", "immich-test-assets__formats_avif_8bit-sRGB.avif"]
)
def test_phone_photos_are_taken_whatever_they_are_called(
    api, shared_data, file, content_type, name
):
    """HEIC and AVIF, with the right type, none, or a wrong one: the bytes decide."""
    data = (shared_data / "photos-odd" / file).read_bytes()
    assert sent_as(api, name, data, content_type)["status"] == "Processing"


@pytest.mark.parametrize(
    ("file", "size"),
    [
        ("exif-samples__heic_IMG_5195.HEIC", (793, 1024)),
        ("immich-test-assets__formats_avif_8bit-sRGB.avif", (1024, 684)),
    ],
)
def test_phone_photo_becomes_an_item(service, api, shared_data, file, size):
    """HEIC and AVIF end as upright pictures, not as drafts that nobody can show."""
    data = (shared_data / "photos-odd" / file).read_bytes()
    draft = service.wait(api, sent_as(api, file, data, "image/heic")["id"], "Ready")
    address = f"/wardrobe/drafts/{draft['id']}"
    seen = {"If-Match": api.get(address).headers["ETag"]}
    shown = api.patch(address, json={"useImage": "original"}, headers=seen).json()["image"]
    assert (shown["width"], shown["height"]) == size


@pytest.mark.parametrize(
    "data",
    [
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        b"<!DOCTYPE html><script>alert(1)</script>",
        b"%PDF-1.7\n",
        b"GIF86a" + b"\0" * 40,
        b"\x00\x00\x02\x00" + b"\0" * 40,
        b"MZ" + b"\0" * 40,
    ],
    ids=["svg", "html", "pdf", "no-gif", "tga", "exe"],
)
def test_what_poses_as_a_photo_is_refused(api, data):
    """By its bytes, at the upload."""
    item = sent_as(api, "photo.jpg", data, "image/jpeg")
    assert (item["status"], item["error"]["code"]) == ("Rejected", "UNSUPPORTED_FORMAT")


@pytest.mark.parametrize("photo", PHOTOS[:3], ids=lambda path: path.name)
def test_stored_original_is_what_was_sent(service, api, owner, photo):
    """Nothing on the way touches the bytes: form, host, worker library, storage."""
    item = sent_as(api, photo.name, photo.read_bytes(), "image/jpeg")
    stored = service.deps.uploads.read(f"{owner}/{item['id']}/raw")
    assert hashlib.sha256(stored).digest() == hashlib.sha256(photo.read_bytes()).digest()


def test_same_key_five_times_at_once_is_one_draft(service, owner, api):
    """Whoever is not first waits or gets the same draft."""
    files = [("files", ("a.jpg", PHOTOS[0].read_bytes(), "image/jpeg"))]

    def post(_: int) -> httpx.Response:
        with service.client(owner, **{"Idempotency-Key": "at-once"}) as client:
            return client.post("/wardrobe/drafts", files=files)

    with ThreadPoolExecutor(5) as pool:
        replies = list(pool.map(post, range(5)))
    assert {reply.status_code for reply in replies} <= {202, 409}
    assert len(api.get("/wardrobe/drafts").json()["drafts"]) == 1


def test_retry_five_times_at_once_is_one_run(service, owner, api):
    """One 202, the others are told the status of now."""
    draft_id = service.ready(api)["id"]
    service.fail(owner, draft_id)

    def post(_: int) -> int:
        with service.client(owner) as client:
            return client.post(f"/wardrobe/drafts/{draft_id}/retry").status_code

    with ThreadPoolExecutor(5) as pool:
        statuses = list(pool.map(post, range(5)))
    assert sorted(statuses) == [202, 409, 409, 409, 409]
    assert service.wait(api, draft_id, "Ready")["generation"] == 2


def test_job_sent_by_hand_is_understood(service, owner, api):
    """Plain JSON in the queue, as any tool writes it, is a job like those that we encode."""
    draft_id, now = service.ready(api)["id"], datetime.now(UTC)
    work = Work(reason=WorkReason.RETRY, started_at=now, queued_at=now)
    again = {"generation": 2, "stage": Stage.UPLOADED, "work": work, "attempts": 0}
    service.change(owner, draft_id, status=DraftStatus.PROCESSING, **again)
    service.deps.jobs.send(json.dumps({"ownerId": owner, "draftId": draft_id, "generation": 2}))
    assert service.wait(api, draft_id, "Ready")["generation"] == 2


def test_same_photo_twice_is_two_drafts(api):
    """Without a key nobody guesses that a second upload was not meant."""
    photo = PHOTOS[0].read_bytes()
    first, second = (sent_as(api, name, photo, "image/jpeg") for name in ("a.jpg", "b.jpg"))
    assert first["id"] != second["id"]
    assert len(api.get("/wardrobe/drafts").json()["drafts"]) == 2


def test_operators_see_how_things_stand(api):
    """Queues, jobs, dead letters."""
    view = api.get("/ops/summary").json()
    assert {queue["name"] for queue in view["queues"]} >= {"image-processing-jobs"}
    assert {job["job"] for job in view["jobs"]} >= {"cleanup_abandoned_drafts"}


def test_operators_run_the_cleanup(api):
    """200 with the record of the run."""
    reply = api.post("/ops/cleanup")
    assert (reply.status_code, reply.json()["trigger"]) == (200, "operator")


def test_operators_retry_what_failed(service, api, owner):
    """A dry run names the drafts; the real one brings them back."""
    draft_id = service.ready(api)["id"]
    service.fail(owner, draft_id)
    dry = api.post("/ops/retry-failed", json={"code": "WORKER_LOST", "dryRun": True})
    assert draft_id in dry.json()["draftIds"]
    real = api.post("/ops/retry-failed", json={"code": "WORKER_LOST", "max": 1000})
    assert real.json()["retried"] >= 1
    assert service.wait(api, draft_id, "Ready")["retryCount"] == 0


def test_operators_see_and_replay_dead_letters(service, api):
    """A message that nobody understands is kept; a letter that is unknown is 404."""
    service.deps.jobs.send("nobody understands this")
    shown = service.host.wait_until(
        lambda: [
            letter
            for letter in api.get("/ops/dead-letters").json()["deadLetters"]
            if letter["code"] == "MALFORMED"
        ]
    )
    assert shown[0]["body"] == "nobody understands this"
    refused = api.post(f"/ops/dead-letters/{shown[0]['id']}/replay")
    assert (refused.status_code, refused.json()["code"]) == (409, "NOT_REPLAYABLE")
    unknown = api.post(f"/ops/dead-letters/{UNKNOWN}/replay")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "NOT_FOUND")
