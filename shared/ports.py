"""What the product needs of the world: a table, a blob container, a queue, and nothing more.

Every method raises StorageUnavailableError when the call failed or its outcome is unknown.
The Azure gateways and the in-memory fakes pass the same contract tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

type Value = str | int | float | bool | datetime | bytes


@dataclass(frozen=True, slots=True)
class Row:
    """One table row; a property that is null is absent."""

    partition: str
    key: str
    values: Mapping[str, Value]
    etag: str = ""

    def with_etag(self, etag: str) -> Row:
        return replace(self, etag=etag)


@dataclass(frozen=True, slots=True)
class Insert:
    """Refused when a row with these keys exists."""

    row: Row


@dataclass(frozen=True, slots=True)
class Replace:
    """Refused unless the stored row still has this row's ETag."""

    row: Row


@dataclass(frozen=True, slots=True)
class Delete:
    """Refused unless the stored row still has this row's ETag."""

    row: Row


type Change = Insert | Replace | Delete


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A range of rows. Every end that is given narrows it; no end needs a control character."""

    partition: str | None = None  # this one only
    partition_to: str | None = None  # exclusive
    key_from: str | None = None  # inclusive
    key_after: str | None = None  # exclusive
    key_to: str | None = None  # exclusive
    key_last: str | None = None  # inclusive

    @classmethod
    def prefix(cls, partition: str, prefix: str) -> Span:
        """Rows of one partition whose key is `prefix` and then letters, digits or dashes."""
        return cls(partition=partition, key_from=prefix, key_to=prefix + "~")


class Table(Protocol):
    """Azure Table Storage, one table."""

    def get(self, partition: str, key: str) -> Row | None:
        """None when missing."""
        ...

    def put(self, row: Row) -> str:
        """Insert or replace, whatever is there; the new ETag. Never for drafts."""
        ...

    def delete(self, row: Row) -> None:
        """Delete if the ETag still fits (an empty one fits always); a missing row is fine.

        Raises ConflictError when the row has changed.
        """
        ...

    def transact(self, changes: Sequence[Change]) -> list[str]:
        """All or nothing, at most 100 rows of one partition; new ETags, "" for deletes.

        Raises AlreadyExistsError for an Insert, ConflictError for a Replace or Delete.
        """
        ...

    def query(self, span: Span, *, page: int = 1000) -> Iterator[Row]:
        """Rows in key order, fetched `page` at a time as they are consumed."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class BlobInfo:
    """What is known of a stored blob without reading it."""

    size: int  # bytes
    etag: str
    content_type: str


class Blobs(Protocol):
    """One private blob container."""

    def put(self, name: str, data: bytes, *, content_type: str) -> str:
        """Write or overwrite; the new ETag."""
        ...

    def read(self, name: str, *, etag: str | None = None) -> bytes | None:
        """The bytes; None when missing. Raises ConflictError when `etag` no longer fits."""
        ...

    def info(self, name: str) -> BlobInfo | None:
        """None when missing."""
        ...

    def delete(self, name: str, *, etag: str | None = None) -> None:
        """A missing blob is fine. Raises ConflictError when `etag` no longer fits."""
        ...

    def names(self, prefix: str) -> Iterator[str]:
        """Of every blob whose name begins so; fetched as they are consumed."""
        ...

    def read_url(self, name: str, *, until: datetime, attachment: str | None = None) -> str:
        """A link that can read this one blob until then; `attachment` names a download."""
        ...

    def upload_url(self, name: str, *, until: datetime) -> str:
        """A link that can create this one blob until then, and not replace it."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueMessage:
    """A message as the queue holds it; `receipt` is empty when it was only peeked."""

    id: str
    body: bytes
    dequeue_count: int
    inserted_at: datetime
    receipt: str = ""


class Queue(Protocol):
    """One storage queue; texts go out as they are and never expire unless `ttl` says so."""

    def send(
        self, text: str, *, delay: timedelta = timedelta(0), ttl: timedelta | None = None
    ) -> None:
        """Visible after `delay`, gone after `ttl`; both count in whole seconds."""
        ...

    def peek(self, count: int = 32) -> list[QueueMessage]:
        """Up to 32 visible messages from the head, left as they are."""
        ...

    def receive(self, count: int, *, hide: timedelta) -> list[QueueMessage]:
        """Up to `count` messages, 32 at most, which nobody else sees for that long."""
        ...

    def delete(self, message: QueueMessage) -> None:
        """A message that is gone or was received by somebody else is fine."""
        ...

    def release(self, message: QueueMessage) -> None:
        """Make a received message visible again at once."""
        ...

    def depth(self) -> int:
        """Approximate number of messages, hidden ones too."""
        ...
