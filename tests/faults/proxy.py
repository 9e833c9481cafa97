"""A small proxy in front of the emulator that makes a share of all storage calls go wrong.

It relays HTTP/1.1 request by request, byte for byte, and draws from a seed what happens to each:
nothing, a delay, a refusal, a connection that breaks before or after the effect, an error after it.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from devhost.azurite import connection_string

_HEAD_END = b"\r\n\r\n"
_LIMIT = 64 * 1024 * 1024  # of a head or a line, so that no photo is ever too long
_BUSY = (
    b"HTTP/1.1 503 Server Busy\r\nx-ms-error-code: ServerBusy\r\n"
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)
_INTERNAL = (
    b"HTTP/1.1 500 Internal\r\nx-ms-error-code: InternalError\r\n"
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)
_NO_BODY = (b"204", b"304")


class Fault(StrEnum):
    """What can happen to a call."""

    DELAY = "delayed"
    REFUSED = "refused before the effect"
    BROKEN_BEFORE = "connection broken before the effect"
    ERROR_AFTER = "error after the effect"
    ANSWER_LOST = "answer lost"


_BEFORE = (Fault.REFUSED, Fault.BROKEN_BEFORE)


@dataclass
class FaultProxy:
    """Listens on a free port for each service; a `with` block is its life."""

    targets: Mapping[str, int]  # service -> port of the emulator
    rate: float  # share of the calls that go wrong
    seed: int = 1
    ports: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    faults: Counter[Fault] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fault-proxy", daemon=True)

    def __enter__(self) -> FaultProxy:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    @property
    def connection_string(self) -> str:
        return connection_string(self.ports["blob"], self.ports["queue"], self.ports["table"])

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._end = asyncio.Event()
        servers = []
        for service, port in self.targets.items():

            async def connected(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int = port
            ) -> None:
                await self._connection(reader, writer, port)

            server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=_LIMIT)
            self.ports[service] = server.sockets[0].getsockname()[1]
            servers.append(server)
        self._ready.set()
        await self._end.wait()
        for server in servers:
            server.close()

    async def _connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int
    ) -> None:
        """Requests of one client connection, one after the other, until either side ends it."""
        try:
            while request := await _request(reader):
                self.calls += 1
                answer = await self._answer(request, port)
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client or the emulator went away: to the other side the call is broken
        finally:
            writer.close()

    async def _answer(self, request: bytes, port: int) -> bytes | None:
        """What the client gets; None breaks its connection."""
        fault = self._draw()
        if fault in _BEFORE:
            return _BUSY if fault is Fault.REFUSED else None
        if fault is Fault.DELAY:
            await asyncio.sleep(self._random.uniform(0.5, 3))
        answer = await _forward(request, port)
        if fault is Fault.ANSWER_LOST:
            return None
        return _INTERNAL if fault is Fault.ERROR_AFTER else answer

    def _draw(self) -> Fault | None:
        if self._random.random() >= self.rate:
            return None
        fault = self._random.choice(list(Fault))
        self.faults[fault] += 1
        return fault


async def _request(reader: asyncio.StreamReader) -> bytes | None:
    """A whole request; None at the end of the connection."""
    try:
        head = await reader.readuntil(_HEAD_END)
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    return head + await _body(reader, head)


async def _forward(request: bytes, port: int) -> bytes:
    """The emulator's whole answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=_LIMIT)
    try:
        writer.write(request)
        await writer.drain()
        head = await reader.readuntil(_HEAD_END)
        bare = request.startswith(b"HEAD ") or head.split(b" ", 2)[1] in _NO_BODY
        return head if bare else head + await _body(reader, head)
    finally:
        writer.close()


async def _body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    """As the head says: of a length, in chunks, or none."""
    fields = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:])
    }
    if fields.get(b"transfer-encoding", b"").lower() == b"chunked":
        return await _chunks(reader)
    return await reader.readexactly(int(fields.get(b"content-length", b"0")))


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    """Chunks as they came, with their sizes."""
    parts = []
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        parts += [line, await reader.readexactly(size + 2)]
        if size == 0:
            return b"".join(parts)
