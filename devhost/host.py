"""The host as a whole: what is started in which order, and ended in the other."""

import argparse
import asyncio
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack

from aiohttp import web
from azure.core.exceptions import AzureError
from azure.storage.blob.aio import ContainerClient

from devhost import hostjson, settings
from devhost.admin import Admin
from devhost.app import App
from devhost.azurite import Azurite, connection_string
from devhost.connections import find_connection
from devhost.console import ERROR, Console
from devhost.errors import HostError
from devhost.functions import Function, catalogue
from devhost.http import Front, listing
from devhost.invoker import Call, Invoker
from devhost.queue_messages import QueueProcessor, Watchers, poison_name, queue_call
from devhost.queues import QueueListener
from devhost.settings import Settings
from devhost.supervisor import WorkerPool, worker_count
from devhost.timer_status import CONTAINER, StatusStore, host_id
from devhost.timers import TimerListener
from devhost.worker_process import Data

ADDRESS = "127.0.0.1"
# How long running functions may take to end when the host stops.
STOP_TIMEOUT = 10.0
STORAGE = "AzureWebJobsStorage"


class Host:
    """One app, served until `request_stop`."""

    def __init__(
        self, arguments: argparse.Namespace, *, console: Console, environ: Mapping[str, str]
    ) -> None:
        self._arguments, self._console, self._environ = arguments, console, environ
        self._stop: asyncio.Event | None = None
        self._listeners: list[QueueListener | TimerListener] = []

    def request_stop(self) -> bool:
        """False where that was said before, or nothing serves yet."""
        if self._stop is None or self._stop.is_set():
            return False
        self._stop.set()
        return True

    async def serve(self) -> None:
        """Raises HostError for whatever keeps the app from being served."""
        async with AsyncExitStack() as stack:
            listening = _listen(self._arguments.port)
            stack.callback(listening.close)
            app = await self._load(stack, listening.getsockname()[1])
            store = await self._start_listeners(stack, app)
            runner = Front(app).runner(Admin(app, store), shutdown_timeout=STOP_TIMEOUT)
            await runner.setup()
            await web.SockSite(runner, listening).start()
            polls = [asyncio.create_task(listener.run()) for listener in self._listeners]
            stack.push_async_callback(self._stop_serving, runner, polls)
            self._stop = asyncio.Event()
            self._announce(app, listening.getsockname()[1])
            await _first_of(self._stop, polls)

    async def _load(self, stack: AsyncExitStack, port: int) -> App:
        """Storage first, then the workers, which learn the app's functions."""
        folder, console = self._arguments.app, self._console
        found = await self._settings(stack, port)
        options = hostjson.read(folder, found.environ)
        console.log_level = options.log_level
        pool = WorkerPool(
            app=folder,
            environ=found.environ,
            restart_delay=self._arguments.worker_restart_delay,
            console=console,
        )
        stack.push_async_callback(pool.stop)
        invoker = Invoker(pool, console, options.function_timeout)
        described = await pool.start(worker_count(found.environ))
        if not described:
            raise HostError(f"No function is loaded: '{folder}' has none.")
        functions = catalogue(described, found, prefix=options.route_prefix, only=options.functions)
        for line in functions.complaints():
            console.log("Host.Startup", ERROR, line)
        return App(
            functions=functions,
            invoker=invoker,
            options=options,
            settings=found,
            console=console,
            host_id=host_id(folder, found.get("AzureFunctionsWebHost:hostid")),
        )

    async def _settings(self, stack: AsyncExitStack, port: int) -> Settings:
        """With an emulator behind every setting that means one."""
        options = self._arguments
        found = settings.load(options.app, self._environ, port=port, functions=options.functions)
        for notice in found.notices:
            self._console.write(notice)
        if not found.needs_development_storage():
            return found
        if options.storage == "external":
            return found.with_storage(connection_string(10000, 10001, 10002))
        first = options.azurite_port
        blob, queue, table = (first, first + 1, first + 2) if first else (0, 0, 0)
        azurite = await asyncio.to_thread(
            Azurite.start, blob_port=blob, queue_port=queue, table_port=table, data=options.data
        )
        stack.callback(azurite.stop)
        return found.with_storage(azurite.connection_string)

    async def _start_listeners(self, stack: AsyncExitStack, app: App) -> StatusStore | None:
        """What needs storage; None where nothing does."""
        polled = [f for f in app.functions.functions if f.kind != "httpTrigger"]
        if not polled:
            return None
        container = find_connection(app.settings, STORAGE).container(CONTAINER)
        await _reach(STORAGE, await stack.enter_async_context(container))
        store, watchers = StatusStore(container, app.host_id), Watchers()
        for function in polled:
            if function.disabled:
                continue
            if function.kind == "timerTrigger":
                self._listeners.append(_timer_listener(app, function, store))
            else:
                self._listeners.append(await _queue_listener(stack, app, function, watchers))
        return store

    def _announce(self, app: App, port: int) -> None:
        for line in listing(app.functions, app.options.route_prefix, port):
            self._console.write(line)
        path = f"/{app.options.route_prefix}".rstrip("/")
        self._console.write(f"Ready: http://{ADDRESS}:{port}{path}")

    async def _stop_serving(self, runner: web.AppRunner, polls: list[asyncio.Task[None]]) -> None:
        """No new run; those that run get a little time."""
        for poll in polls:
            poll.cancel()
        await asyncio.gather(*polls, return_exceptions=True)
        drains = [listener.drain(STOP_TIMEOUT) for listener in self._listeners]
        await asyncio.gather(runner.cleanup(), *drains)


def _timer_listener(app: App, function: Function, store: StatusStore) -> TimerListener:
    async def invoke(call: Call) -> Data | None:
        return await app.invoker.invoke(function, call)

    return TimerListener(function, store=store, invoke=invoke, console=app.console)


async def _queue_listener(
    stack: AsyncExitStack, app: App, function: Function, watchers: Watchers
) -> QueueListener:
    account = find_connection(app.settings, function.trigger["connection"])
    name = function.trigger["queueName"]
    poison = poison_name(name)
    processor = QueueProcessor(
        queue=await stack.enter_async_context(account.queue(name)),
        poison=await stack.enter_async_context(account.queue(poison)) if poison else None,
        options=app.options.queues,
        invoke=lambda message: app.invoker.invoke(function, queue_call(function, message)),
        watchers=watchers,
        console=app.console,
    )
    return QueueListener(processor)


async def _first_of(stop: asyncio.Event, polls: list[asyncio.Task[None]]) -> None:
    """A listener only ends by an error, and takes the host with it."""
    waiting = asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait({waiting, *polls}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    for task in done - {waiting}:
        try:
            task.result()
        except (AzureError, ValueError, KeyError) as error:
            raise HostError(f"A listener failed. Host is shutting down. {error!r}") from error


async def _reach(name: str, container: ContainerClient) -> None:
    try:
        await container.exists()
    except AzureError as error:
        raise HostError(f"The storage account of '{name}' cannot be reached: {error}") from error


def _listen(port: int) -> socket.socket:
    """Taken before all else is started. Raises HostError where somebody has it."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((ADDRESS, port))
        listening.listen()
    except OSError as error:
        listening.close()
        text = f"Port {port} is taken ({error.strerror}). Choose another --port."
        raise HostError(text) from error
    return listening
