"""Queue triggers: polled with back-off, leased, renewed, released or moved to the poison queue."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from azure.core.exceptions import (
    AzureError,
    HttpResponseError,
    ResourceNotFoundError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.storage.queue import QueueMessage
from azure.storage.queue.aio import QueueClient

from devhost.bindingdata import Message, UndecodableError, decode, encode, metadata
from devhost.console import ERROR, WARNING, Console
from devhost.errors import HostError
from devhost.functions import Function
from devhost.hostjson import QueueOptions
from devhost.invoker import Call
from devhost.supervisor import FunctionFailedError

MINIMUM_POLLING = timedelta(milliseconds=100)
LEASE = timedelta(minutes=10)
# What says that a message or queue is no longer ours to touch.
LOST_STATUS = (404, 409)
# A poll that lost the account is tried again; in Azure the platform would start the host again.
UNREACHABLE = (ServiceRequestError, ServiceResponseError)

Invoke = Callable[[Message], Awaitable[object]]


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


class Watchers:
    """Lets a poll hear of what this host itself put on a queue."""

    def __init__(self) -> None:
        self._events: dict[str, list[asyncio.Event]] = {}

    def watch(self, url: str) -> asyncio.Event:
        """Set whenever something was put there."""
        event = asyncio.Event()
        self._events.setdefault(url, []).append(event)
        return event

    def notify(self, url: str) -> None:
        """Something was put there."""
        for event in self._events.get(url, ()):
            event.set()


@dataclass(frozen=True, kw_only=True)
class QueueProcessor:
    """What happens to one message, from its receipt to its end."""

    queue: QueueClient
    poison: QueueClient | None
    options: QueueOptions
    invoke: Invoke
    watchers: Watchers
    console: Console
    lease: timedelta = LEASE

    async def process(self, received: QueueMessage) -> None:
        """Only a success deletes without a trace; a message lost meanwhile is left alone."""
        try:
            body = decode(received.content, is_base64=self.options.base64)
        except UndecodableError:
            await self._bury(received, received.content)
            return
        held = Held(queue=self.queue, message=_message(received, body), lease=self.lease)
        dequeued = received.dequeue_count or 0
        if dequeued > self.options.max_dequeue_count and self.poison is not None:
            await self._poison(held)
            return
        try:
            await held.while_renewed(self.invoke(held.message))
        except FunctionFailedError:
            await self._after_failure(held, dequeued)
        else:
            await held.delete()

    async def _after_failure(self, held: "Held", dequeued: int) -> None:
        """Without a poison queue nothing is done: the message is back when its lease ends."""
        if self.poison is None:
            return
        if dequeued >= self.options.max_dequeue_count:
            await self._poison(held)
        else:
            await held.release(self.options.visibility_timeout)

    async def _poison(self, held: "Held") -> None:
        assert self.poison is not None
        self.console.log(
            "Host.Triggers.Queue",
            WARNING,
            f"Message has reached MaxDequeueCount of {self.options.max_dequeue_count}. "
            f"Moving message to queue '{self.poison.queue_name}'.",
        )
        await self._send_to_poison(encode(held.message.body, is_base64=self.options.base64))
        await held.delete()

    async def _bury(self, received: QueueMessage, text: str) -> None:
        """What cannot be decoded is moved as it is, without a run."""
        if self.poison is None:
            return
        await self._send_to_poison(text)
        message = Message(body=b"", id=received.id, pop_receipt=received.pop_receipt)
        await Held(queue=self.queue, message=message, lease=self.lease).delete()

    async def _send_to_poison(self, text: str) -> None:
        assert self.poison is not None
        try:
            await self.poison.send_message(text)
        except ResourceNotFoundError:
            await self.poison.create_queue()
            await self.poison.send_message(text)
        self.watchers.notify(self.poison.url)


@dataclass(kw_only=True)
class Held:
    """A message that is invisible to others, as long as its pop receipt holds."""

    queue: QueueClient
    message: Message
    lease: timedelta

    async def while_renewed(self, work: Awaitable[object]) -> None:
        """Await the work; every half lease the lease is taken anew."""
        renewal = asyncio.create_task(self._renew())
        try:
            await work
        finally:
            renewal.cancel()
            await asyncio.wait({renewal})

    async def release(self, after: timedelta) -> None:
        """Visible again after this time."""
        await self._update(after)

    async def delete(self) -> None:
        """Gone for good, unless somebody else has it now."""
        try:
            await self.queue.delete_message(self.message.id or "", self.message.pop_receipt)
        except HttpResponseError as error:
            _raise_unless_lost(error)

    async def _renew(self) -> None:
        while await self._update(self.lease, after=self.lease / 2):
            pass

    async def _update(self, visibility: timedelta, after: timedelta = timedelta(0)) -> bool:
        """Whether the message was still ours."""
        await asyncio.sleep(after.total_seconds())
        try:
            renewed = await self.queue.update_message(
                self.message.id or "",
                self.message.pop_receipt,
                visibility_timeout=int(visibility.total_seconds()),
            )
        except HttpResponseError as error:
            _raise_unless_lost(error)
            return False
        self.message = replace(self.message, pop_receipt=renewed.pop_receipt)
        return True


class QueueListener:
    """Polls one queue for one function."""

    def __init__(self, processor: QueueProcessor) -> None:
        self._processor, self._queue = processor, processor.queue
        self._options, self._console = processor.options, processor.console
        self._backoff = Backoff(self._options.max_polling_interval)
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
        size, lease = self._options.batch_size, int(self._processor.lease.total_seconds())
        try:
            pages = self._queue.receive_messages(
                messages_per_page=size, max_messages=size, visibility_timeout=lease
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


def queue_call(function: Function, message: Message) -> Call:
    """How a message reaches the function: as text, or as bytes where the binding says so."""
    binary = str(function.trigger.get("dataType", "")).upper() == "BINARY"
    if not binary and message.text is None:
        raise FunctionFailedError("The message is not UTF-8 text; the binding wants a string.")
    facts: dict[str, Any] = {
        "MessageId": message.id,
        "DequeueCount": message.dequeue_count,
        "InsertedOn": message.inserted_on and message.inserted_on.isoformat(),
    }
    return Call(
        reason=f"New queue message detected on '{function.trigger['queueName']}'.",
        data=("bytes", message.body) if binary else ("string", message.text),
        metadata=metadata(message),
        details=tuple(facts.items()),
    )


def poison_name(queue: str) -> str | None:
    """The queue for what cannot be processed; a poison queue has none of its own."""
    name = f"{queue}-poison"
    return None if queue.lower().endswith("-poison") or len(name) > 63 else name


def _message(received: QueueMessage, body: bytes) -> Message:
    times: dict[str, datetime | None] = {
        "inserted_on": received.inserted_on,
        "expires_on": received.expires_on,
        "next_visible_on": received.next_visible_on,
    }
    return Message(
        body=body,
        id=received.id,
        pop_receipt=received.pop_receipt,
        dequeue_count=received.dequeue_count,
        **times,
    )


def _passes(error: HttpResponseError) -> bool:
    """A receive that may do better next time."""
    code = getattr(error, "error_code", None)
    return (error.status_code or 0) >= 500 or (
        error.status_code == 409 and code in ("QueueBeingDeleted", "QueueDisabled")
    )


def _raise_unless_lost(error: HttpResponseError) -> None:
    code = getattr(error, "error_code", None)
    if error.status_code not in LOST_STATUS and code != "PopReceiptMismatch":
        raise error
