"""In-memory storage that keeps Azure's rules: conditional writes, transactions, visibility.

The contract tests run on these and on the real services; `Faults` makes any call go wrong.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import RLock

from shared.domain.errors import AlreadyExistsError, ConflictError
from shared.ports import BlobInfo, Change, Delete, Insert, QueueMessage, Replace, Row, Span

NOW = datetime(2026, 8, 1, 12, 0, tzinfo=UTC)
_numbers = itertools.count(1)
_MAX_CHANGES = 100
_MAX_PROPERTIES = 252
_MAX_BYTES = 64 * 1024
_FORBIDDEN = set("/\\#?\t\n\r")


class FakeClock:
    """Time stands still until a test moves it."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **duration: float) -> None:
        self.now += timedelta(**duration)


@dataclass
class Faults:
    """Called before and after the effect of every call; raise in it to make the call fail."""

    before: Callable[[str], None] = lambda call: None
    after: Callable[[str], None] = lambda call: None
    calls: list[str] = field(default_factory=list)

    def around[T](self, call: str, effect: Callable[[], T]) -> T:
        self.calls.append(call)
        self.before(call)
        result = effect()
        self.after(call)
        return result


class MemoryTable:
    """One table. Stricter than the emulator where Azure is: keys, sizes, property counts."""

    def __init__(self, name: str = "table", faults: Faults | None = None) -> None:
        self.name = name
        self.faults = faults or Faults()
        self.rows: dict[tuple[str, str], Row] = {}
        self._lock = RLock()

    def get(self, partition: str, key: str) -> Row | None:
        return self._call("get", lambda: self.rows.get((partition, key)))

    def put(self, row: Row) -> str:
        return self._call("put", lambda: self._store(row))

    def delete(self, row: Row) -> None:
        self._call("delete", lambda: self._delete_if_there(row))

    def _delete_if_there(self, row: Row) -> None:
        with self._lock:
            stored = self.rows.get((row.partition, row.key))
            if stored is None:
                return
            if row.etag and stored.etag != row.etag:
                raise ConflictError
            del self.rows[row.partition, row.key]

    def transact(self, changes: Sequence[Change]) -> list[str]:
        return self._call("transact", lambda: self._transact(changes))

    def _transact(self, changes: Sequence[Change]) -> list[str]:
        with self._lock:
            assert 0 < len(changes) <= _MAX_CHANGES
            assert len({change.row.partition for change in changes}) == 1
            assert len({change.row.key for change in changes}) == len(changes)
            for change in changes:
                self._check(change)
            return [self._apply(change) for change in changes]

    def _check(self, change: Change) -> None:
        stored = self.rows.get((change.row.partition, change.row.key))
        if isinstance(change, Insert):
            if stored is not None:
                raise AlreadyExistsError
        elif stored is None or not change.row.etag or stored.etag != change.row.etag:
            raise ConflictError

    def _apply(self, change: Change) -> str:
        match change:
            case Insert(row) | Replace(row):
                return self._store(row)
            case Delete(row):
                del self.rows[row.partition, row.key]
                return ""

    def _store(self, row: Row) -> str:
        _check_limits(row)
        values = {name: _in_utc(value) for name, value in row.values.items()}
        with self._lock:
            etag = f"e{next(_numbers)}"
            self.rows[row.partition, row.key] = replace(row, values=values, etag=etag)
            return etag

    def query(self, span: Span, *, page: int = 1000) -> Iterator[Row]:
        found = sorted(
            (row for row in list(self.rows.values()) if _inside(row, span)),
            key=lambda row: (row.partition, row.key),
        )
        for start in range(0, max(len(found), 1), page):
            piece = found[start : start + page]
            yield from self._call("query", partial(list, piece))

    def _call[T](self, verb: str, effect: Callable[[], T]) -> T:
        return self.faults.around(f"{self.name}.{verb}", effect)


def _check_limits(row: Row) -> None:
    assert len(row.values) <= _MAX_PROPERTIES
    for text in (row.partition, row.key):
        assert len(text.encode("utf-16-le")) <= 1024, "keys hold 1 KiB"
        assert not _FORBIDDEN & set(text), f"a key cannot hold {text!r}"
    for name, value in row.values.items():
        if isinstance(value, str):
            assert len(value.encode("utf-16-le")) <= _MAX_BYTES, f"{name} is too long"
        if isinstance(value, bytes):
            assert len(value) <= _MAX_BYTES, f"{name} is too long"
        if isinstance(value, int):
            assert -(2**63) <= value < 2**63, f"{name} is no Int64"
        if isinstance(value, float):
            assert value == value, f"{name} is not a number"
        if isinstance(value, datetime):
            assert value.tzinfo is not None, f"{name} is a naive time"


