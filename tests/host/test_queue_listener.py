"""The listener of a queue, on real queues: when it polls, what it runs, how it stops."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from azure.core.exceptions import ResourceNotFoundError

from devhost.azurite import Azurite
from devhost.bindingdata import Message
from devhost.connections import StorageConnection
from devhost.console import Console
from devhost.errors import HostError
from devhost.queue_messages import QueueProcessor, Watchers
from devhost.queues import QueueListener
from tests.host.queue_bench import (
    DEADLINE,
    OPTIONS,
    Bench,
    CountedBackoff,
    fail,
    listening,
    on_fresh_queue,
    succeed,
    until,
)

MINUTE = timedelta(minutes=1)


@pytest.fixture
def on_bench(azurite: Azurite) -> Callable[..., None]:
    """Runs a coroutine with a fresh queue: `on_bench(body, function, options=…)`."""
    return on_fresh_queue(azurite)


def test_listener_does_not_create_its_queue(on_bench: Callable[..., None]) -> None:
    """A missing queue is just empty, and is found when it comes."""
    polls = CountedBackoff(OPTIONS.max_polling_interval)

    async def body(bench: Bench) -> None:
        await bench.queue.delete_queue()
        async with listening(bench, polls):
            await until(lambda: polls.empty >= 2)
            with pytest.raises(ResourceNotFoundError):
                await bench.queue.get_queue_properties()
            await bench.queue.create_queue()
            await bench.queue.send_message("hello")
            await until(lambda: len(bench.seen) == 1)

    on_bench(body)


def test_listener_leases_what_it_receives_for_ten_minutes(on_bench: Callable[..., None]) -> None:
    """Whatever the options say."""

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("hello")
        async with listening(bench):
            await until(lambda: len(bench.seen) == 1)
        message = bench.seen[0]
        assert message.next_visible_on is not None
        assert message.inserted_on is not None
        leased = message.next_visible_on - message.inserted_on
        assert timedelta(minutes=9, seconds=50) < leased < timedelta(minutes=10, seconds=30)

    on_bench(body, visibility_timeout=timedelta(seconds=1))


def test_listener_runs_a_batch_and_the_threshold_at_most(on_bench: Callable[..., None]) -> None:
    """The next batch is asked for when no more than the threshold still run."""
    gates, running, most = asyncio.Semaphore(0), 0, 0

    async def blocked(_message: Message) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await gates.acquire()
        running -= 1

    async def body(bench: Bench) -> None:
        for _ in range(9):
            await bench.queue.send_message("hello")
        async with listening(bench):
            await until(lambda: running == 4)
            gates.release()
            while await bench.count() == 9:
                pass
            assert (await bench.untouched(), len(bench.seen)) == (5, 4)
            for _ in range(8):
                gates.release()
            await until(lambda: len(bench.seen) == 9)
        assert most == 4

    on_bench(body, blocked, batch_size=2, new_batch_threshold=2)


def test_listener_of_one_at_a_time_never_overlaps(on_bench: Callable[..., None]) -> None:
    """Batch size 1 and threshold 0."""
    others: list[int] = []

    async def body(bench: Bench) -> None:
        async def look_around(_message: Message) -> None:
            others.append(await bench.untouched())

        for _ in range(5):
            await bench.queue.send_message("hello")
        one = replace(bench.processor, invoke=look_around)
        async with listening(Bench(processor=one)):
            await until(lambda: len(others) == 5)
        assert others == [4, 3, 2, 1, 0]

    on_bench(body, batch_size=1)


def test_listener_after_messages_polls_again_without_a_wait(on_bench: Callable[..., None]) -> None:
    """Only an empty poll is followed by a wait."""
    polls = CountedBackoff(MINUTE, MINUTE)
    empty: list[int] = []

    async def note(_message: Message) -> None:
        empty.append(polls.empty)

    async def body(bench: Bench) -> None:
        for _ in range(5):
            await bench.queue.send_message("hello")
        async with listening(bench, polls):
            await until(lambda: polls.empty == 1)
        assert empty == [0] * 5

    on_bench(body, note, batch_size=1)


def test_listener_hears_of_a_poison_copy_at_once(on_bench: Callable[..., None]) -> None:
    """What this host puts on a queue cuts the wait of its poll short; what others put does not."""
    slow, usual = CountedBackoff(MINUTE, MINUTE), CountedBackoff(OPTIONS.max_polling_interval)
    heard: list[tuple[bytes, int]] = []  # and after how many empty polls

    async def mourn(message: Message) -> None:
        heard.append((message.body, slow.empty))

    async def body(bench: Bench) -> None:
        await bench.poison.create_queue()
        poison = replace(bench.processor, queue=bench.poison, poison=None, invoke=mourn)
        async with listening(Bench(processor=poison), slow), listening(bench, usual):
            await until(lambda: slow.empty == 1)
            await bench.poison.send_message("from elsewhere")
            polled = usual.empty
            await until(lambda: usual.empty >= polled + 2)  # who waits no minute would have it
            await bench.queue.send_message("from here")
            await until(lambda: len(heard) == 2)
        assert sorted(heard) == [(b"from elsewhere", 1), (b"from here", 1)]

    on_bench(body, fail, max_dequeue_count=1)


def test_listener_that_is_not_allowed_ends_the_host(azurite: Azurite) -> None:
    """What no wait can cure is not tolerated."""
    forged = azurite.connection_string.replace("AccountKey=", "AccountKey=AAAA")

    async def on_loop() -> None:
        account = StorageConnection(connection_string=forged)
        async with account.queue("jobs") as queue:
            processor = QueueProcessor(
                queue=queue,
                poison=None,
                options=OPTIONS,
                invoke=succeed,
                watchers=Watchers(),
                console=Console(),
            )
            with pytest.raises(HostError, match="Host is shutting down"):
                await asyncio.wait_for(QueueListener(processor).run(), DEADLINE)

    asyncio.run(on_loop())


def test_listener_that_stops_waits_for_what_runs(on_bench: Callable[..., None]) -> None:
    """No new message is taken, and the one that runs is completed."""
    gate = asyncio.Event()

    async def blocked(_message: Message) -> None:
        await gate.wait()

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("hello")
        listener = QueueListener(bench.processor)
        poll = asyncio.create_task(listener.run())
        await until(lambda: len(bench.seen) == 1)
        poll.cancel()
        await asyncio.wait({poll})
        drain = asyncio.create_task(listener.drain(DEADLINE))
        gate.set()
        await drain
        assert await bench.count() == 0

    on_bench(body, blocked)


def test_listener_that_stops_leaves_what_takes_too_long_to_its_lease(
    on_bench: Callable[..., None],
) -> None:
    """Neither deleted nor released: it comes back when the lease ends."""

    async def endless(_message: Message) -> None:
        await asyncio.Event().wait()

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("hello")
        async with listening(bench):
            await until(lambda: len(bench.seen) == 1)
        assert await bench.count() == 1
        assert await bench.queue.receive_message() is None

    on_bench(body, endless)
