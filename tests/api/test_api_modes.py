"""What settings change: nobody known, a back end's key, photos finished inline, rates, events."""

import json
import threading
import time
from http.server import ThreadingHTTPServer

import httpx
import pytest

from devhost.azurite import Azurite
from tests.api.service import PHOTOS, running, upload
from tests.unit.api.test_webhooks import example


@pytest.fixture(scope="module")
def unset(azurite):
    with running(azurite, AUTH_MODE="") as app:
        yield app


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "wardrobe/drafts"), ("POST", "wardrobe/drafts"), ("POST", "v1/wardrobe/images")],
)
def test_mode_that_is_not_set_lets_nobody_in(unset, method, path):
    """401 whatever the request says."""
    headers = {"X-Owner-Id": "me", "X-MS-CLIENT-PRINCIPAL-ID": "me"}
    reply = httpx.request(method, f"{unset.host.base_url}/{path}", headers=headers)
    assert (reply.status_code, reply.json()["code"]) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize(
    "path", ["health/live", "health/ready", "openapi.json", "docs", "docs/docs.js", "app"]
)
def test_mode_that_is_not_set_leaves_the_open_routes_open(unset, path):
    """Health, description and pages ask for nobody."""
    assert httpx.get(f"{unset.host.base_url}/{path}").status_code == 200


def test_settings_that_are_wrong_are_named_to_operators_alone(azurite):
    """503 for callers without a word of settings; `health/ready` names each."""
    with running(azurite, LEASE_SECONDS="5", METADATA_PROVIDER="oracle") as app:
        caller = httpx.get(f"{app.host.base_url}/wardrobe/drafts")
        ready = httpx.get(f"{app.host.base_url}/health/ready")
    assert (caller.status_code, caller.json()["code"]) == (503, "SETTINGS_INVALID")
    assert "LEASE" not in caller.text
    assert ready.status_code == 503
    assert [fault.split(":")[0] for fault in ready.json()["settings"]] == [
        "METADATA_PROVIDER",
        "LEASE_SECONDS",
    ]


def test_key_mode_has_no_page_and_asks_for_an_owner(azurite):
    """The page could sign nobody in; a trusted back end names the owner."""
    with running(azurite, AUTH_MODE="key") as app:
        base = app.host.base_url
        assert httpx.get(f"{base}/app").status_code == 404
        assert httpx.get(f"{base}/app/app.js").status_code == 404
        described = httpx.get(f"{base}/openapi.json").json()
        named = httpx.get(f"{base}/wardrobe/drafts", headers={"X-Owner-Id": "me"})
        assert named.status_code == 200
    listing = described["paths"]["/wardrobe/drafts"]["get"]
    assert listing["security"] == [{"functionKey": []}]
    assert {p["name"]: p["required"] for p in listing["parameters"]}["X-Owner-Id"] is True


@pytest.fixture(scope="module")
def inline(azurite):
    env = {"IMAGE_ASYNC_ENABLED": "false", "UPLOADS_PER_MINUTE": "3"}
    with running(azurite, **env) as app:
        yield app


def test_inline_mode_answers_with_finished_photos(inline):
    """The same 202, its items already Ready; the net finds nothing left to do."""
    with inline.client("inline") as client:
        reply = upload(client, PHOTOS[0], PHOTOS[1])
        drafts = reply.json()["drafts"]
        assert (reply.status_code, [d["status"] for d in drafts]) == (202, ["Ready", "Ready"])
        assert [d["attempts"] for d in drafts] == [1, 1]


def test_uploads_over_the_rate_are_refused(inline):
    """The fourth within a minute: 429, and the time to wait is what is left of it."""
    with inline.client("hasty") as client:
        headers = {"Content-Type": "image/jpeg"}
        began = time.monotonic()
        statuses = [
            client.post("/wardrobe/drafts", content=b"x", headers=headers).status_code
            for _ in range(3)
        ]
        refused = client.post("/wardrobe/drafts", content=b"x", headers=headers)
        passed = time.monotonic() - began
    assert statuses == [415] * 3
    assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMITED")
    assert 60 - passed <= int(refused.headers["retry-after"]) <= 60


@pytest.fixture
def subscriber():
    """The receiver of the docs on a free port, and the events that it took."""
    taken: list[dict] = []
    handler = example("webhook_receiver").receiver("whsec", taken.append)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", taken
    server.shutdown()
    server.server_close()
    thread.join()


def test_events_leave_by_webhook_and_queue(subscriber):
    """A finished photo is told, signed, to the receiver of the docs, and put into the queue."""
    url, taken = subscriber
    env = {
        "EVENTS_WEBHOOK_URL": url,
        "EVENTS_WEBHOOK_SECRET": "whsec",
        "EVENTS_QUEUE_ENABLED": "true",
    }
    with Azurite.start() as own, running(own, **env) as app, app.client("told") as client:
        draft = app.ready(client)
        client.post(f"/wardrobe/drafts/{draft['id']}/accept")
        app.host.wait_until(lambda: len(taken) == 2)
        queued = [json.loads(message.body) for message in app.deps.events.peek()]
    assert {event["type"].rpartition(".")[2] for event in taken} == {"ready", "accepted"}
    assert {event["subject"] for event in taken} == {draft["id"]}
    assert {event["id"] for event in queued} == {event["id"] for event in taken}
