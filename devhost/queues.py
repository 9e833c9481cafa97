"""Queue triggers: a poll for each function, with back-off and a limit to what runs at once."""

import asyncio
import random
from datetime import timedelta

from azure.core.exceptions import (
    AzureError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.storage.queue import QueueMessage

from devhost.console import ERROR, WARNING
from devhost.errors import HostError
from devhost.queue_messages import LEASE, QueueProcessor

MINIMUM_POLLING = timedelta(milliseconds=100)
# A poll that lost the account is tried again; in Azure the platform would start the host again.
UNREACHABLE = (ServiceRequestError, ServiceResponseError)


class Backoff:
    """The wait after each empty poll: about doubled every time, with chance in it, to a limit."""

    def __init__(self, maximum: timedelta, minimum: timedelta = MINIMUM_POLLING) -> None:
        self._minimum, self._maximum = minimum, maximum
        self._interval, self._exponent = minimum, 0

    def next_delay(self, *, found: bool) -> timedelta:
        """`found` tells whether anything came since the last wait."""
        if found:
            self._interval, self._exponent = self._minimum, 1
        elif self._interval != self._maximum:
            spread = random.uniform(0.8, 1.2) * 2 ** (self._exponent - 1) if self._exponent else 0.0
            self._interval = min(self._minimum + spread * self._minimum, self._maximum)
            self._exponent += 1
        return self._interval


class QueueListener:
    """Polls one queue for one function."""

    def __init__(self, processor: QueueProcessor, backoff: Backoff | None = None) -> None:
        self._processor, self._queue = processor, processor.queue
        self._options, self._console = processor.options, processor.console
        self._backoff = backoff or Backoff(self._options.max_polling_interval)
        self._sent_here = processor.watchers.watch(self._queue.url)
        self._in_flight: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until cancelled; what runs then goes on. Raises HostError for what Azure ends a host."""
        found = False
        while True:
            messages = await self._receive()
            if messages:
                found = True
                await self._start(messages)
                continue
            delay = self._backoff.next_delay(found=found)
            found = False
            await self._wait(delay)

    async def drain(self, timeout: float) -> None:
        """Wait for what still runs. What is not done in time is left to its lease."""
        if self._in_flight:
            _, late = await asyncio.wait(self._in_flight, timeout=timeout)
            for task in late:
                task.cancel()

    async def _receive(self) -> list[QueueMessage]:
        size = self._options.batch_size
        try:
            pages = self._queue.receive_messages(
                messages_per_page=size,
                max_messages=size,
                visibility_timeout=int(LEASE.total_seconds()),
            )
            return [message async for message in pages]
        except HttpResponseError as error:
            if error.status_code != 404 and not _passes(error):
                raise HostError(
                    "An unhandled exception has occurred. Host is shutting down. "
                    f"Queue '{self._queue.queue_name}': {error.message}"
                ) from error
        except UNREACHABLE as error:
            text = f"Queue '{self._queue.queue_name}' cannot be reached: {error}"
            self._console.log("Host.Triggers.Queue", WARNING, text)
        return []

    async def _start(self, messages: list[QueueMessage]) -> None:
        """All at once; the next batch is asked for when few enough are left."""
        for message in messages:
            task = asyncio.create_task(self._process(message))
            self._in_flight.add(task)
            task.add_done_callback(self._in_flight.discard)
        while len(self._in_flight) > self._options.new_batch_threshold:
            await asyncio.wait(self._in_flight, return_when=asyncio.FIRST_COMPLETED)

    async def _process(self, message: QueueMessage) -> None:
        try:
            await self._processor.process(message)
        except AzureError as error:
            text = f"Message '{message.id}' could not be completed: {error}"
            self._console.log("Host.Triggers.Queue", ERROR, text)

    async def _wait(self, delay: timedelta) -> None:
        """Less where this host puts something on the queue meanwhile."""
        try:
            await asyncio.wait_for(self._sent_here.wait(), delay.total_seconds())
        except TimeoutError:
            return
        self._sent_here.clear()


def _passes(error: HttpResponseError) -> bool:
    """A receive that may do better next time."""
    code = getattr(error, "error_code", None)
    return (error.status_code or 0) >= 500 or (
        error.status_code == 409 and code in ("QueueBeingDeleted", "QueueDisabled")
    )
