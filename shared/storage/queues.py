"""One Azure storage queue behind the Queue port."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from azure.core.exceptions import HttpResponseError
from azure.storage.queue import QueueClient
from azure.storage.queue import QueueMessage as SdkMessage

from shared.ports import QueueMessage
from shared.storage.translate import error_code, translate_storage_errors

_NOT_OURS = frozenset({"MessageNotFound", "PopReceiptMismatch"})
_NEVER = -1  # seconds: the message does not expire


class AzureQueue:
    """Texts as they are: the producer encodes them, no policy does."""

    def __init__(self, client: QueueClient) -> None:
        self._client = client

    def send(
        self, text: str, *, delay: timedelta = timedelta(0), ttl: timedelta | None = None
    ) -> None:
        life = _NEVER if ttl is None else int(ttl.total_seconds())
        hidden = max(0, round(delay.total_seconds()))
        with translate_storage_errors():
            self._client.send_message(text, visibility_timeout=hidden, time_to_live=life)

    def peek(self, count: int = 32) -> list[QueueMessage]:
        with translate_storage_errors():
            return [_message(found) for found in self._client.peek_messages(max_messages=count)]

    def receive(self, count: int, *, hide: timedelta) -> list[QueueMessage]:
        with translate_storage_errors():
            pages = self._client.receive_messages(
                max_messages=count, visibility_timeout=int(hide.total_seconds())
            )
            return [_message(found) for found in pages]

    def delete(self, message: QueueMessage) -> None:
        with translate_storage_errors():
            try:
                self._client.delete_message(message.id, message.receipt)
            except HttpResponseError as error:
                _lost(error)

    def release(self, message: QueueMessage) -> None:
        with translate_storage_errors():
            try:
                self._client.update_message(message.id, message.receipt, visibility_timeout=0)
            except HttpResponseError as error:
                _lost(error)

    def depth(self) -> int:
        with translate_storage_errors():
            return int(self._client.get_queue_properties().approximate_message_count or 0)


def _lost(error: HttpResponseError) -> None:
    """The message is gone, or was received by somebody else meanwhile; all else is an error."""
    if error_code(error) not in _NOT_OURS:
        raise error


def _message(found: SdkMessage) -> QueueMessage:
    content: Any = found.content
    return QueueMessage(
        id=str(found.id),
        body=content if isinstance(content, bytes) else str(content).encode(),
        dequeue_count=int(found.dequeue_count or 0),
        inserted_at=found.inserted_on or datetime.now(UTC),
        receipt=str(found.pop_receipt or ""),
    )
