"""Timer triggers: when they fire, and what their functions are told."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from azure.core.exceptions import AzureError

from devhost.console import ERROR, Console
from devhost.functions import Function
from devhost.hostjson import INFORMATION
from devhost.invoker import Call
from devhost.retries import RetryPolicy, invoke_with_retries
from devhost.schedule import Schedule, parse_schedule
from devhost.timer_status import Status, StatusStore, check
from devhost.worker_process import FunctionFailedError

CATEGORY = "Host.Triggers.Timer"

Invoke = Callable[[Call], Awaitable[object]]
Clock = Callable[[], datetime]


class TimerListener:
    """Fires one function, never twice at once, and keeps its status."""

    def __init__(
        self,
        function: Function,
        *,
        store: StatusStore,
        invoke: Invoke,
        console: Console,
        clock: Clock = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._function, self._invoke, self._console = function, invoke, console
        self._store, self._clock, self._sleep = store, clock, sleep
        self._schedule = parse_schedule(function.trigger["schedule"])
        self._policy = RetryPolicy.of(function.retry)
        self._monitored = bool(function.trigger.get("useMonitor", True))
        if self._schedule.more_often_than_a_minute(clock()):
            self._monitored = False
        self._status: Status | None = None
        self._firing: asyncio.Task[datetime] | None = None

    async def run(self) -> None:
        """Until cancelled; a run that is under way goes on."""
        name, now = self._function.name, self._clock()
        self._say(f"The '{name}' timer is using the schedule '{self._schedule.text}'")
        past_due, upcoming = False, self._schedule.next_after(now)
        if self._monitored:
            stored = await self._store.read(name)
            self._status, past_due = check(stored, self._schedule, now)
            self._say(f"Function '{name}' initial status: {self._status.as_json()}")
            if self._status != stored:
                await self._store.write(name, self._status)
            upcoming = self._status.next
        if past_due:
            self._say(f"Function '{name}' is past due on startup. Executing now.")
            upcoming = await self._fire("IsPastDue", upcoming)
        elif self._function.trigger.get("runOnStartup"):
            self._say(f"Function '{name}' is configured to run on startup. Executing now.")
            upcoming = await self._fire("RunOnStartup", upcoming)
        while True:
            await self._sleep_until(upcoming)
            upcoming = await self._fire(None, upcoming)

    async def drain(self, timeout: float) -> None:
        """Wait for what still runs. What is not done in time is past due at the next start."""
        if self._firing:
            _, late = await asyncio.wait({self._firing}, timeout=timeout)
            for task in late:
                task.cancel()

    async def _fire(self, unscheduled: str | None, planned: datetime) -> datetime:
        """When to run next."""
        self._firing = asyncio.create_task(self._run_once(unscheduled, planned))
        return await asyncio.shield(self._firing)

    async def _run_once(self, unscheduled: str | None, planned: datetime) -> datetime:
        """One run, its retries and its status; when to run next. Whatever a function does."""
        started = self._clock()
        call = timer_call(
            self._schedule,
            self._status,
            now=started,
            unscheduled=unscheduled,
            planned=planned,
        )
        try:
            await invoke_with_retries(
                self._invoke, call, self._policy, sleep=self._sleep, say=self._say
            )
        except FunctionFailedError:
            outcome = "failed; its schedule goes on"
            self._console.log(CATEGORY, INFORMATION, f"'{self._function.name}' {outcome}.")
        status = Status(last=started, next=self._schedule.next_after(started), last_updated=started)
        if self._monitored:
            self._status = status
            await self._remember(status)
        return status.next

    async def _remember(self, status: Status) -> None:
        try:
            await self._store.write(self._function.name, status)
        except AzureError as error:
            name = self._function.name
            text = f"Function '{name}' failed to update the timer trigger status. {error}"
            self._console.log(CATEGORY, ERROR, text)

    async def _sleep_until(self, moment: datetime) -> None:
        """In parts, so that a machine that slept wakes up in time."""
        while (rest := moment - self._clock()) > timedelta(0):
            await self._sleep(min(rest.total_seconds(), 60.0))

    def _say(self, text: str) -> None:
        self._console.log(CATEGORY, INFORMATION, text)


def timer_call(
    schedule: Schedule,
    status: Status | None,
    *,
    now: datetime,
    unscheduled: str | None = None,
    planned: datetime | None = None,
    reason: str | None = None,
) -> Call:
    """What a timer function gets: the status before this run, and whether it is past due."""
    info = {
        "Schedule": {"AdjustForDST": schedule.adjusts_for_dst},
        "ScheduleStatus": status.as_json() if status else None,
        "IsPastDue": unscheduled == "IsPastDue",
    }
    details: list[tuple[str, str]] = []
    if unscheduled:
        details.append(("UnscheduledInvocationReason", unscheduled))
        if planned and unscheduled == "IsPastDue":
            details.append(("OriginalSchedule", planned.astimezone().isoformat()))
    local = now.astimezone()
    return Call(
        reason=reason or f"Timer fired at {local.isoformat()}",
        data=("json", json.dumps(info)),
        metadata={"TimerTrigger": ("string", f"{local:%m/%d/%Y %H:%M:%S}")},
        details=details,
    )
