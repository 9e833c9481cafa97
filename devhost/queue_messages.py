"""What becomes of one queue message: run, renewed, deleted, released or moved as poison."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.storage.queue import QueueMessage
from azure.storage.queue.aio import QueueClient

from devhost.bindingdata import Message, UndecodableError, decode, encode, metadata
from devhost.console import WARNING, Console
from devhost.functions import Function
from devhost.hostjson import QueueOptions
from devhost.invoker import Call
from devhost.worker_process import FunctionFailedError

LEASE = timedelta(minutes=10)
# What says that a message or queue is no longer ours to touch.
LOST_STATUS = (404, 409)

Invoke = Callable[[Message], Awaitable[object]]
Sleep = Callable[[float], Awaitable[object]]


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
    sleep: Sleep = asyncio.sleep  # between the renewals of a lease

    async def process(self, received: QueueMessage) -> None:
        """Only a success deletes without a trace; a message lost meanwhile is left alone."""
        try:
            body = decode(received.content, is_base64=self.options.base64)
        except UndecodableError:
            await self._bury(received)
            return
        held = Held(queue=self.queue, message=_message(received, body), sleep=self.sleep)
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

    async def _bury(self, received: QueueMessage) -> None:
        """What cannot be decoded is moved as it is, without a run."""
        if self.poison is None:
            return
        await self._send_to_poison(received.content)
        message = Message(body=b"", id=received.id, pop_receipt=received.pop_receipt)
        await Held(queue=self.queue, message=message, sleep=self.sleep).delete()

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
    sleep: Sleep

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
        await self._hide(after)

    async def delete(self) -> None:
        """Gone for good, unless somebody else has it now."""
        try:
            await self.queue.delete_message(self.message.id or "", self.message.pop_receipt)
        except HttpResponseError as error:
            _raise_unless_lost(error)

    async def _renew(self) -> None:
        still_ours = True
        while still_ours:
            await self.sleep(LEASE.total_seconds() / 2)
            still_ours = await self._hide(LEASE)

    async def _hide(self, time: timedelta) -> bool:
        """Invisible for this time from now; whether the message was still ours."""
        try:
            renewed = await self.queue.update_message(
                self.message.id or "",
                self.message.pop_receipt,
                visibility_timeout=int(time.total_seconds()),
            )
        except HttpResponseError as error:
            _raise_unless_lost(error)
            return False
        self.message = replace(self.message, pop_receipt=renewed.pop_receipt)
        return True


def queue_call(function: Function, message: Message) -> Call:
    """How a message reaches the function: as text, or as bytes where the binding says so."""
    binary = str(function.trigger.get("dataType", "")).upper() == "BINARY"
    if not binary and message.text is None:
        raise FunctionFailedError("The message is not UTF-8 text; the binding wants a string.")
    inserted = message.inserted_on.isoformat() if message.inserted_on else None
    facts = {"MessageId": message.id, "DequeueCount": message.dequeue_count, "InsertedOn": inserted}
    return Call(
        reason=f"New queue message detected on '{function.trigger['queueName']}'.",
        data=("bytes", message.body) if binary else ("string", message.text),
        metadata=metadata(message),
        details=[(name, str(value)) for name, value in facts.items()],
    )


def poison_name(queue: str) -> str | None:
    """The queue for what cannot be processed; a poison queue has none of its own."""
    name = f"{queue}-poison"
    return None if queue.lower().endswith("-poison") or len(name) > 63 else name


def _message(received: QueueMessage, body: bytes) -> Message:
    return Message(
        body=body,
        id=received.id,
        pop_receipt=received.pop_receipt,
        dequeue_count=received.dequeue_count,
        inserted_on=received.inserted_on,
        expires_on=received.expires_on,
        next_visible_on=received.next_visible_on,
    )


def _raise_unless_lost(error: HttpResponseError) -> None:
    code = getattr(error, "error_code", None)
    if error.status_code not in LOST_STATUS and code != "PopReceiptMismatch":
        raise error
