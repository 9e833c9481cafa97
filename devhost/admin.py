"""The endpoints under /admin, as far as a local app is looked at and driven through them."""

import asyncio
import json
import os
import socket
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from devhost.app import App
from devhost.bindingdata import Message
from devhost.console import ERROR
from devhost.functions import Function
from devhost.invoker import BY_HOST_API, Call
from devhost.queue_messages import queue_call
from devhost.schedule import parse_schedule
from devhost.timer_status import StatusStore
from devhost.timers import timer_call
from devhost.worker_process import FunctionFailedError

VERSION = "4.devhost"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Admin:
    """Answers without a key, as `func start` does."""

    def __init__(self, app: App, store: StatusStore | None) -> None:
        self._app, self._functions = app, app.functions
        self._store, self._started = store, time.monotonic()
        self._running: set[asyncio.Task[None]] = set()

    def routes(self) -> list[web.RouteDef]:
        """What to put before the routes of the functions."""
        return [
            web.get("/admin/host/status", self._status),
            web.route("*", "/admin/host/ping", self._ping),
            web.post("/admin/functions/{name}", self._invoke),
            web.route("*", "/admin/{rest:.*}", _nothing),
        ]

    async def _ping(self, _request: web.Request) -> web.Response:
        return web.Response()

    async def _status(self, _request: web.Request) -> web.Response:
        content: dict[str, Any] = {
            "id": self._app.host_id,
            "state": "Running",
            "version": VERSION,
            "instanceId": str(os.getpid()),
            "computerName": socket.gethostname(),
            "processUptime": int((time.monotonic() - self._started) * 1000),
            "functionAppContentEditingState": "Unknown",
        }
        errors = self._functions.complaints()
        content |= {"errors": errors} if errors else {}
        content |= {"extensionBundle": self._app.options.bundle} if self._app.options.bundle else {}
        return web.json_response(content)

    async def _invoke(self, request: web.Request) -> web.Response:
        """Accepted means that it was begun; what became of it is in the log."""
        function = self._functions.find(request.match_info["name"])
        if function is None:
            return web.Response(status=404)
        if request.content_type != "application/json" and request.can_read_body:
            return web.Response(status=415)
        try:
            body = json.loads(await request.text() or "null")
        except ValueError:
            return web.Response(status=400)
        if not isinstance(body, dict):
            return web.Response(status=400)
        given = next((value for key, value in body.items() if key.lower() == "input"), None)
        task = asyncio.create_task(self._run(function, "" if given is None else str(given)))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return web.Response(status=202)

    async def _run(self, function: Function, given: str) -> None:
        if function.kind == "httpTrigger":
            text = f"Exception while executing function: Functions.{function.name}."
            category = f"Function.{function.name}"
            self._app.console.log(category, ERROR, f"{text} An HttpRequest is required.")
            return
        try:
            await self._app.invoker.invoke(function, await self._call(function, given))
        except FunctionFailedError:
            return  # it is in the log, and nobody waits for it

    async def _call(self, function: Function, given: str) -> Call:
        if function.kind == "queueTrigger":
            call = queue_call(function, Message(body=given.encode(), dequeue_count=0))
            return Call(reason=BY_HOST_API, data=call.data, metadata=call.metadata)
        status = await self._store.read(function.name) if self._store else None
        schedule = parse_schedule(function.trigger["schedule"])
        return timer_call(schedule, status, now=datetime.now(UTC), reason=BY_HOST_API)


async def _nothing(_request: web.Request) -> web.Response:
    return web.Response(status=404)
