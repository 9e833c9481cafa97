"""Ways for a photo into the app, on the real host: forms, raw bodies, addresses, version one."""

import httpx
import pytest

from tests.api.service import PHOTOS, code_of


@pytest.mark.parametrize("name", ["żółta 👗.jpg", "(R)®.jpg", "n" * 200 + ".jpg"])
def test_file_name_survives_the_whole_way(service, api, name):
    """Through form, host, row and JSON."""
    files = [("files", (name, PHOTOS[0].read_bytes(), "image/jpeg"))]
    [draft] = api.post("/wardrobe/drafts", files=files).json()["drafts"]
    assert api.get(f"/wardrobe/drafts/{draft['id']}").json()["fileName"] == name


def test_skipping_segmentation_shows_the_photo(service, api):
    """No cut-out was wanted, none is made."""
    assert service.ready(api, skipSegmentation="true")["segmentation"] == "Skipped"


def test_raw_body_is_a_draft(service, api):
    """No form needed for one picture."""
    reply = api.post(
        "/wardrobe/drafts",
        content=PHOTOS[0].read_bytes(),
        headers={"Content-Type": "image/jpeg"},
        params={"fileName": "dress.jpg"},
    )
    [draft] = reply.json()["drafts"]
    assert (reply.status_code, draft["fileName"]) == (202, "dress.jpg")


def test_ten_megabytes_are_taken(api):
    """Exactly the limit; one byte more is refused."""
    padded = PHOTOS[0].read_bytes() + b"\0" * 10_000_000
    good = api.post(
        "/wardrobe/drafts", content=padded[:10_000_000], headers={"Content-Type": "image/jpeg"}
    )
    bad = api.post(
        "/wardrobe/drafts", content=padded[:10_000_001], headers={"Content-Type": "image/jpeg"}
    )
    assert (good.status_code, bad.status_code, code_of(bad)) == (202, 413, "FILE_TOO_LARGE")


def test_body_over_the_limit_is_refused(api):
    """413 by our own word below the host's limit, before anything is stored."""
    reply = api.post(
        "/wardrobe/drafts", content=b"x" * 102_000_001, headers={"Content-Type": "image/jpeg"}
    )
    assert (reply.status_code, code_of(reply)) == (413, "BODY_TOO_LARGE")


def test_body_of_unknown_length_is_refused(api):
    """Chunked bodies do not reach a function."""
    reply = api.post(
        "/wardrobe/drafts", content=iter([b"x"]), headers={"Content-Type": "image/jpeg"}
    )
    assert (reply.status_code, code_of(reply)) == (411, "LENGTH_REQUIRED")


def test_same_key_twice_is_one_draft(api):
    """A lost answer costs nothing."""
    headers = {"Idempotency-Key": "click"}
    files = [("files", ("a.jpg", PHOTOS[0].read_bytes(), "image/jpeg"))]
    replies = [api.post("/wardrobe/drafts", files=files, headers=headers) for _ in range(2)]
    ids = {reply.json()["drafts"][0]["id"] for reply in replies}
    assert len(ids) == 1


def test_direct_upload_from_address_to_ready(service, api):
    """PUT to the address, submit, wait."""
    wish = {"fileName": "hat.jpg", "contentType": "image/jpeg", "size": 18000}
    view = api.post("/wardrobe/uploads", json=wish).json()
    early = api.post(f"/wardrobe/drafts/{view['draftId']}/submit")
    assert (early.status_code, code_of(early)) == (409, "NOT_UPLOADED")
    put = httpx.put(view["uploadUrl"], content=PHOTOS[1].read_bytes(), headers=view["headers"])
    assert put.status_code == 201
    submitted = httpx.post(view["submitUrl"], headers=api.headers)
    assert (submitted.status_code, submitted.json()["status"]) == (202, "Processing")
    service.wait(api, view["draftId"], "Ready")


def test_direct_upload_address_cannot_replace_or_read(api):
    """Create-only, one blob: what was submitted cannot be exchanged."""
    view = api.post("/wardrobe/uploads", json={"contentType": "image/jpeg", "size": 1}).json()
    first = httpx.put(view["uploadUrl"], content=b"one", headers=view["headers"])
    second = httpx.put(view["uploadUrl"], content=b"two", headers=view["headers"])
    read = httpx.get(view["uploadUrl"])
    assert first.status_code == 201
    assert second.status_code in (403, 409)
    assert read.status_code == 403


def test_direct_upload_is_allowed_to_browsers(api):
    """The preflight of a page on another origin passes, with the headers that we ask for."""
    view = api.post("/wardrobe/uploads", json={"contentType": "image/jpeg", "size": 1}).json()
    preflight = httpx.options(
        view["uploadUrl"],
        headers={
            "Origin": "https://shop.example",
            "Access-Control-Request-Method": "PUT",
            "Access-Control-Request-Headers": "content-type,x-ms-blob-type",
        },
    )
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] in ("*", "https://shop.example")


def test_version_one_answers_with_the_finished_draft(api):
    """200 with an address that lasts."""
    files = {"file": ("hat.jpg", PHOTOS[1].read_bytes(), "image/jpeg")}
    reply = api.post("/v1/wardrobe/images", files=files)
    assert (reply.status_code, reply.json()["status"]) == (200, "Ready")
    picture = httpx.get(reply.json()["cdnUrl"], headers=api.headers, follow_redirects=True)
    assert picture.headers["content-type"] == "image/webp"


def test_version_one_refuses_a_bad_photo(api):
    """422 with the code of the picture."""
    files = {"file": ("x.jpg", b"no picture", "image/jpeg")}
    reply = api.post("/v1/wardrobe/images", files=files)
    assert (reply.status_code, code_of(reply)) == (422, "UNSUPPORTED_FORMAT")
