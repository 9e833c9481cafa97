"""Queue functions on a running host: what reaches them, what becomes of their messages."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import QueueServiceClient

from devhost.azurite import Azurite
from tests.host.running_host import RunningHost

APP = Path(__file__).parent / "apps" / "jobs"
QUEUES = ("tell", "tell-later", "tell-bytes", "failing", "asleep")


@pytest.fixture(scope="module")
def queues(azurite: Azurite) -> Iterator[QueueServiceClient]:
    """The account, with the queues of the app in it."""
    with QueueServiceClient.from_connection_string(azurite.connection_string) as service:
        for name in QUEUES:
            service.create_queue(name)
        yield service
        for name in QUEUES:
            service.delete_queue(name)


@pytest.fixture(scope="module")
def host(
    start_host: Callable[..., Any], azurite: Azurite, queues: QueueServiceClient
) -> Iterator[RunningHost]:
    """One host for all tests of this file."""
    with start_host(APP, storage=azurite.connection_string) as running:
        yield running


class Told:
    """Puts messages on queues and reads what the functions said."""

    def __init__(self, host: RunningHost, queues: QueueServiceClient) -> None:
        self.host, self.queues = host, queues
        self.start = len(host.lines)

    def send(self, queue: str, body: str | bytes) -> None:
        """Encoded as the host expects it."""
        content = body.encode() if isinstance(body, str) else body
        self.send_raw(queue, base64.b64encode(content).decode())

    def send_raw(self, queue: str, text: str) -> None:
        """As it is."""
        with self.queues.get_queue_client(queue) as client:
            client.send_message(text)

    def lines(self, function: str, count: int = 1) -> list[dict[str, Any]]:
        """What the function said since the test began, once it is so much."""

        def said() -> list[dict[str, Any]]:
            texts = [re.sub(r"^\[\S+Z\] ", "", line) for line in self.host.lines[self.start :]]
            facts = [json.loads(text) for text in texts if text.startswith("{")]
            found = [fact for fact in facts if fact["function"] == function]
            return found if len(found) >= count else []

        return self.host.wait_until(said)

    def count(self, queue: str) -> int:
        """How many messages a queue has; -1 where there is no such queue."""
        with self.queues.get_queue_client(queue) as client:
            try:
                return client.get_queue_properties().approximate_message_count or 0
            except ResourceNotFoundError:
                return -1

    def peek(self, queue: str) -> list[str]:
        """What lies on a queue."""
        with self.queues.get_queue_client(queue) as client:
            return [str(message.content) for message in client.peek_messages(32)]


@pytest.fixture
def told(host: RunningHost, queues: QueueServiceClient) -> Told:
    """The means of a test."""
    return Told(host, queues)


def test_function_gets_the_facts_of_its_message(told: Told) -> None:
    """Decoded body, id, first delivery, receipt and times."""
    told.send("tell", "grüße")
    fact = told.lines("tell")[0]
    assert fact["body"].encode("latin-1").decode() == "grüße"
    assert re.fullmatch(r"[0-9a-f-]{36}", fact["id"])
    assert (fact["dequeue"], bool(fact["receipt"])) == (1, True)
    times = {name: datetime.fromisoformat(fact[name]) for name in ("insertion", "expiration")}
    assert times["expiration"] - times["insertion"] == timedelta(days=7)
    visible = datetime.fromisoformat(fact["visible"]) - times["insertion"]
    assert timedelta(minutes=9) < visible < timedelta(minutes=11)


def test_function_that_is_async_gets_its_message(told: Told) -> None:
    """Nothing is different."""
    told.send("tell-later", "hello")
    assert told.lines("tell_later")[0]["body"] == "hello"


def test_function_that_wants_bytes_gets_them(told: Told) -> None:
    """Also such as are no text."""
    told.send("tell-bytes", b"\xff\x00")
    assert told.lines("tell_bytes")[0]["body"] == "\xff\x00"


def test_function_gets_the_words_of_the_body_over_the_facts(told: Told) -> None:
    """A member named like a fact replaces it; the body itself is unharmed."""
    body = json.dumps({"id": "job-7", "dequeueCount": 9})
    told.send("tell", body)
    fact = told.lines("tell")[0]
    assert (fact["id"], fact["dequeue"], fact["body"]) == ("job-7", 9, body)


def test_function_fails_where_the_body_spoils_a_fact(told: Told) -> None:
    """A count that is no number cannot be decoded: the message ends as poison."""
    body = json.dumps({"dequeueCount": "many"})
    told.send("tell", body)
    told.host.wait_until(lambda: told.count("tell-poison") == 1)
    assert base64.b64decode(told.peek("tell-poison")[0]).decode() == body
    told.queues.delete_queue("tell-poison")


def test_function_that_wants_text_fails_for_what_is_none(told: Told) -> None:
    """It is an ordinary failure, with all its tries."""
    told.send("tell", b"\xff\xfe")
    told.host.wait_until(lambda: told.count("tell-poison") == 1)
    assert base64.b64decode(told.peek("tell-poison")[0]) == b"\xff\xfe"
    told.queues.delete_queue("tell-poison")


def test_message_that_is_no_base64_is_poison_without_a_run(told: Told) -> None:
    """Raw, at once."""
    told.send_raw("tell", "plain text!")
    told.host.wait_until(lambda: told.count("tell-poison") == 1)
    assert told.peek("tell-poison") == ["plain text!"]
    assert "plain text!" not in told.host.output
    told.queues.delete_queue("tell-poison")


def test_message_that_always_fails_is_tried_back_to_back_then_mourned(told: Told) -> None:
    """Three deliveries with growing count; then the function of the poison queue has it anew."""
    told.send("failing", "hello")
    mourned = told.lines("mourn")[0]
    failed = told.lines("fail", 3)
    assert [fact["dequeue"] for fact in failed] == [1, 2, 3]
    assert (mourned["body"], mourned["dequeue"]) == ("hello", 1)
    assert mourned["id"] != failed[0]["id"]
    told.host.wait_for_line("Message has reached MaxDequeueCount of 3", after=told.start)
    told.host.wait_until(lambda: told.count("failing") == told.count("failing-poison") == 0)


def test_message_of_a_disabled_function_stays(told: Told) -> None:
    """Nobody listens."""
    told.send("asleep", "hello")
    told.send("tell", "afterwards")
    told.lines("tell")
    assert told.count("asleep") == 1
    assert "Function asleep is disabled." in told.host.lines


def test_run_of_a_message_is_in_the_log(told: Told) -> None:
    """Why, which message, and how it ended."""
    told.send("tell", "hello")
    fact, wait = told.lines("tell")[0], told.host.wait_for_line
    reason = r"Reason='New queue message detected on 'tell'\.'"
    run = wait(rf"Executing 'Functions\.tell' \({reason}, Id=(\S+)\)", after=told.start)[1]
    wait(rf"Trigger Details: MessageId: {fact['id']}, DequeueCount: 1, InsertedOn: \d", after=0)
    wait(rf"Executed 'Functions\.tell' \(Succeeded, Id={run}, Duration=\d+ms\)", after=told.start)


def test_admin_invoke_gives_a_message_that_is_on_no_queue(told: Told) -> None:
    """The input is the body; there is no id, receipt or time."""
    answer = httpx.post(f"{told.host.origin}/admin/functions/TELL", json={"Input": "by hand"})
    assert answer.status_code == 202
    fact = told.lines("tell")[0]
    assert (fact["body"], fact["id"], fact["dequeue"], fact["insertion"]) == (
        "by hand",
        None,
        0,
        None,
    )
    told.host.wait_for_line("programmatically called via the host APIs", after=told.start)


def test_admin_invoke_that_fails_is_not_tried_again(told: Told) -> None:
    """It is only in the log."""
    httpx.post(f"{told.host.origin}/admin/functions/fail", json={"input": "by hand"})
    told.host.wait_for_line(r"Executed 'Functions\.fail' \(Failed", after=told.start)
    told.send("failing", "in order")
    told.lines("mourn")
    bodies = [fact["body"] for fact in told.lines("fail", 4)]
    assert (bodies.count("by hand"), bodies.count("in order")) == (1, 3)


def test_admin_invoke_of_a_disabled_function_runs_it(told: Told) -> None:
    """The switch is for its trigger."""
    httpx.post(f"{told.host.origin}/admin/functions/asleep", json={"input": "wake"})
    assert told.lines("asleep")[0]["body"] == "wake"
