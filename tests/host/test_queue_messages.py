"""The life of one queue message, on real queues and without a worker."""

import asyncio
import base64
import uuid
from collections.abc import Callable
from datetime import timedelta

import pytest
from azure.core.exceptions import ResourceNotFoundError

from devhost.azurite import Azurite
from devhost.bindingdata import Message
from devhost.queue_messages import poison_name
from tests.host.queue_bench import Bench, StandingClock, fail, on_fresh_queue, until


@pytest.fixture
def on_bench(azurite: Azurite) -> Callable[..., None]:
    """Runs a coroutine with a fresh queue: `on_bench(body, function, options=…)`."""
    return on_fresh_queue(azurite)


def test_message_after_success_is_deleted(on_bench: Callable[..., None]) -> None:
    """Nothing of it is left, and no poison queue is made."""

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("hello")
        await bench.run_once()
        assert [message.body for message in bench.seen] == [b"hello"]
        assert await bench.count() == 0
        with pytest.raises(ResourceNotFoundError):
            await bench.poison.get_queue_properties()

    on_bench(body)


def test_message_after_failure_is_visible_at_once_with_a_higher_count(
    on_bench: Callable[..., None],
) -> None:
    """By default there is no wait between the tries, and the body is unharmed."""

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("hello")
        await bench.run_once()
        again = await bench.receive()
        assert (again.dequeue_count, again.content) == (2, "hello")

    on_bench(body, fail)


def test_message_after_failure_waits_for_the_visibility_timeout(
    on_bench: Callable[..., None],
) -> None:
    """The option is the wait, not the lease."""

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("hello")
        await bench.run_once()
        assert await bench.queue.receive_message() is None
        assert await bench.count() == 1

    on_bench(body, fail, visibility_timeout=timedelta(seconds=60))


