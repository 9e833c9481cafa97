"""Events to the subscriber: signed, delivered at least once, given up by the host alone."""

import importlib.util
import json
import threading
import traceback
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from shared.domain.events import Event, EventType
from shared.outbox import cloud_event
from shared.settings import Settings
from shared.webhooks import SIGNATURE, TIMESTAMP, WebhookError, deliver, give_up, signature
from tests.factories import make_world
from tests.fakes import NOW
from tests.unit.api.calling import Caller, make_ready
from tests.unit.api.failing import at

ROOT = Path(__file__).resolve().parents[3]
SECRET = "hush"
EVENT = b'{"specversion":"1.0","id":"x/1","type":"fitting-room.draft.ready","data":{}}'


def example(name):
    """A file of docs/examples as a module: what the docs show is what is tested."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def subscribed(url):
    return make_world(
        settings=Settings(auth_mode="local", events_webhook_url=url, events_webhook_secret=SECRET)
    )


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A client that hangs up is part of the tests."""


@pytest.fixture
def serve():
    """Starts a handler on a free port and gives its address."""
    servers = []

    def start(handler):
        server = QuietServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}/events"

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()


class Answering(BaseHTTPRequestHandler):
    status = 500

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.send_header("Location", "http://127.0.0.1:9/")
        self.end_headers()

    def log_message(self, *args):
        pass


def answering(status):
    return type("Answering", (Answering,), {"status": status})


def now_of(world):
    """The receiver's clock is the real one, so the sender's has to be too."""
    return replace(world.deps, clock=lambda: datetime.now(UTC))


def test_event_reaches_the_receiver_of_the_docs(serve):
    """What the worker sends is what the example takes."""
    taken = []
    world = subscribed(serve(example("webhook_receiver").receiver(SECRET, taken.append)))
    draft = world.add(make_ready())
    Caller(world).ask("accept_draft", draft)
    [(text, _)] = world.deps.webhooks.sent
    deliver(text.encode(), dequeue_count=1, deps=now_of(world))
    deliver(text.encode(), dequeue_count=2, deps=now_of(world))
    [event] = taken
    assert event["specversion"] == "1.0"
    assert event["id"] == f"{draft.id}/2"
    assert event["type"] == "fitting-room.draft.accepted"
    assert event["data"] == {
        "draftId": draft.id,
        "ownerId": "owner-1",
        "status": "Accepted",
        "generation": 1,
        "code": None,
    }


@pytest.mark.parametrize("secret", ["other", ""])
def test_event_signed_with_another_secret_is_refused(serve, secret):
    """A receiver that knows another secret answers 401, and the event stays in the queue."""
    world = subscribed(serve(example("webhook_receiver").receiver(secret, print)))
    with pytest.raises(WebhookError, match="401"):
        deliver(EVENT, dequeue_count=1, deps=now_of(world))


def test_event_signed_long_ago_is_refused(serve):
    """A replayed request is recognised by its time."""
    world = subscribed(serve(example("webhook_receiver").receiver(SECRET, print)))
    with pytest.raises(WebhookError, match="401"):
        deliver(EVENT, dequeue_count=1, deps=world.deps)


@pytest.mark.parametrize("stamp", ["", "\u00b2", "\u0663", "-1", "1.5", "9" * 5000])
def test_receiver_refuses_what_is_no_time_stamp(stamp):
    """Anybody may send it: no exception comes of it."""
    signed = signature(SECRET, stamp, b"body")
    assert not example("webhook_receiver").verified(SECRET, stamp, signed, b"body", 0)


def test_signature_covers_time_and_body():
    """Neither can be exchanged."""
    signed = signature(SECRET, "1", b"body")
    assert signed.startswith("v1=")
    assert len({signed, signature(SECRET, "2", b"body"), signature(SECRET, "1", b"bodY"),
                signature("hush2", "1", b"body")}) == 4  # fmt: skip


def test_signature_is_the_documented_one():
    """The example of docs/events.md."""
    text = (ROOT / "docs" / "events.md").read_text()
    assert signature("whsec_test", "1785585600", b'{"specversion":"1.0"}') in text


@pytest.mark.parametrize("status", [200, 202, 204, 299])
def test_event_that_is_taken_is_done(serve, status):
    """Any 2xx."""
    deliver(EVENT, dequeue_count=1, deps=subscribed(serve(answering(status))).deps)


@pytest.mark.parametrize("status", [301, 307, 400, 404, 410, 429, 500, 503])
def test_event_that_is_not_taken_comes_back(serve, status):
    """Anything else raises, so that the queue delivers again; redirects are not followed."""
    world = subscribed(serve(answering(status)))
    with pytest.raises(WebhookError, match=str(status)):
        deliver(EVENT, dequeue_count=1, deps=world.deps)


def test_event_whose_receiver_never_stops_talking_is_done(serve):
    """Only the status counts: the answer's body is not waited for."""
    patience, talked_out = threading.Event(), threading.Event()

    class Talking(Answering):
        def do_POST(self):
            self.status = 200
            super().do_POST()
            for _ in range(400):
                self.wfile.write(b"and ")
                patience.wait(0.02)
            talked_out.set()

    world = subscribed(serve(Talking))
    deliver(EVENT, dequeue_count=1, deps=world.deps)
    assert not talked_out.is_set()


