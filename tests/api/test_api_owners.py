"""Nothing of one owner is reachable for another: every route, two owners, three modes."""

import re

import httpx
import pytest

from shared.api.routes import ROUTES, Access
from shared.domain.draft import DraftStatus
from tests.api.service import PHOTOS, running, upload
from tests.unit.api.calling import make_pictures

MODES = {
    "local": ({}, "X-Owner-Id"),
    "key": ({"AUTH_MODE": "key"}, "X-Owner-Id"),
    "easyauth": (
        {"AUTH_MODE": "easyauth", "WEBSITE_AUTH_ENABLED": "True"},
        "X-MS-CLIENT-PRINCIPAL-ID",
    ),
}
UNKNOWN = "0198640d-c000-7000-8000-00000000ffff"
OF_A_DRAFT = [route for route in ROUTES if route.access is Access.OWNER and "{id" in route.template]
OF_OWNERS = [route for route in ROUTES if route.access is Access.OWNER]
JSON = {"PATCH": {"title": "mine now"}}


@pytest.fixture(scope="module", params=MODES)
def world(request, azurite):
    """The app in one of its modes, and the header by which it knows an owner."""
    env, header = MODES[request.param]
    with running(azurite, **env) as app:
        yield app, header


def client_of(world, owner):
    app, header = world
    return httpx.Client(
        base_url=app.host.base_url, headers={} if owner is None else {header: owner}
    )


def call(client, route, draft_id):
    path = re.sub(r"\{id:guid\}", draft_id, route.template).replace("{variant}", "display")
    body = JSON.get(route.method)
    headers = {"If-Match": "*"} if body else {}
    return client.request(route.method, f"/{path}", json=body, headers=headers)


def visible(response):
    """What a caller can tell two answers apart by."""
    headers = {k: v for k, v in response.headers.items() if k not in ("date", "content-length")}
    return response.status_code, headers, response.content


@pytest.mark.parametrize("route", OF_A_DRAFT, ids=lambda route: route.name)
def test_foreign_draft_is_answered_word_for_word_like_an_unknown_one(world, route):
    """Status, headers and body are the same, and the draft is as it was."""
    app, _ = world
    mine = f"alice-{route.name}"
    draft = app.place(mine, status=DraftStatus.READY, pictures=make_pictures())
    with client_of(world, "mallory") as mallory:
        foreign, unknown = call(mallory, route, draft.id), call(mallory, route, UNKNOWN)
    assert visible(foreign) == visible(unknown)
    assert foreign.status_code in (204, 404)
    assert app.deps.store.find(mine, draft.id) == draft


def test_foreign_ids_are_not_found_in_a_batch(world):
    """The same item as for an id that never was."""
    app, _ = world
    draft = app.place("alice-batch")
    with client_of(world, "mallory") as mallory:
        reply = mallory.get("/wardrobe/drafts/status", params={"ids": f"{draft.id},{UNKNOWN}"})
    assert reply.json()["drafts"] == [
        {"id": draft.id, "status": "NotFound"},
        {"id": UNKNOWN, "status": "NotFound"},
    ]


def test_foreign_continuation_shows_nothing(world):
    """A token is a place in one's own list."""
    app, _ = world
    for _ in range(3):
        app.place("alice-list")
    with client_of(world, "alice-list") as alice, client_of(world, "mallory-list") as mallory:
        page = alice.get("/wardrobe/drafts", params={"pageSize": "1"}).json()
        assert page["continuation"]
        reply = mallory.get("/wardrobe/drafts", params={"continuation": page["continuation"]})
    assert reply.json() == {"drafts": [], "continuation": None}


def test_foreign_key_means_nothing(world):
    """Two owners may use the same Idempotency-Key for different photos."""
    ids = set()
    for owner, photo in (("alice-key", PHOTOS[0]), ("mallory-key", PHOTOS[1])):
        with client_of(world, owner) as client:
            client.headers["Idempotency-Key"] = "same"
            reply = upload(client, photo)
        assert reply.status_code == 202
        ids.add(reply.json()["drafts"][0]["id"])
    assert len(ids) == 2


def test_links_open_one_owners_blobs_only(world):
    """A signed link names one blob under the owner's own prefix."""
    app, _ = world
    draft = app.place("alice-links", status=DraftStatus.READY, pictures=make_pictures(prefix="a/b"))
    with client_of(world, "alice-links") as alice:
        wish = {"contentType": "image/jpeg", "size": 1}
        address = alice.post("/wardrobe/uploads", json=wish).json()["uploadUrl"]
    assert "/uploads/alice-links/" in address
    assert "sp=c&" in address
    assert draft.id not in address


@pytest.mark.parametrize("route", OF_OWNERS, ids=lambda route: route.name)
@pytest.mark.parametrize(
    "owner", [None, "", "x" * 129, b"\xff"], ids=["nobody", "empty", "too-long", "no-text"]
)
def test_caller_who_is_nobody_is_told_so(world, route, owner):
    """401 on every route of an owner; a laptop alone has an owner of its own."""
    app, _ = world
    with client_of(world, owner) as client:
        reply = call(client, route, UNKNOWN)
    if not owner and app.mode == "local":
        assert reply.status_code != 401
    else:
        assert (reply.status_code, reply.json()["code"]) == (401, "UNAUTHENTICATED")


def test_caller_cannot_name_an_owner_where_the_platform_does(world):
    """Each mode believes its own header and no other."""
    app, header = world
    other = {"X-Owner-Id", "X-MS-CLIENT-PRINCIPAL-ID"} - {header}
    draft = app.place("alice-header")
    headers = {header: "mallory", other.pop(): "alice-header"}
    reply = httpx.get(f"{app.host.base_url}/wardrobe/drafts/{draft.id}", headers=headers)
    assert reply.status_code == 404
