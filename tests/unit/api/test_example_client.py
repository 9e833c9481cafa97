"""The client of the docs on its bad days: what it sends again, and when it gives up."""

from collections.abc import Callable, Iterable
from itertools import repeat
from types import SimpleNamespace

import httpx
import pytest

from tests.unit.api.test_webhooks import example

ACCEPTED = {"drafts": [{"id": "1", "status": "Processing"}]}
HELD = httpx.Response(
    409, json={"code": "IDEMPOTENCY_KEY_IN_FLIGHT", "retryable": True}, headers={"Retry-After": "2"}
)


class Clock:
    """Time that passes only while somebody sleeps."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def room(clock: Clock) -> Callable[[Iterable[httpx.Response]], SimpleNamespace]:
    """A client whose service gives these answers, and the keys that it sent."""

    def open_room(answers: Iterable[httpx.Response]) -> SimpleNamespace:
        keys: list[str] = []
        coming = iter(answers)

        def answer(request: httpx.Request) -> httpx.Response:
            keys.append(request.headers["Idempotency-Key"])
            return next(coming)

        module = example("client")
        module.time = clock
        client = module.FittingRoom("http://h/api")
        client._http = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://h/api")
        return SimpleNamespace(upload=client.upload, keys=keys)

    return open_room


@pytest.mark.parametrize(
    "lost",
    [
        httpx.Response(500),
        httpx.Response(503, text="Function host is not running."),
        httpx.Response(429, headers={"X-FUNCTION-SCALEOUT": "1"}),
    ],
    ids=lambda answer: str(answer.status_code),
)
def test_client_sends_again_what_the_host_refuses(room, lost):
    """A lost worker, a host that starts or has too much to do: the same key, one answer."""
    sent = room([lost, httpx.Response(202, json=ACCEPTED)])
    assert sent.upload() == ACCEPTED["drafts"]
    assert (len(sent.keys), len(set(sent.keys))) == (2, 1)


def test_client_gives_up_a_host_that_stays_away(room):
    """After five tries, with the answer that it got."""
    sent = room(repeat(httpx.Response(500)))
    with pytest.raises(httpx.HTTPStatusError):
        sent.upload()
    assert len(sent.keys) == 5


def test_client_waits_for_a_key_that_a_lost_request_holds(room, clock):
    """The key is held for two minutes: these answers use up no tries."""
    sent = room([httpx.Response(500), *[HELD] * 60, httpx.Response(202, json=ACCEPTED)])
    assert sent.upload() == ACCEPTED["drafts"]
    assert clock.now == 2 + 60 * 2
    assert len(set(sent.keys)) == 1


def test_client_does_not_wait_for_a_key_for_ever(room):
    """Once it must be free again, the tries count."""
    sent = room(repeat(HELD))
    with pytest.raises(httpx.HTTPStatusError):
        sent.upload()