def test_event_that_meets_no_server_comes_back():
    """No answer at all is no delivery; what the address holds in secret is not told."""
    world = subscribed("http://127.0.0.1:9/nobody?sig=signed")
    with pytest.raises(WebhookError, match="cannot be reached") as caught:
        deliver(EVENT, dequeue_count=1, deps=world.deps)
    assert "signed" not in "".join(traceback.format_exception(caught.value))


def test_event_is_sent_with_its_headers():
    """Content type, time stamp and signature."""
    sent = []

    def post(url, body, headers):
        sent.append((url, body, headers))
        return 200

    world = subscribed("https://example.org/hook")
    deliver(EVENT, dequeue_count=1, deps=world.deps, post=post)
    [(url, body, headers)] = sent
    stamp = str(int(world.clock().timestamp()))
    assert (url, body) == ("https://example.org/hook", EVENT)
    assert headers == {
        "Content-Type": "application/cloudevents+json",
        TIMESTAMP: stamp,
        SIGNATURE: signature(SECRET, stamp, EVENT),
    }


def test_event_without_an_address_is_dropped(world):
    """The setting was removed: nobody waits for it, and it does not circle for ever."""
    deliver(EVENT, dequeue_count=1, deps=world.deps, post=None)
    assert world.letters.rows == {}


@pytest.mark.parametrize("body", [b"nope", b"[]", b"{}", b'{"specversion":"0.3","id":"x"}'])
def test_event_that_is_none_is_kept_at_once(body):
    """A stranger's message is a dead letter at its first delivery."""
    world = subscribed("http://127.0.0.1:9/nobody")
    deliver(body, dequeue_count=1, deps=world.deps)
    [letter] = world.deps.letters.newest(world.clock())
    assert (letter.code, letter.queue, letter.body) == ("MALFORMED", "draft-webhooks", body)


def test_event_whose_row_is_damaged_fails_nobody(caplog):
    """The draft is changed as asked, and the log says what could not be told."""
    world = subscribed("https://example.org/hook")
    draft = world.add(make_ready())
    for place, row in list(world.drafts.rows.items()):
        if place[1].startswith("e~"):
            values = {name: value for name, value in row.values.items() if name != "seq"}
            world.drafts.put(replace(row, values=values))
    assert Caller(world).ask("accept_draft", draft.id).status == 200
    assert "row_unreadable" in caplog.text


def test_event_that_was_given_up_is_kept_once(world):
    """A dead letter with the event, one however often it is said in that second."""
    give_up(EVENT, dequeue_count=1, deps=world.deps)
    give_up(EVENT, dequeue_count=2, deps=world.deps)
    [letter] = world.deps.letters.newest(world.clock())
    assert (letter.code, letter.body) == ("WEBHOOK_UNDELIVERED", EVENT)


def test_event_of_an_accepted_draft_goes_to_both_queues():
    """To the webhook's queue, and to the one for other readers with a life of seven days."""
    world = make_world(
        settings=Settings(
            auth_mode="local",
            events_webhook_url="https://example.org",
            events_webhook_secret=SECRET,
            events_queue_enabled=True,
        )
    )
    draft = world.add(make_ready())
    Caller(world).ask("accept_draft", draft)
    texts = {queue.sent[0][0] for queue in (world.deps.webhooks, world.deps.events)}
    assert len(texts) == 1
    assert json.loads(texts.pop())["subject"] == draft.id
    world.clock.pass_(days=7)
    assert [len(queue.peek()) for queue in (world.deps.webhooks, world.deps.events)] == [1, 0]


def test_event_is_a_cloud_event_of_the_draft_and_its_number():
    """Every attribute as documented; the id lets a receiver take each event once."""
    draft = make_ready(owner_id="user 42", generation=2)
    event = Event(type=EventType.FAILED, at=NOW, seq=7, generation=2, data={"code": "WORKER_LOST"})
    assert cloud_event(draft, event) == {
        "specversion": "1.0",
        "id": f"{draft.id}/7",
        "source": "/wardrobe/drafts",
        "type": "fitting-room.draft.failed",
        "subject": draft.id,
        "time": "2026-08-01T12:00:00Z",
        "datacontenttype": "application/json",
        "data": {
            "draftId": draft.id,
            "ownerId": "user 42",
            "status": "Failed",
            "generation": 2,
            "code": "WORKER_LOST",
        },
    }


def test_event_that_cannot_be_told_never_fails_what_it_tells_of():
    """The queue is away: the acceptance stands, and the repair finds the event unsent."""
    world = subscribed("https://example.org")
    draft = world.add(make_ready())
    world.faults.before = at("webhooks.send")
    reply = Caller(world).ask("accept_draft", draft)
    assert (reply.status, reply.json["status"]) == (200, "Accepted")
    assert world.row(draft).due_at == NOW + timedelta(minutes=3)
    assert world.row(draft).unsent_since is not None
