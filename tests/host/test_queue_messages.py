"""The life of one queue message, on real queues and without a worker."""

import asyncio
import base64
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import QueueMessage
from azure.storage.queue.aio import QueueClient

from devhost.azurite import Azurite
from devhost.bindingdata import Message
from devhost.connections import StorageConnection
from devhost.console import Console
from devhost.errors import HostError
from devhost.hostjson import QueueOptions
from devhost.queue_messages import QueueProcessor, Watchers, poison_name
from devhost.queues import Backoff, QueueListener
from devhost.worker_process import FunctionFailedError

OPTIONS = QueueOptions(
    batch_size=4,
    new_batch_threshold=0,
    max_polling_interval=timedelta(seconds=1),
    max_dequeue_count=3,
    visibility_timeout=timedelta(0),
    base64=False,
)
DEADLINE = 20.0


@dataclass(kw_only=True)
class Bench:
    """A queue with its poison queue, and a function that does what the test says."""

    processor: QueueProcessor
    seen: list[Message] = field(default_factory=list)

    @property
    def queue(self) -> QueueClient:
        """The queue of the trigger."""
        return self.processor.queue

    @property
    def poison(self) -> QueueClient:
        """Where lost messages go."""
        assert self.processor.poison is not None
        return self.processor.poison

    async def receive(self) -> QueueMessage:
        """As the listener would."""
        message = await self.queue.receive_message(visibility_timeout=600)
        assert message is not None
        return message

    async def run_once(self) -> None:
        """One receive and what follows from it."""
        await self.processor.process(await self.receive())

    async def poisoned(self) -> list[str]:
        """What lies on the poison queue; nothing where there is none."""
        try:
            return [message.content for message in await self.poison.peek_messages(32)]
        except ResourceNotFoundError:
            return []

    async def count(self) -> int:
        """How many messages the queue has, seen or unseen."""
        return (await self.queue.get_queue_properties()).approximate_message_count or 0


Body = Callable[[Bench], Coroutine[Any, Any, None]]
Function = Callable[[Message], Awaitable[object]]


async def succeed(_message: Message) -> None:
    """A function without fault."""


async def fail(_message: Message) -> None:
    """A function that raises."""
    raise FunctionFailedError("no")


@pytest.fixture
def on_bench(azurite: Azurite) -> Callable[..., None]:
    """Runs a coroutine with a fresh queue: `on_bench(body, function, options=…)`."""

    def run(body: Body, function: Function = succeed, **changes: Any) -> None:
        async def on_loop() -> None:
            async with _bench(azurite, function, **changes) as bench, asyncio.timeout(DEADLINE * 2):
                await body(bench)

        asyncio.run(on_loop())

    return run


@asynccontextmanager
async def _bench(
    azurite: Azurite, function: Function, *, name: str = "", **changes: Any
) -> AsyncIterator[Bench]:
    account = StorageConnection(connection_string=azurite.connection_string)
    name = name or f"jobs-{uuid.uuid4().hex}"
    lease = changes.pop("lease", timedelta(minutes=10))
    poison = poison_name(name)
    async with AsyncExitStack() as stack:
        queue = await stack.enter_async_context(account.queue(name))
        await queue.create_queue()
        stack.push_async_callback(queue.delete_queue)
        seen: list[Message] = []

        async def invoke(message: Message) -> None:
            seen.append(message)
            await function(message)

        processor = QueueProcessor(
            queue=queue,
            poison=await stack.enter_async_context(account.queue(poison)) if poison else None,
            options=replace(OPTIONS, **changes),
            invoke=invoke,
            watchers=Watchers(),
            console=Console(),
            lease=lease,
        )
        yield Bench(processor=processor, seen=seen)


@asynccontextmanager
async def listening(bench: Bench, backoff: Backoff | None = None) -> AsyncIterator[QueueListener]:
    """The queue is polled inside the block."""
    listener = QueueListener(bench.processor, backoff)
    poll = asyncio.create_task(listener.run())
    try:
        yield listener
    finally:
        poll.cancel()
        await asyncio.wait({poll})
        await listener.drain(0.1)


