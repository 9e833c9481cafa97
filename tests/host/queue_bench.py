"""A queue on the emulator, its processor, and a function that does what the test says."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import QueueMessage
from azure.storage.queue.aio import QueueClient

from devhost.azurite import Azurite
from devhost.bindingdata import Message
from devhost.connections import StorageConnection
from devhost.console import Console
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

    async def comes_back(self) -> str:
        """The next message that is visible, once there is one."""
        while (message := await self.queue.receive_message(visibility_timeout=600)) is None:
            await asyncio.sleep(0.02)
        return str(message.content)

    async def untouched(self) -> int:
        """How many messages nobody has received."""
        return len(await self.queue.peek_messages(32))

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


class CountedBackoff(Backoff):
    """Knows how many polls were empty: each is followed by a wait."""

    empty = 0

    def next_delay(self, *, found: bool) -> timedelta:
        self.empty += 1
        return super().next_delay(found=found)


@dataclass(kw_only=True)
class StandingClock:
    """A sleep that lasts until the test says so, however long it was meant to be."""

    slept: list[float] = field(default_factory=list)
    _over: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self._over.acquire()

    def strike(self) -> None:
        """One sleep is over."""
        self._over.release()


async def succeed(_message: Message) -> None:
    """A function without fault."""


async def fail(_message: Message) -> None:
    """A function that raises."""
    raise FunctionFailedError("no")


def on_fresh_queue(azurite: Azurite) -> Callable[..., None]:
    """Runs a coroutine with a bench: `on_fresh_queue(azurite)(body, function, options=…)`."""

    def run(body: Body, function: Function = succeed, **changes: Any) -> None:
        async def on_loop() -> None:
            async with (
                fresh_bench(azurite, function, **changes) as bench,
                asyncio.timeout(DEADLINE * 2),
            ):
                await body(bench)

        asyncio.run(on_loop())

    return run


@asynccontextmanager
async def fresh_bench(
    azurite: Azurite, function: Function, *, name: str = "", **changes: Any
) -> AsyncIterator[Bench]:
    account = StorageConnection(connection_string=azurite.connection_string)
    name = name or f"jobs-{uuid.uuid4().hex}"
    sleep = changes.pop("sleep", asyncio.sleep)
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
            sleep=sleep,
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