def test_message_at_the_last_try_is_moved_to_the_poison_queue(
    on_bench: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """The poison queue is made when it is needed; the copy is a fresh message."""

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("hello")
        for _ in range(3):
            await bench.run_once()
        assert len(bench.seen) == 3
        assert await bench.count() == 0
        copy = await bench.poison.receive_message()
        assert copy is not None
        assert (copy.content, copy.dequeue_count) == ("hello", 1)
        assert copy.id != bench.seen[0].id
        assert copy.expires_on is not None
        assert copy.inserted_on is not None
        assert copy.expires_on - copy.inserted_on == timedelta(days=7)
        moved = f"MaxDequeueCount of 3. Moving message to queue '{bench.poison.queue_name}'."
        assert f"Message has reached {moved}" in capsys.readouterr().out

    on_bench(body, fail)


def test_message_dequeued_too_often_is_moved_without_a_run(on_bench: Callable[..., None]) -> None:
    """Crashes may have used the tries up."""

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("hello")
        for _ in range(3):
            message = await bench.receive()
            await bench.queue.update_message(message.id, message.pop_receipt, visibility_timeout=0)
        await bench.run_once()
        assert bench.seen == []
        assert await bench.poisoned() == ["hello"]
        assert await bench.count() == 0

    on_bench(body)


def test_message_of_a_poison_queue_stays_leased_after_failure(
    on_bench: Callable[..., None],
) -> None:
    """It has no poison queue of its own: nothing is done, whatever its count."""

    async def body(bench: Bench) -> None:
        assert bench.processor.poison is None
        await bench.queue.send_message("hello")
        for _ in range(4):
            message = await bench.receive()
            await bench.processor.process(message)
            assert await bench.queue.receive_message() is None
            await bench.queue.update_message(message.id, message.pop_receipt, visibility_timeout=0)
        assert len(bench.seen) == 4

    on_bench(body, fail, name=f"jobs-{uuid.uuid4().hex[:8]}-poison")


def test_message_taken_by_another_meanwhile_is_left_to_it(on_bench: Callable[..., None]) -> None:
    """A success that comes too late deletes nothing and is no error."""

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("hello")
        message = await bench.receive()
        await bench.queue.update_message(message.id, message.pop_receipt, visibility_timeout=600)
        await bench.processor.process(message)
        assert await bench.count() == 1

    on_bench(body)


def test_message_released_by_another_meanwhile_is_left_to_it(
    on_bench: Callable[..., None],
) -> None:
    """A failure that comes too late is swallowed too."""

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("hello")
        message = await bench.receive()
        await bench.queue.delete_message(message.id, message.pop_receipt)
        await bench.processor.process(message)
        assert await bench.count() == 0

    on_bench(body, fail)


def test_message_is_held_while_its_function_runs(on_bench: Callable[..., None]) -> None:
    """Half-way through the lease it is taken anew, and the last receipt deletes the message."""
    clock, gate = StandingClock(), asyncio.Event()

    async def long(_message: Message) -> None:
        await gate.wait()

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("held")
        message = await bench.queue.receive_message(visibility_timeout=1)
        assert message is not None
        work = asyncio.create_task(bench.processor.process(message))
        clock.strike()
        await until(lambda: clock.slept == [300, 300])
        await bench.queue.send_message("not held")  # its second ends after that of the other
        await bench.queue.receive_message(visibility_timeout=1)
        assert await bench.comes_back() == "not held"
        gate.set()
        await work
        assert await bench.count() == 1

    on_bench(body, long, sleep=clock.sleep)


def test_message_lost_during_its_run_is_not_renewed_any_more(
    on_bench: Callable[..., None],
) -> None:
    """The renewal ends without a word; the run goes on."""
    clock, gate = StandingClock(), asyncio.Event()

    async def long(_message: Message) -> None:
        await gate.wait()

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("hello")
        message = await bench.receive()
        others = asyncio.all_tasks()
        work = asyncio.create_task(bench.processor.process(message))
        await until(lambda: clock.slept == [300])
        await bench.queue.delete_message(message.id, message.pop_receipt)
        clock.strike()
        await until(lambda: asyncio.all_tasks() - others == {work})  # the renewal has ended
        gate.set()
        await work

    on_bench(body, long, sleep=clock.sleep)


def test_message_under_base64_is_decoded_and_poisoned_encoded(
    on_bench: Callable[..., None],
) -> None:
    """The poison queue is written the way the queue is read."""
    text = base64.b64encode("grüße".encode()).decode()

    async def body(bench: Bench) -> None:
        await bench.queue.send_message(text)
        for _ in range(3):
            await bench.run_once()
        assert {message.body for message in bench.seen} == {"grüße".encode()}
        assert await bench.poisoned() == [text]

    on_bench(body, fail, base64=True)


def test_message_that_is_no_base64_is_moved_raw_at_its_first_receive(
    on_bench: Callable[..., None],
) -> None:
    """Without a run and without a retry."""

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("not base64!")
        await bench.run_once()
        assert bench.seen == []
        assert await bench.poisoned() == ["not base64!"]
        assert await bench.count() == 0

    on_bench(body, base64=True)


def test_message_that_is_no_base64_without_poison_queue_stays(
    on_bench: Callable[..., None],
) -> None:
    """Nothing happens to it."""

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("not base64!")
        await bench.run_once()
        assert bench.seen == []
        assert await bench.count() == 1

    on_bench(body, base64=True, name=f"jobs-{uuid.uuid4().hex[:8]}-poison")


@pytest.mark.parametrize(
    ("queue", "poison"),
    [
        ("jobs", "jobs-poison"),
        ("jobs-poison", None),
        ("x" * 57, None),
        ("x" * 56, "x" * 56 + "-poison"),
    ],
)
def test_poison_queue_name_follows_the_queue(queue: str, poison: str | None) -> None:
    """None for a poison queue itself, and none where the name would be too long."""
    assert poison_name(queue) == poison
