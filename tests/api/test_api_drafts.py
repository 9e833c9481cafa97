"""Every row of the contract's table, on the real host."""

import hashlib
import io

import httpx
import pytest
from PIL import Image

from shared.domain.draft import DraftStatus
from shared.domain.ids import new_draft_id
from tests.api.service import PHOTOS, code_of, upload

UNKNOWN = "0198640d-c000-7000-8000-00000000ffff"


def test_photo_goes_from_upload_to_accepted(service, api):
    """The way of a photo, with the promises that clients build on."""
    accepted = upload(api, PHOTOS[0])
    [draft] = accepted.json()["drafts"]
    assert accepted.status_code == 202
    assert accepted.headers["retry-after"] == "2"
    assert accepted.headers["location"] == accepted.json()["statusUrl"]
    seen = api.get(accepted.headers["location"]).json()["drafts"]
    assert [item["id"] for item in seen] == [draft["id"]]
    ready = service.wait(api, draft["id"], "Ready")
    assert (ready["stage"], ready["segmentation"]) == ("Analyzed", "Applied")
    assert ready["metadata"]["colors"]
    final = api.post(f"/wardrobe/drafts/{draft['id']}/accept")
    assert (final.status_code, final.json()["status"]) == (200, "Accepted")


def test_every_link_of_a_draft_opens_its_picture(service, api):
    """WebP of the promised sizes; the original is what was sent, as a download."""
    draft = service.ready(api, PHOTOS[0])
    image = draft["image"]
    for name, longest in (("archiveUrl", 2048), ("displayUrl", 1024), ("thumbUrl", 256)):
        answer = httpx.get(image[name])
        with Image.open(io.BytesIO(answer.content)) as picture:
            assert (picture.format, max(picture.size) <= longest) == ("WEBP", True)
    original = httpx.get(image["originalUrl"])
    assert (
        hashlib.sha256(original.content).digest() == hashlib.sha256(PHOTOS[0].read_bytes()).digest()
    )
    assert original.headers["content-disposition"] == f"attachment; filename={draft['id']}.jpg"
    assert original.headers["content-type"] == "application/octet-stream"


def test_links_only_read_and_only_their_blob(service, api):
    """A link cannot write, and its token opens nothing else."""
    image = service.ready(api)["image"]
    link = image["thumbUrl"]
    put = httpx.put(link, content=b"x", headers={"x-ms-blob-type": "BlockBlob"})
    other = httpx.get(image["displayUrl"].split("?")[0] + "?" + link.split("?")[1])
    bare = httpx.get(link.split("?")[0])
    listed = httpx.get(
        link.rsplit("/", 4)[0] + "?restype=container&comp=list&" + link.split("?")[1]
    )
    assert put.status_code == other.status_code == listed.status_code == 403
    assert bare.status_code in (403, 404)


def test_links_are_the_same_within_the_hour(service, api):
    """What can be cached is not signed anew with each call."""
    draft_id = service.ready(api)["id"]
    links = {api.get(f"/wardrobe/drafts/{draft_id}").json()["image"]["thumbUrl"] for _ in range(3)}
    assert len(links) == 1


@pytest.mark.parametrize(
    ("variant", "content_type"),
    [
        ("archive", "image/webp"),
        ("display", "image/webp"),
        ("thumb", "image/webp"),
        ("original-display", "image/webp"),
        ("original-thumb", "image/webp"),
        ("original", "application/octet-stream"),
    ],
)
def test_lasting_address_leads_to_the_picture(service, api, variant, content_type):
    """302, then 200; pictures to show, and the original to keep."""
    draft_id = service.ready(api)["id"]
    answer = api.get(f"/wardrobe/drafts/{draft_id}/image/{variant}")
    assert answer.status_code == 302
    picture = httpx.get(answer.headers["location"])
    assert (picture.status_code, picture.headers["content-type"]) == (200, content_type)


def test_pictures_of_ten_files_come_back_in_their_order(service, api):
    """Ten files, one request, one draft each."""
    reply = upload(api, *PHOTOS)
    drafts = reply.json()["drafts"]
    assert [draft["fileName"] for draft in drafts] == [photo.name for photo in PHOTOS]
    gone = [api.delete(f"/wardrobe/drafts/{draft['id']}").status_code for draft in drafts]
    assert gone == [204] * len(PHOTOS)


