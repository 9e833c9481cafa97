"""One run of a function: its log lines, its time limit, its result."""

import asyncio
import re
import secrets
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from devhost.console import ERROR, PRINTED, WARNING, Console
from devhost.functions import Function
from devhost.hostjson import INFORMATION
from devhost.supervisor import WorkerPool
from devhost.timespan import format_timespan
from devhost.worker_process import Data, FunctionFailedError, Invocation

# How long a run over its time may still end by itself before its worker is ended.
GRACE = 2.0
BY_HOST_API = "This function was programmatically called via the host APIs."
LIBRARY_LOGGERS = ("azure.functions", "azure_functions_runtime")
_PARENT = re.compile(r"00-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})")


@dataclass(frozen=True, kw_only=True)
class Retry:
    """Which run of a policy this is: `number` 0 is the first, before `most` more."""

    number: int = 0
    most: int = 0


@dataclass(frozen=True, kw_only=True)
class Call:
    """Why and with what a function is run. `trace` is the caller's traceparent and tracestate."""

    reason: str
    data: Data
    metadata: Mapping[str, Data] = field(default_factory=dict)
    details: Sequence[tuple[str, str]] = ()
    trace: tuple[str, str] = ("", "")
    retry: Retry = Retry()


class Invoker:
    """Runs functions in the workers and says what became of them."""

    def __init__(self, pool: WorkerPool, console: Console, timeout: timedelta | None) -> None:
        self._pool, self._console, self._timeout = pool, console, timeout
        self._executing: dict[str, str] = {}
        pool.log = self._log

    async def invoke(self, function: Function, call: Call) -> Data | None:
        """The return value. Raises FunctionFailedError, also for a lost worker or a time-out."""
        invocation = Invocation(
            id=str(uuid.uuid4()),
            function_id=function.function_id,
            inputs=((function.trigger["name"], call.data),),
            metadata=call.metadata,
            trace=(_child_of(call.trace[0]), call.trace[1]),
            retry=(call.retry.number, call.retry.most),
        )
        full_name, started = f"Functions.{function.name}", time.monotonic()
        category = f"Function.{function.name}"
        self._console.log(
            category,
            INFORMATION,
            f"Executing '{full_name}' (Reason='{call.reason}', Id={invocation.id})",
        )
        if call.details:
            text = ", ".join(f"{name}: {value}" for name, value in call.details)
            self._console.log(category, INFORMATION, f"Trigger Details: {text}")
        outcome, level, error_text = "Failed", ERROR, ""
        try:
            result = await self._run_in_time(function, invocation)
            outcome, level = "Succeeded", INFORMATION
            return result
        except FunctionFailedError as error:
            error_text = f"\nException while executing function: {full_name}. {error}"
            raise
        finally:
            took = f"{(time.monotonic() - started) * 1000:.0f}ms"
            text = f"Executed '{full_name}' ({outcome}, Id={invocation.id}, Duration={took})"
            self._console.log(category, level, text + error_text)

    async def _run_in_time(self, function: Function, invocation: Invocation) -> Data | None:
        self._executing[invocation.id] = function.name
        run = asyncio.create_task(self._pool.run(invocation))
        limit = self._timeout.total_seconds() if self._timeout else None
        try:
            done, _ = await asyncio.wait({run}, timeout=limit)
            if done:
                return run.result()
            await self._give_up(function, invocation, run)
        finally:
            self._executing.pop(invocation.id, None)
            run.cancel()
        assert self._timeout is not None
        raise FunctionFailedError(
            f"Timeout value of {format_timespan(self._timeout)} was exceeded by function: "
            f"Functions.{function.name}"
        )

    async def _give_up(
        self, function: Function, invocation: Invocation, run: "asyncio.Task[Data | None]"
    ) -> None:
        """Over time: a Python function is never told, its process is ended after a short grace."""
        assert self._timeout is not None
        self._executing.pop(invocation.id, None)
        self._console.log(
            f"Function.{function.name}",
            ERROR,
            f"Timeout value of {format_timespan(self._timeout)} exceeded by function "
            f"'Functions.{function.name}' (Id: '{invocation.id}'). Initiating cancellation.",
        )
        done, _ = await asyncio.wait({run}, timeout=GRACE)
        if not done:
            self._console.log(
                "Host.General",
                WARNING,
                "A function timeout has occurred. Restarting worker process executing "
                f"invocationId '{invocation.id}'.",
            )
            await self._pool.kill_worker_of(invocation.id)
            done, _ = await asyncio.wait({run}, timeout=GRACE)
        for finished in done:
            finished.exception()  # it failed by its time, whatever it says now

    def _log(self, python_level: int, logger: str, invocation: str | None, text: str) -> None:
        """A record of a worker. What comes after its invocation ended is dropped, as in Azure."""
        level = min(max(python_level // 10, 0), 5)
        if logger.startswith(LIBRARY_LOGGERS):
            self._console.log("Worker", level, text)
        elif invocation is None:
            self._console.log(PRINTED, level, text)
        elif invocation in self._executing:
            category = f"Function.{self._executing[invocation]}.User"
            self._console.log(category, level, text)


def _child_of(parent: str) -> str:
    """A span of our own in the caller's trace, or in a new one."""
    found = _PARENT.fullmatch(parent)
    trace, flags = found.groups() if found else (secrets.token_hex(16), "00")
    return f"00-{trace}-{secrets.token_hex(8)}-{flags}"
