"""Messages between the host and a worker: pickles with their length before them.

Both ends are this program on one machine, over a socket that nobody else can reach.
"""

import asyncio
import pickle
import socket
import struct
import threading
from typing import Any

LENGTH = struct.Struct(">Q")
# How much may wait in memory before the reader lets the sender wait; bodies reach 100 MiB.
BUFFER = 4 * 1024 * 1024


class Channel:
    """The worker's end. Any thread may send; one thread receives, blocking."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._stream = connection.makefile("rb")
        self._sending = threading.Lock()

    def send(self, message: Any) -> None:
        """Blocks until the host has room. Raises OSError when the host is gone."""
        with self._sending:
            self._socket.sendall(_frame(message))

    def receive(self) -> Any:
        """The next message. Raises EOFError when the host is gone."""
        length = self._stream.read(LENGTH.size)
        if len(length) < LENGTH.size:
            raise EOFError
        return pickle.loads(self._stream.read(LENGTH.unpack(length)[0]))


async def receive(reader: asyncio.StreamReader) -> Any:
    """The host's end: the next message. Raises IncompleteReadError when the worker is gone."""
    length = LENGTH.unpack(await reader.readexactly(LENGTH.size))[0]
    return pickle.loads(await reader.readexactly(length))


async def send(writer: asyncio.StreamWriter, message: Any) -> None:
    """Raises ConnectionError when the worker is gone."""
    writer.write(_frame(message))
    await writer.drain()


def _frame(message: Any) -> bytes:
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(content)) + content