async def until(condition: Callable[[], bool]) -> None:
    """Polls until the condition holds."""
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await asyncio.sleep(0.02)


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

    async def long(_message: Message) -> None:
        await asyncio.sleep(5)

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("hello")
        message = await bench.queue.receive_message(visibility_timeout=2)
        assert message is not None
        work = asyncio.create_task(bench.processor.process(message))
        while not work.done():
            assert await bench.queue.receive_message() is None
            await asyncio.sleep(0.1)
        assert await bench.count() == 0

    on_bench(body, long, lease=timedelta(seconds=2))


def test_message_lost_during_its_run_is_not_renewed_any_more(
    on_bench: Callable[..., None],
) -> None:
    """The renewal ends without a word; the run goes on."""
    ended = asyncio.Event()

    async def long(_message: Message) -> None:
        await asyncio.sleep(3)
        ended.set()

    async def body(bench: Bench) -> None:
        await bench.queue.send_message("hello")
        message = await bench.receive()
        work = asyncio.create_task(bench.processor.process(message))
        await bench.queue.delete_message(message.id, message.pop_receipt)
        await work
        assert ended.is_set()

    on_bench(body, long, lease=timedelta(seconds=2))


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


def test_listener_does_not_create_its_queue(on_bench: Callable[..., None]) -> None:
    """A missing queue is just empty, and is found when it comes."""

    async def body(bench: Bench) -> None:
        await bench.queue.delete_queue()
        async with listening(bench):
            await asyncio.sleep(0.5)  # time in which it would be created
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
    gate, running, most = asyncio.Event(), 0, 0

    async def blocked(_message: Message) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await gate.wait()
        running -= 1

    async def body(bench: Bench) -> None:
        for _ in range(9):
            await bench.queue.send_message("hello")
        async with listening(bench):
            await until(lambda: running == 4)
            await asyncio.sleep(0.5)  # time in which too many would start
            gate.set()
            await until(lambda: len(bench.seen) == 9)
        assert most == 4

    on_bench(body, blocked, batch_size=2, new_batch_threshold=2)


def test_listener_of_one_at_a_time_never_overlaps(on_bench: Callable[..., None]) -> None:
    """Batch size 1 and threshold 0."""
    running, most = 0, 0

    async def work(_message: Message) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1

    async def body(bench: Bench) -> None:
        for _ in range(5):
            await bench.queue.send_message("hello")
        async with listening(bench):
            await until(lambda: len(bench.seen) == 5 and running == 0)
        assert most == 1

    on_bench(body, work, batch_size=1)


def test_listener_after_messages_polls_again_without_a_wait(on_bench: Callable[..., None]) -> None:
    """Only an empty poll is followed by a wait."""

    async def body(bench: Bench) -> None:
        for _ in range(30):
            await bench.queue.send_message("hello")
        loop = asyncio.get_running_loop()
        async with listening(bench):
            started = loop.time()
            await until(lambda: len(bench.seen) == 30)
            assert loop.time() - started < 5

    on_bench(body, batch_size=1, max_polling_interval=timedelta(seconds=60))


def test_listener_hears_of_a_poison_copy_at_once(
    azurite: Azurite, on_bench: Callable[..., None]
) -> None:
    """What this host puts on a queue cuts the wait of its poll short; what others put does not."""
    minute = timedelta(minutes=1)

    async def body(bench: Bench) -> None:
        await bench.poison.create_queue()
        await bench.poison.send_message("first")
        async with (
            _poison_bench(azurite, bench, bench.poison.queue_name) as mourner,
            listening(mourner, Backoff(minute, minute)),
        ):
            await until(lambda: len(mourner.seen) == 1)
            await asyncio.sleep(0.5)  # time for the empty poll, after which it waits a minute
            await bench.queue.send_message("second")
            await bench.run_once()
            await until(lambda: len(mourner.seen) == 2)
            await asyncio.sleep(0.5)  # as before
            await bench.poison.send_message("from elsewhere")
            await asyncio.sleep(0.5)  # time in which it would be heard of
            assert len(mourner.seen) == 2

    on_bench(body, fail, max_dequeue_count=1)


@asynccontextmanager
async def _poison_bench(azurite: Azurite, bench: Bench, name: str) -> AsyncIterator[Bench]:
    account = StorageConnection(connection_string=azurite.connection_string)
    seen: list[Message] = []

    async def invoke(message: Message) -> None:
        seen.append(message)

    async with account.queue(name) as queue:
        yield Bench(
            processor=replace(bench.processor, queue=queue, poison=None, invoke=invoke), seen=seen
        )


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
