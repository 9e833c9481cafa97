"""The worker processes: started, spoken to, and started again whatever ends them."""

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
from devhost.console import ERROR, PRINTED, WARNING, Console
from devhost.errors import HostError
from devhost.hostjson import INFORMATION

ROOT = Path(__file__).resolve().parents[1]
START_TIMEOUT = 60.0
# What a worker still says after its end is in the pipes already.
DRAIN_TIMEOUT = 1.0

Data = tuple[str, Any]
LogSink = Callable[[int, str, str | None, str], None]


class FunctionFailedError(Exception):
    """The function, or the decoding around it, raised in the worker."""


class WorkerLostError(FunctionFailedError):
    """The process ended before it answered."""


class WorkerStartError(Exception):
    """The worker did not come up: the app does not import, or the process ended."""


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """One run of one function. Metadata and inputs are (kind, value) pairs by name."""

    id: str
    function_id: str
    inputs: tuple[tuple[str, Data], ...]
    metadata: Mapping[str, Data]
    trace: tuple[str, str]


class Worker:
    """One process and the invocations that it has not answered."""

    def __init__(self, console: Console, log: LogSink) -> None:
        self._console, self._log = console, log
        self._waiting: dict[str, asyncio.Future[Data | None]] = {}
        self._indexed: asyncio.Future[list[dict[str, Any]]] | None = None

    async def start(self, app: Path, environ: Mapping[str, str]) -> list[dict[str, Any]]:
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
        self._indexed = asyncio.get_running_loop().create_future()
        self.ended = asyncio.create_task(self._watch(reader, output))
        try:
            return await asyncio.wait_for(self._indexed, START_TIMEOUT)
        except TimeoutError as error:
            raise WorkerStartError(f"The worker was not up in {START_TIMEOUT:g} s.") from error
        finally:
            if self._indexed.cancelled() or self._indexed.exception():
                await self.kill()

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

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
            raise WorkerLostError(self._last_words()) from error
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
        lost = WorkerLostError(self._last_words())
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(lost)
        if self._indexed is not None and not self._indexed.done():
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
            elif self._indexed is not None and not self._indexed.done():
                self._index(kind, content)

    def _index(self, kind: str, content: Any) -> None:
        assert self._indexed is not None
        if kind == "functions":
            self._indexed.set_result(content)
        else:
            message, stack = content
            self._indexed.set_exception(WorkerStartError(f"{message}\n{stack}"))

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


class WorkerPool:
    """As many workers as settings ask for; each invocation goes to the next one that is up."""

    def __init__(
        self, *, app: Path, environ: Mapping[str, str], restart_delay: float, console: Console
    ) -> None:
        self._app, self._environ, self._restart_delay = app, environ, restart_delay
        self._console = console
        self._up: list[Worker] = []
        self._keepers: list[asyncio.Task[None]] = []
        self._came_up = asyncio.Event()
        self.log: LogSink = lambda _level, _logger, _invocation, _text: None

    async def start(self, count: int) -> list[dict[str, Any]]:
        """What functions the app has, once all workers are up. Raises HostError."""
        starts = [asyncio.create_task(self._start_one()) for _ in range(count)]
        try:
            started = await asyncio.gather(*starts)
        except WorkerStartError as error:
            raise HostError(f"No function is loaded from '{self._app}'.\n{error}") from error
        finally:
            for start in starts:
                start.cancel()
        self._keepers = [asyncio.create_task(self._keep(worker)) for worker in self._up]
        return started[0][1]

    async def run(self, invocation: Invocation) -> Data | None:
        """Wait for a worker where none is up. Raises FunctionFailedError."""
        while not (alive := [worker for worker in self._up if not worker.ended.done()]):
            self._came_up.clear()
            await self._came_up.wait()
        self._up.remove(alive[0])
        self._up.append(alive[0])
        return await alive[0].run(invocation)

    async def kill_worker_of(self, invocation_id: str) -> None:
        """End the process that runs this invocation, and all else that runs in it."""
        for worker in [worker for worker in self._up if worker.runs(invocation_id)]:
            await worker.kill()

    async def stop(self) -> None:
        """End every worker and start none again."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        await asyncio.gather(*(worker.kill() for worker in self._up))

    async def _start_one(self) -> tuple[Worker, list[dict[str, Any]]]:
        worker = Worker(self._console, lambda *record: self.log(*record))
        described = await worker.start(self._app, self._environ)
        self._up.append(worker)
        self._came_up.set()
        self._console.log("Worker", INFORMATION, f"Worker process {worker.pid} started.")
        return worker, described

    async def _keep(self, worker: Worker) -> None:
        """Replace the worker whenever it ended. Azure gives up after a while; this never does."""
        while True:
            await asyncio.wait({worker.ended})
            self._up.remove(worker)
            again = f"Starting another in {self._restart_delay:g} s."
            self._console.log("Worker", WARNING, f"Worker process {worker.pid} ended. {again}")
            worker = await self._start_again()

    async def _start_again(self) -> Worker:
        while True:
            await asyncio.sleep(self._restart_delay)
            try:
                return (await self._start_one())[0]
            except WorkerStartError as error:
                self._console.log("Worker", ERROR, f"The worker did not start: {error}")


def worker_count(environ: Mapping[str, str]) -> int:
    """FUNCTIONS_WORKER_PROCESS_COUNT, from 1 to 10. Raises HostError."""
    text = environ.get("FUNCTIONS_WORKER_PROCESS_COUNT", "1")
    if not text.isdecimal() or not 1 <= int(text) <= 10:
        raise HostError(f"FUNCTIONS_WORKER_PROCESS_COUNT must be from 1 to 10, not '{text}'.")
    return int(text)