def test_status_of_a_batch(service, api, owner):
    """Known, unknown, and in the order asked for."""
    one, two = service.place(owner), service.place(owner)
    ids = f"{two.id},{UNKNOWN},{one.id}"
    reply = api.get("/wardrobe/drafts/status", params={"ids": ids})
    assert [item["status"] for item in reply.json()["drafts"]] == [
        "Uploading",
        "NotFound",
        "Uploading",
    ]


@pytest.mark.parametrize(
    ("ids", "status", "code"),
    [
        ("", 400, "VALIDATION"),
        ("nope", 400, "VALIDATION"),
        (",".join(new_draft_id() for _ in range(21)), 422, "TOO_MANY_IDS"),
    ],
)
def test_status_of_a_wrong_batch(api, ids, status, code):
    """What is no list of ids is refused."""
    reply = api.get("/wardrobe/drafts/status", params={"ids": ids})
    assert (reply.status_code, code_of(reply)) == (status, code)


def test_list_goes_through_all_pages(service, api, owner):
    """Newest first, each once."""
    placed = [service.place(owner).id for _ in range(5)]
    seen, query = [], {"pageSize": "2"}
    for _ in range(9):
        page = api.get("/wardrobe/drafts", params=query).json()
        seen += [draft["id"] for draft in page["drafts"]]
        if page["continuation"] is None:
            break
        query["continuation"] = page["continuation"]
    assert seen == sorted(placed, reverse=True)


def test_failed_draft_is_retried_to_ready(service, api, owner):
    """A lost worker, a click on retry, a picture."""
    draft_id = service.ready(api)["id"]
    service.fail(owner, draft_id)
    shown = api.get(f"/wardrobe/drafts/{draft_id}").json()
    assert (shown["status"], shown["error"]["code"]) == ("Failed", "WORKER_LOST")
    retried = api.post(f"/wardrobe/drafts/{draft_id}/retry")
    assert (retried.status_code, retried.json()["generation"]) == (202, 2)
    assert service.wait(api, draft_id, "Ready")["retryCount"] == 1


def test_draft_that_can_never_work_is_not_retried(service, api):
    """The truncated photo: Failed once, with its reason, for good."""
    broken = PHOTOS[0].read_bytes()[:9000]
    files = [("files", ("cut.jpg", broken, "image/jpeg"))]
    [draft] = api.post("/wardrobe/drafts", files=files).json()["drafts"]
    failed = service.wait(api, draft["id"], "Failed")
    assert (failed["error"]["code"], failed["attempts"]) == ("CORRUPT_IMAGE", 1)
    reply = api.post(f"/wardrobe/drafts/{draft['id']}/retry")
    assert (reply.status_code, code_of(reply)) == (409, "NOT_RETRYABLE")


def test_correction_needs_the_etag_that_was_read(service, api, owner):
    """428 without, 412 with an old one, 200 with the one of now."""
    draft = service.place(owner)
    address = f"/wardrobe/drafts/{draft.id}"
    etag = api.get(address).headers["etag"]
    without = api.patch(address, json={"title": "Hat"})
    good = api.patch(address, json={"title": "Hat"}, headers={"If-Match": etag})
    stale = api.patch(address, json={"title": "Cap"}, headers={"If-Match": etag})
    assert (without.status_code, good.status_code, stale.status_code) == (428, 200, 412)
    assert good.json()["metadata"]["title"] == "Hat"


def test_undo_of_the_cut_out_shows_the_photo_as_taken(service, api):
    """The same draft, the other set of pictures, and back."""
    draft = service.ready(api)
    address = f"/wardrobe/drafts/{draft['id']}"
    etag = api.get(address).headers["etag"]
    undone = api.patch(address, json={"useImage": "original"}, headers={"If-Match": etag})
    assert "original-display" in undone.json()["image"]["displayUrl"]
    assert api.get(f"{address}/image/archive").status_code == 404
    back = api.patch(
        address, json={"useImage": "cutout"}, headers={"If-Match": undone.headers["etag"]}
    )
    assert back.json()["image"] == draft["image"]


def test_acceptance_asked_for_early_is_kept(service, api):
    """While Processing, here behind three others: the run ends in Accepted."""
    *_, draft = upload(api, *PHOTOS[:3], PHOTOS[2]).json()["drafts"]
    early = api.post(f"/wardrobe/drafts/{draft['id']}/accept")
    assert early.status_code == 200
    assert (early.json()["status"], early.json()["acceptRequested"]) == ("Processing", True)
    assert service.wait(api, draft["id"], "Accepted")["image"]


