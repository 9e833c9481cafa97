"""One worker as the host sees it: a process that is given runs and answers them, or ends."""

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devhost import channel
from devhost.console import PRINTED, Console
from devhost.hostjson import INFORMATION

ROOT = Path(__file__).resolve().parents[1]
START_TIMEOUT = 60.0
# What a worker still says after its end is in the pipes already.
DRAIN_TIMEOUT = 1.0

Data = tuple[str, Any]  # the kind of a value, and the value
Described = list[dict[str, Any]]  # the functions of an app with their bindings
LogSink = Callable[[int, str, str | None, str], None]


class FunctionFailedError(Exception):
    """The function, or the decoding around it, raised; or its process ended before it answered."""


class WorkerStartError(Exception):
    """The worker did not come up: the app does not import, or the process ended."""


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """One run of one function."""

    id: str
    function_id: str
    inputs: tuple[tuple[str, Data], ...]
    metadata: Mapping[str, Data]
    trace: tuple[str, str]
    retry: tuple[int, int] = (0, 0)  # the number of this one, and the most


class Worker:
    """One process and the invocations that it has not answered."""

    def __init__(self, console: Console, log: LogSink) -> None:
        self._console, self._log = console, log
        self._waiting: dict[str, asyncio.Future[Data | None]] = {}
        self._indexed: asyncio.Future[Described] = asyncio.get_running_loop().create_future()

    async def start(self, app: Path, environ: Mapping[str, str]) -> Described:
        """What functions the app has. Raises WorkerStartError; no process is left then."""
        ours, theirs = socket.socketpair()
        # Not asyncio's own pipes: with them a process counts as running while any child of it
        # still has its output open.
        output, its_output = os.pipe()
        with theirs, open(its_output, "wb") as printed:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "devhost.worker", str(theirs.fileno()), str(app)),
                cwd=ROOT,
                env=dict(environ),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,  # Ctrl-C in a terminal is for the host alone
            )
        reader, self._writer = await asyncio.open_connection(sock=ours, limit=channel.BUFFER)
        self.pid = self._process.pid
        self.ended = asyncio.create_task(self._watch(reader, output))
        try:
            return await asyncio.wait_for(self._indexed, START_TIMEOUT)
        except TimeoutError as error:
            raise WorkerStartError(f"The worker was not up in {START_TIMEOUT:g} s.") from error
        finally:
            if self._indexed.cancelled() or self._indexed.exception():
                await self.kill()

    def runs(self, invocation_id: str) -> bool:
        """Whether this invocation is waiting for its answer here."""
        return invocation_id in self._waiting

    async def run(self, invocation: Invocation) -> Data | None:
        """The return value of the function. Raises FunctionFailedError."""
        answer = asyncio.get_running_loop().create_future()
        self._waiting[invocation.id] = answer
        try:
            await channel.send(self._writer, vars(invocation))
            return await answer
        except ConnectionError as error:
            answer.cancel()
            await asyncio.wait({self.ended})
            raise FunctionFailedError(self._last_words()) from error
        finally:
            self._waiting.pop(invocation.id, None)

    async def kill(self) -> None:
        """End the process without a word to it, as Azure does."""
        if self._process.returncode is None:
            self._process.kill()
        await asyncio.wait({self.ended})

    async def _watch(self, reader: asyncio.StreamReader, output: int) -> None:
        """Until the process has ended; then fail what it had not answered."""
        readers = [
            asyncio.create_task(self._receive(reader)),
            asyncio.create_task(self._print(output)),
        ]
        await self._process.wait()
        _, late = await asyncio.wait(readers, timeout=DRAIN_TIMEOUT)
        for task in late:
            task.cancel()
        self._writer.close()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(FunctionFailedError(self._last_words()))
        if not self._indexed.done():
            self._indexed.set_exception(WorkerStartError(self._last_words()))

    def _last_words(self) -> str:
        return f"python exited with code {self._process.returncode}"

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        while True:
            try:
                kind, content = await channel.receive(reader)
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            if kind == "log":
                self._log(*content)
            elif kind == "result":
                self._answer(*content)
            elif not self._indexed.done():
                self._index(kind, content)

    def _index(self, kind: str, content: Any) -> None:
        if kind == "functions":
            self._indexed.set_result(content)
        else:
            self._indexed.set_exception(WorkerStartError("\n".join(content)))

    def _answer(self, invocation_id: str, kind: str, content: Any) -> None:
        answer = self._waiting.get(invocation_id)
        if answer is None or answer.done():
            return
        if kind == "done":
            answer.set_result(content)
        else:
            message, stack = content
            text = f"Result: Failure\nException: {message}\nStack: {stack}"
            answer.set_exception(FunctionFailedError(text))

    async def _print(self, output: int) -> None:
        """What the process prints, line by line."""
        stream, rest = asyncio.StreamReader(), b""
        protocol = asyncio.StreamReaderProtocol(stream)
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: protocol, os.fdopen(output, "rb")
        )
        with closing(pipe):
            while chunk := await stream.read(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._console.log(PRINTED, INFORMATION, line.decode(errors="replace"))
        if rest:
            self._console.log(PRINTED, INFORMATION, rest.decode(errors="replace"))
