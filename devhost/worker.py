"""The worker: a process of its own that runs the functions through Microsoft's worker library.

`python -m devhost.worker <socket fd> <app folder>`. What the functions do to this process is
theirs to bear: the host sees it end, fails what was running in it and starts another.
"""

import asyncio
import contextvars
import logging
import os
import socket
import sys
import threading
from types import SimpleNamespace
from typing import Any, NoReturn

import azure_functions_runtime as runtime
from azure_functions_runtime.bindings.context import _invocation_id_local
from azure_functions_runtime.utils.executor import invocation_id_cv

from devhost.channel import Channel
from devhost.protos import ParameterBinding, plain_data, protos, typed_data

# What Python code raises to end the program; the library lets it pass, and Azure loses the worker.
ENDINGS = (SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError)
_invocation: contextvars.ContextVar[str | None] = contextvars.ContextVar("invocation", default=None)


class LogToHost(logging.Handler):
    """Sends each record with the invocation it belongs to, as far as that can be known."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        """Async functions carry our variable, sync ones the library's, user threads its local."""
        invocation = _invocation.get() or invocation_id_cv.get()
        invocation = invocation or getattr(_invocation_id_local, "invocation_id", None)
        text = self.format(record)
        self._channel.send(("log", (record.levelno, record.name, invocation, text)))


async def serve(channel: Channel, app: str) -> None:
    """Index the app, then run what the host asks for, all at once, until the host is gone."""
    loop = asyncio.get_running_loop()
    requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    runtime.start_threadpool_executor()
    channel.send(await _index(app))
    reader = threading.Thread(target=_read, args=(channel, loop, requests), daemon=True)
    reader.start()
    running = set()
    while True:
        task = loop.create_task(_run(channel, await requests.get()))
        running.add(task)
        task.add_done_callback(running.discard)


def _read(
    channel: Channel, loop: asyncio.AbstractEventLoop, requests: asyncio.Queue[dict[str, Any]]
) -> None:
    """Not in the loop: a function that blocks the loop must not keep us when the host is gone."""
    while True:
        try:
            request = channel.receive()
        except (EOFError, OSError):
            _end(0)
        loop.call_soon_threadsafe(requests.put_nowait, request)


async def _index(app: str) -> tuple[str, Any]:
    """Import the app: `functions` with their bindings, or `failed` with message and traceback."""
    answer = await runtime.worker_init_request(
        _request("worker_init_request", capabilities={}, function_app_directory=app)
    )
    if answer.result.status != protos.StatusResult.Success:
        return "failed", (answer.result.exception.message, answer.result.exception.stack_trace)
    answer = await runtime.functions_metadata_request(
        _request("functions_metadata_request", function_app_directory=app)
    )
    described = [
        {
            "name": f.name,
            "id": f.function_id,
            "bindings": list(f.raw_bindings),
            "retry": _retry_policy(f.retry_options),
        }
        for f in answer.function_metadata_results or ()
    ]
    return "functions", described


def _retry_policy(options: Any) -> dict[str, Any] | None:
    """What `@app.retry` says, as the fields of a policy of the host."""
    if options is None:
        return None
    if options.retry_strategy == "fixed_delay":
        return {"most": options.max_retry_count, "fixed": options.delay_interval}
    return {
        "most": options.max_retry_count,
        "shortest": options.minimum_interval,
        "longest": options.maximum_interval,
    }


async def _run(channel: Channel, invocation: dict[str, Any]) -> None:
    _invocation.set(invocation["id"])
    try:
        answer = await runtime.invocation_request(_invocation_request(invocation))
    except ENDINGS as ending:
        code = getattr(ending, "code", 1)
        _end(code if isinstance(code, int) else 0 if code is None else 1)
    if answer.result.status == protos.StatusResult.Success:
        result = ("done", plain_data(getattr(answer, "return_value", None)))
    else:
        error = answer.result.exception
        result = ("failed", (error.message, error.stack_trace))
    channel.send(("result", (invocation["id"], *result)))


def _invocation_request(invocation: dict[str, Any]) -> SimpleNamespace:
    inputs = [
        ParameterBinding(name=name, data=typed_data(data)) for name, data in invocation["inputs"]
    ]
    parent, state = invocation["trace"]
    number, most = invocation["retry"]
    return _request(
        "invocation_request",
        invocation_id=invocation["id"],
        function_id=invocation["function_id"],
        input_data=inputs,
        trigger_metadata={key: typed_data(data) for key, data in invocation["metadata"].items()},
        trace_context=SimpleNamespace(trace_parent=parent, trace_state=state, attributes={}),
        retry_context=SimpleNamespace(retry_count=number, max_retry_count=most, exception=None),
    )


def _request(kind: str, **content: Any) -> SimpleNamespace:
    return SimpleNamespace(
        name=kind,
        request=SimpleNamespace(**{kind: SimpleNamespace(**content)}),
        properties={"protos": protos, "host": "127.0.0.1"},
    )


def _end(code: int) -> NoReturn:
    """At once: an ordinary exit would wait for the threads of functions that still run."""
    sys.stdout.flush()
    os._exit(code)


def main() -> None:
    """Start as the host asked in the arguments."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.set_inheritable(False)
    channel = Channel(connection)
    app = sys.argv[2]
    sys.path[0] = app  # in place of the folder that this module was found in
    os.chdir(app)
    root = logging.getLogger()
    root.addHandler(LogToHost(channel))
    debug = os.environ.get("PYTHON_ENABLE_DEBUG_LOGGING", "").lower() in ("1", "true")
    root.setLevel(logging.DEBUG if debug else logging.INFO)
    asyncio.run(serve(channel, app))


if __name__ == "__main__":
    main()