def test_another_picture_of_a_ready_draft(service, api):
    """202, Ready all the while, and new blobs when it is done."""
    draft = service.ready(api)
    address = f"/wardrobe/drafts/{draft['id']}"
    reply = api.post(f"{address}/reprocess", json={"from": "Segmented"})
    assert (reply.status_code, reply.json()["status"], reply.json()["generation"]) == (
        202,
        "Ready",
        2,
    )
    again = service.wait(
        api, draft["id"], "Ready", until=lambda d: "/2-1/" in d["image"]["thumbUrl"]
    )
    assert again["stage"] == "Analyzed"


def test_accepted_draft_keeps_its_picture(service, api, owner):
    """409 for another one."""
    draft = service.place(owner, status=DraftStatus.ACCEPTED)
    reply = api.post(f"/wardrobe/drafts/{draft.id}/reprocess")
    assert (reply.status_code, code_of(reply)) == (409, "ACCEPTED")


def test_deleted_draft_is_gone_with_its_pictures(service, api, owner):
    """204 twice, 404 after, and no blob left."""
    draft = service.ready(api)
    thumb = draft["image"]["thumbUrl"]
    assert [api.delete(f"/wardrobe/drafts/{draft['id']}").status_code for _ in range(2)] == [
        204,
        204,
    ]
    assert api.get(f"/wardrobe/drafts/{draft['id']}").status_code == 404
    assert httpx.get(thumb).status_code == 404
    for blobs in (service.deps.uploads, service.deps.images):
        assert list(blobs.names(f"{owner}/{draft['id']}/")) == []


def test_history_tells_the_way_of_a_photo(service, api):
    """From Created to Ready, in order."""
    draft = service.ready(api)
    events = api.get(f"/wardrobe/drafts/{draft['id']}/events").json()["events"]
    assert [event["type"] for event in events] == [
        "Created",
        "AttemptStarted",
        "Segmented",
        "Rendered",
        "Analyzed",
        "Ready",
    ]


def test_processor_gives_the_cut_out_back(api):
    """WebP with alpha, upright, not cropped."""
    reply = api.post(
        "/process-image", content=PHOTOS[0].read_bytes(), headers={"Content-Type": "image/jpeg"}
    )
    assert (reply.status_code, reply.headers["content-type"]) == (200, "image/webp")
    assert 0 <= float(reply.headers["x-confidence"]) <= 1
    with (
        Image.open(io.BytesIO(reply.content)) as cut,
        Image.open(PHOTOS[0]) as sent,
    ):
        assert (cut.mode, cut.size) == ("RGBA", sent.size)


def test_processor_refuses_a_bad_photo(api):
    """The picture's own status."""
    reply = api.post("/process-image", content=b"no", headers={"Content-Type": "image/jpeg"})
    assert (reply.status_code, code_of(reply)) == (415, "UNSUPPORTED_FORMAT")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "wardrobe/drafts", "POST, GET"),
        ("DELETE", "wardrobe/drafts/status", "GET"),
        ("POST", f"wardrobe/drafts/{UNKNOWN}", "GET, PATCH, DELETE"),
        ("GET", f"wardrobe/drafts/{UNKNOWN}/retry", "POST"),
        ("OPTIONS", "wardrobe/uploads", "POST"),
        ("GET", "process-image", "POST"),
        ("POST", "health/live", "GET"),
        ("GET", "ops/cleanup", "POST"),
    ],
)
def test_wrong_method_names_the_right_ones(api, method, path, allow):
    """405 as a problem, where the host itself would say 404."""
    reply = api.request(method, f"/{path}")
    assert (reply.status_code, reply.headers["allow"]) == (405, allow)
    assert code_of(reply) == "METHOD_NOT_ALLOWED"


@pytest.mark.parametrize(
    "path", ["nope", "wardrobe", "wardrobe/drafts/nope", "wardrobe/drafts/nope/retry", "v2/x", ""]
)
def test_unknown_address(api, path):
    """404 as a problem."""
    reply = api.get(f"/{path}")
    assert (reply.status_code, code_of(reply)) == (404, "NOT_FOUND")


def test_process_is_alive_and_ready(api):
    """200 on both; nothing is missing that serves requests."""
    assert api.get("/health/live").json() == {"status": "live"}
    ready = api.get("/health/ready")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