def _in_utc[T](value: T) -> T | datetime:
    """Azure keeps the moment and forgets the zone."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _inside(row: Row, span: Span) -> bool:
    ends = (
        span.partition is None or row.partition == span.partition,
        span.partition_to is None or row.partition < span.partition_to,
        span.key_from is None or row.key >= span.key_from,
        span.key_after is None or row.key > span.key_after,
        span.key_to is None or row.key < span.key_to,
        span.key_last is None or row.key <= span.key_last,
    )
    return all(ends)


class MemoryBlobs:
    """One container. `stored` maps names to bytes, content type and ETag."""

    def __init__(self, name: str = "blobs", faults: Faults | None = None) -> None:
        self.name = name
        self.faults = faults or Faults()
        self.stored: dict[str, tuple[bytes, str, str]] = {}

    def put(self, name: str, data: bytes, *, content_type: str) -> str:
        def effect() -> str:
            etag = f"b{next(_numbers)}"
            self.stored[name] = (data, content_type, etag)
            return etag

        return self._call("put", effect)

    def read(self, name: str, *, etag: str | None = None) -> bytes | None:
        def effect() -> bytes | None:
            if name not in self.stored:
                return None
            data, _, stored = self.stored[name]
            if etag and etag != stored:
                raise ConflictError
            return data

        return self._call("read", effect)

    def info(self, name: str) -> BlobInfo | None:
        def effect() -> BlobInfo | None:
            if name not in self.stored:
                return None
            data, content_type, etag = self.stored[name]
            return BlobInfo(size=len(data), etag=etag, content_type=content_type)

        return self._call("info", effect)

    def delete(self, name: str, *, etag: str | None = None) -> None:
        def effect() -> None:
            if etag and name in self.stored and self.stored[name][2] != etag:
                raise ConflictError
            self.stored.pop(name, None)

        self._call("delete", effect)

    def names(self, prefix: str) -> Iterator[str]:
        found = sorted(name for name in list(self.stored) if name.startswith(prefix))
        yield from self._call("names", lambda: found)

    def read_url(self, name: str, *, until: datetime, attachment: str | None = None) -> str:
        return f"memory://{self.name}/{name}?sp=r&se={until.isoformat()}&as={attachment}"

    def upload_url(self, name: str, *, until: datetime) -> str:
        return f"memory://{self.name}/{name}?sp=c&se={until.isoformat()}"

    def _call[T](self, verb: str, effect: Callable[[], T]) -> T:
        return self.faults.around(f"{self.name}.{verb}", effect)


@dataclass
class _Waiting:
    message: QueueMessage
    visible_at: datetime
    expires_at: datetime | None


class MemoryQueue:
    """One queue on a clock of the test's; `sent` keeps every text with its delay."""

    def __init__(self, clock: FakeClock, name: str = "queue", faults: Faults | None = None) -> None:
        self.clock = clock
        self.name = name
        self.faults = faults or Faults()
        self.waiting: list[_Waiting] = []
        self.sent: list[tuple[str, timedelta]] = []

    def send(
        self, text: str, *, delay: timedelta = timedelta(0), ttl: timedelta | None = None
    ) -> None:
        assert len(text.encode()) <= 64 * 1024

        def effect() -> None:
            now = self.clock()
            message = QueueMessage(
                id=uuid.uuid4().hex, body=text.encode(), dequeue_count=0, inserted_at=now
            )
            expires = now + ttl if ttl is not None else None
            self.waiting.append(_Waiting(message, now + delay, expires))
            self.sent.append((text, delay))

        self._call("send", effect)

    def peek(self, count: int = 32) -> list[QueueMessage]:
        return self._call("peek", lambda: [w.message for w in self._visible()[:count]])

    def receive(self, count: int, *, hide: timedelta) -> list[QueueMessage]:
        def effect() -> list[QueueMessage]:
            taken = self._visible()[:count]
            for waiting in taken:
                old = waiting.message
                waiting.message = QueueMessage(
                    id=old.id,
                    body=old.body,
                    dequeue_count=old.dequeue_count + 1,
                    inserted_at=old.inserted_at,
                    receipt=uuid.uuid4().hex,
                )
                waiting.visible_at = self.clock() + hide
            return [waiting.message for waiting in taken]

        return self._call("receive", effect)

    def delete(self, message: QueueMessage) -> None:
        def effect() -> None:
            self.waiting = [w for w in self.waiting if not _same(w.message, message)]

        self._call("delete", effect)

    def release(self, message: QueueMessage) -> None:
        def effect() -> None:
            for waiting in self.waiting:
                if _same(waiting.message, message):
                    waiting.visible_at = self.clock()

        self._call("release", effect)

    def depth(self) -> int:
        return self._call("depth", lambda: len(self.waiting))

    def _visible(self) -> list[_Waiting]:
        now = self.clock()
        self.waiting = [w for w in self.waiting if w.expires_at is None or w.expires_at > now]
        return [w for w in self.waiting if w.visible_at <= now]

    def _call[T](self, verb: str, effect: Callable[[], T]) -> T:
        return self.faults.around(f"{self.name}.{verb}", effect)


def _same(stored: QueueMessage, held: QueueMessage) -> bool:
    return stored.id == held.id and stored.receipt == held.receipt
