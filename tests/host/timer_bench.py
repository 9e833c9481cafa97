"""A timer whose clock moves when it sleeps, with its status on the emulator."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from azure.storage.blob.aio import ContainerClient

from devhost.azurite import Azurite
from devhost.connections import StorageConnection
from devhost.console import Console
from devhost.functions import Function
from devhost.invoker import Call
from devhost.schedule import parse_schedule
from devhost.timer_status import StatusStore
from devhost.timers import TimerListener
from devhost.worker_process import FunctionFailedError

NOW = datetime(2026, 8, 1, 10, 2, tzinfo=UTC)
EVERY_FIVE = "0 */5 * * * *"
MINUTE = timedelta(minutes=1)
SCHEDULE = parse_schedule(EVERY_FIVE, UTC)


def at(minute: int, second: int = 0) -> datetime:
    """That minute of the hour of NOW."""
    return NOW.replace(minute=minute, second=second)


@dataclass(kw_only=True)
class Bench:
    """A timer with a clock of its own: sleeping moves the clock."""

    container: ContainerClient
    now: datetime = NOW
    calls: list[tuple[datetime, Call]] = field(default_factory=list)
    run_takes: timedelta = timedelta(0)
    fails: bool = False
    fail_first: int = 0  # so many runs
    gate: asyncio.Event | None = None  # a run ends when it is open

    @property
    def store(self) -> StatusStore:
        """The status blobs."""
        return StatusStore(self.container, "host-1")

    def listener(self, *, retry: dict[str, Any] | None = None, **trigger: Any) -> TimerListener:
        """A timer with these properties."""
        function = Function(
            name="tick",
            function_id="id",
            trigger={"type": "timerTrigger", "name": "t", "schedule": EVERY_FIVE, **trigger},
            bindings=(),
            disabled=False,
            retry=retry,
        )
        return TimerListener(
            function,
            store=self.store,
            invoke=self.invoke,
            console=Console(),
            clock=lambda: self.now,
            sleep=self.sleep,
        )

    async def sleep(self, seconds: float) -> None:
        """Without waiting."""
        self.now += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    async def invoke(self, call: Call) -> None:
        """A run of the function."""
        self.calls.append((self.now, call))
        self.now += self.run_takes
        if self.gate is not None:
            await self.gate.wait()
        if self.fails or len(self.calls) <= self.fail_first:
            raise FunctionFailedError("no")

    async def run(self, listener: TimerListener, count: int) -> list[dict[str, Any]]:
        """Let the timer run until so many calls are over; what the function was given."""
        poll = asyncio.create_task(listener.run())
        async with asyncio.timeout(20):
            while len(self.calls) < count and not poll.done():
                await asyncio.sleep(0)
            await listener.drain(10)
        poll.cancel()
        await asyncio.wait({poll})
        return [json.loads(call.data[1]) for _, call in self.calls[:count]]

    @property
    def times(self) -> list[datetime]:
        """When the runs began."""
        return [time for time, _ in self.calls]


def on_fresh_container(azurite: Azurite) -> Callable[..., None]:
    """Runs a coroutine with a bench: `on_fresh_container(azurite)(body, fails=True)`."""

    def run(body: Callable[[Bench], Coroutine[Any, Any, None]], **changes: Any) -> None:
        async def on_loop() -> None:
            async with _container(azurite) as container:
                await body(Bench(container=container, **changes))

        asyncio.run(on_loop())

    return run


@asynccontextmanager
async def _container(azurite: Azurite) -> AsyncIterator[ContainerClient]:
    account = StorageConnection(connection_string=azurite.connection_string)
    async with account.container(f"hosts-{uuid.uuid4().hex}") as container:
        yield container
