"""The workers of a host: started together, and each started again whatever ends it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from devhost.console import ERROR, PRINTED, WARNING, Console
from devhost.errors import HostError
from devhost.hostjson import INFORMATION
from devhost.worker_process import (
    Data,
    Described,
    Invocation,
    LogSink,
    Worker,
    WorkerStartError,
)


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

    async def start(self, count: int) -> Described:
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

    async def _start_one(self) -> tuple[Worker, Described]:
        worker = Worker(self._console, lambda *record: self.log(*record))
        described = await worker.start(self._app, self._environ)
        self._up.append(worker)
        self._came_up.set()
        self._console.log(PRINTED, INFORMATION, "Worker process started and initialized.")
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
