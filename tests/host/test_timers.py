"""Timers: what they remember, what they make up for, what they tell their function."""

import asyncio
import json
import re
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.blob.aio import ContainerClient

from devhost.azurite import Azurite
from devhost.connections import StorageConnection
from devhost.console import Console
from devhost.functions import Function
from devhost.invoker import Call
from devhost.schedule import parse_schedule
from devhost.timer_status import Status, StatusStore, check, host_id
from devhost.timers import TimerListener
from devhost.worker_process import FunctionFailedError

NOW = datetime(2026, 8, 1, 10, 2, tzinfo=UTC)
EVERY_FIVE = "0 */5 * * * *"
MINUTE = timedelta(minutes=1)
SCHEDULE = parse_schedule(EVERY_FIVE, UTC)


def at(minute: int, second: int = 0) -> datetime:
    """That minute of the hour of NOW."""
    return NOW.replace(minute=minute, second=second)


def test_status_is_made_at_the_first_start() -> None:
    """It never ran, and is not past due."""
    assert check(None, SCHEDULE, NOW) == (Status(last=None, next=at(5), last_updated=NOW), False)


def test_status_with_its_next_time_ahead_is_kept() -> None:
    """Nothing is due."""
    status = Status(last=at(0), next=at(5), last_updated=at(0))
    assert check(status, SCHEDULE, NOW) == (status, False)


def test_status_with_its_next_time_missed_is_past_due() -> None:
    """However many were missed, the status is one run behind."""
    status = Status(last=at(0) - 3 * MINUTE * 60, next=at(5) - 3 * MINUTE * 60, last_updated=NOW)
    assert check(status, SCHEDULE, NOW) == (status, True)


def test_status_of_a_run_that_was_killed_is_past_due() -> None:
    """It is written after the run, so its next time is still the one that was killed."""
    status = Status(last=at(0), next=at(5), last_updated=at(0))
    assert check(status, SCHEDULE, at(6))[1] is True


def test_status_that_never_ran_counts_from_its_last_update() -> None:
    """The first run can be missed as well."""
    status = Status(last=None, next=at(5), last_updated=at(1))
    assert check(status, SCHEDULE, at(6)) == (status, True)


def test_status_under_a_changed_schedule_forgets_its_last_run() -> None:
    """The next time is what the new schedule says from the last run on."""
    status = Status(last=at(0), next=at(30), last_updated=at(0))
    expected = Status(last=None, next=at(5), last_updated=at(0))
    assert check(status, SCHEDULE, NOW) == (expected, False)


def test_status_under_a_changed_schedule_is_not_past_due() -> None:
    """What the new schedule would have done in the past is not made up for."""
    status = Status(last=at(0), next=at(30), last_updated=at(0))
    expected = Status(last=None, next=at(10), last_updated=at(7))
    assert check(status, SCHEDULE, at(7)) == (expected, False)


def test_status_as_json_has_local_times_with_their_offset() -> None:
    """A run that never was is the first year."""
    content = Status(last=None, next=at(5), last_updated=NOW).as_json()
    assert content["Last"].startswith("0001-01-01T00:00:00")
    assert datetime.fromisoformat(content["Next"]) == at(5)
    assert datetime.fromisoformat(content["Next"]).utcoffset() is not None


@pytest.mark.parametrize("never", ["0001-01-01T00:00:00", "0001-01-01T00:00:00+00:00"])
def test_status_written_by_the_real_host_is_read(never: str) -> None:
    """Seven digits of a second, and a first year with or without an offset."""
    content = {
        "Last": never,
        "Next": "2026-08-01T12:05:00+02:00",
        "LastUpdated": "2026-08-01T10:02:00.0000001+00:00",
    }
    assert Status.from_json(content) == Status(last=None, next=at(5), last_updated=NOW)


@dataclass(kw_only=True)
class Bench:
    """A timer with a clock of its own: sleeping moves the clock."""

    container: ContainerClient
    now: datetime = NOW
    calls: list[tuple[datetime, Call]] = field(default_factory=list)
    run_takes: timedelta = timedelta(0)
    fails: bool = False
    fail_first: int = 0  # so many runs
    gate: asyncio.Event | None = None  # a run ends when it is open

    @property
    def store(self) -> StatusStore:
        """The status blobs."""
        return StatusStore(self.container, "host-1")

    def listener(self, *, retry: dict[str, Any] | None = None, **trigger: Any) -> TimerListener:
        """A timer with these properties."""
        function = Function(
            name="tick",
            function_id="id",
            trigger={"type": "timerTrigger", "name": "t", "schedule": EVERY_FIVE, **trigger},
            bindings=(),
            disabled=False,
            retry=retry,
        )
        return TimerListener(
            function,
            store=self.store,
            invoke=self.invoke,
            console=Console(),
            clock=lambda: self.now,
            sleep=self.sleep,
        )

    async def sleep(self, seconds: float) -> None:
        """Without waiting."""
        self.now += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    async def invoke(self, call: Call) -> None:
        """A run of the function."""
        self.calls.append((self.now, call))
        self.now += self.run_takes
        if self.gate is not None:
            await self.gate.wait()
        if self.fails or len(self.calls) <= self.fail_first:
            raise FunctionFailedError("no")

    async def run(self, listener: TimerListener, count: int) -> list[dict[str, Any]]:
        """Let the timer run until so many calls are over; what the function was given."""
        poll = asyncio.create_task(listener.run())
        async with asyncio.timeout(20):
            while len(self.calls) < count and not poll.done():
                await asyncio.sleep(0)
            await listener.drain(10)
        poll.cancel()
        await asyncio.wait({poll})
        return [json.loads(call.data[1]) for _, call in self.calls[:count]]

    @property
    def times(self) -> list[datetime]:
        """When the runs began."""
        return [time for time, _ in self.calls]


@pytest.fixture
def on_bench(azurite: Azurite) -> Callable[..., None]:
    """Runs a coroutine with a timer bench on a fresh container."""

    def run(body: Callable[[Bench], Coroutine[Any, Any, None]], **changes: Any) -> None:
        async def on_loop() -> None:
            async with _container(azurite) as container:
                await body(Bench(container=container, **changes))

        asyncio.run(on_loop())

    return run


@asynccontextmanager
async def _container(azurite: Azurite) -> AsyncIterator[ContainerClient]:
    account = StorageConnection(connection_string=azurite.connection_string)
    async with account.container(f"hosts-{uuid.uuid4().hex}") as container:
        yield container


def test_timer_fires_at_its_times(on_bench: Callable[..., None]) -> None:
    """Not at the start, then whenever the schedule says."""

    async def body(bench: Bench) -> None:
        await bench.run(bench.listener(), 3)
        assert bench.times[:3] == [at(5), at(10), at(15)]

    on_bench(body)


def test_timer_keeps_its_status_in_the_account_of_the_host(on_bench: Callable[..., None]) -> None:
    """One line of JSON in a blob with the name of host and function, made with its container."""

    async def body(bench: Bench) -> None:
        await bench.run(bench.listener(), 1)
        blob = await bench.container.download_blob("timers/host-1/Host.Functions.tick/status")
        content = json.loads(await blob.readall())
        assert list(content) == ["Last", "Next", "LastUpdated"]
        assert datetime.fromisoformat(content["Last"]) == at(5)
        assert datetime.fromisoformat(content["Next"]) == at(10)

    on_bench(body)


def test_timer_without_a_status_stores_one_before_it_fires(on_bench: Callable[..., None]) -> None:
    """So that a first run that is missed is known as such."""

    async def body(bench: Bench) -> None:
        await bench.run(bench.listener(), 1)
        info = json.loads(bench.calls[0][1].data[1])
        assert info["ScheduleStatus"]["Last"].startswith("0001")
        assert datetime.fromisoformat(info["ScheduleStatus"]["Next"]) == at(5)
        assert datetime.fromisoformat(info["ScheduleStatus"]["LastUpdated"]) == NOW

    on_bench(body)


def test_timer_tells_its_function_the_status_before_the_run(on_bench: Callable[..., None]) -> None:
    """`Next` is the planned time of this very run."""

    async def body(bench: Bench) -> None:
        infos = await bench.run(bench.listener(), 2)
        assert infos[1]["IsPastDue"] is False
        assert infos[1]["Schedule"] == {"AdjustForDST": True}
        status = infos[1]["ScheduleStatus"]
        assert [datetime.fromisoformat(status[key]) for key in ("Last", "Next")] == [at(5), at(10)]

    on_bench(body)


def test_timer_that_is_past_due_runs_once_at_the_start(on_bench: Callable[..., None]) -> None:
    """One run makes up for all that were missed; then the schedule goes on."""

    async def body(bench: Bench) -> None:
        hours_ago = NOW - timedelta(hours=3)
        missed = SCHEDULE.next_after(hours_ago)
        await bench.store.write("tick", Status(last=hours_ago, next=missed, last_updated=hours_ago))
        infos = await bench.run(bench.listener(), 3)
        assert bench.times[:3] == [NOW, at(5), at(10)]
        assert [info["IsPastDue"] for info in infos] == [True, False, False]
        details = dict(bench.calls[0][1].details)
        assert details["UnscheduledInvocationReason"] == "IsPastDue"
        assert datetime.fromisoformat(details["OriginalSchedule"]) == missed

    async def with_container(bench: Bench) -> None:
        await bench.container.create_container()
        await body(bench)

    on_bench(with_container)


def test_timer_that_runs_on_startup_runs_at_the_start(on_bench: Callable[..., None]) -> None:
    """Without being past due."""

    async def body(bench: Bench) -> None:
        infos = await bench.run(bench.listener(runOnStartup=True), 2)
        assert bench.times[:2] == [NOW, at(5)]
        assert infos[0]["IsPastDue"] is False
        assert dict(bench.calls[0][1].details) == {"UnscheduledInvocationReason": "RunOnStartup"}

    on_bench(body)


def test_timer_that_is_past_due_does_not_run_on_startup_too(on_bench: Callable[..., None]) -> None:
    """Exactly one run at the start."""

    async def body(bench: Bench) -> None:
        await bench.container.create_container()
        old = Status(last=at(0), next=at(1), last_updated=at(0))
        stored = Status(
            last=None,
            next=SCHEDULE.next_after(at(0) - 10 * MINUTE),
            last_updated=at(0) - 10 * MINUTE,
        )
        assert old != stored
        await bench.store.write("tick", stored)
        infos = await bench.run(bench.listener(runOnStartup=True), 2)
        assert bench.times[:2] == [NOW, at(5)]
        assert [info["IsPastDue"] for info in infos] == [True, False]

    on_bench(body)


def test_timer_that_fails_keeps_its_schedule_and_status(on_bench: Callable[..., None]) -> None:
    """Without a policy there is no retry, and a failure counts as a run."""

    async def body(bench: Bench) -> None:
        await bench.run(bench.listener(), 2)
        assert bench.times[:2] == [at(5), at(10)]
        status = await bench.store.read("tick")
        assert status is not None
        assert status.last == bench.times[-1]

    on_bench(body, fails=True)


HALF_A_MINUTE = timedelta(seconds=30)
THREE_TIMES = {"most": 3, "fixed": HALF_A_MINUTE}


def test_timer_with_a_policy_runs_again_until_it_succeeds(on_bench: Callable[..., None]) -> None:
    """After its delay, told how often; then the schedule goes on from the first of these runs."""

    async def body(bench: Bench) -> None:
        await bench.run(bench.listener(retry=THREE_TIMES), 4)
        assert bench.times[:4] == [at(5), at(5, 30), at(6), at(10)]
        retries = [(call.retry.number, call.retry.most) for _, call in bench.calls[:4]]
        assert retries == [(0, 3), (1, 3), (2, 3), (0, 3)]

    on_bench(body, fail_first=2)


def test_timer_with_a_policy_gives_up_after_its_last_run(on_bench: Callable[..., None]) -> None:
    """The next time of the schedule is a fresh start."""

    async def body(bench: Bench) -> None:
        await bench.run(bench.listener(retry=THREE_TIMES), 5)
        assert bench.times[:5] == [at(5), at(5, 30), at(6), at(6, 30), at(10)]

    on_bench(body, fails=True)


def test_timer_with_a_policy_that_doubles_waits_longer_each_time(
    on_bench: Callable[..., None],
) -> None:
    """From the shortest wait to the longest."""
    policy = {"most": 6, "shortest": timedelta(seconds=1), "longest": timedelta(seconds=8)}

    async def body(bench: Bench) -> None:
        await bench.run(bench.listener(retry=policy), 7)
        waits = [b - a for a, b in pairwise(bench.times[:7])]
        assert waits == sorted(waits)
        assert (waits[0], waits[-1]) == (policy["shortest"], policy["longest"])

    on_bench(body, fails=True)


def test_timer_whose_policy_has_no_end_runs_until_it_succeeds(
    on_bench: Callable[..., None],
) -> None:
    """Minus one is for ever."""

    async def body(bench: Bench) -> None:
        await bench.run(bench.listener(retry={"most": -1, "fixed": timedelta(seconds=1)}), 9)
        assert bench.times[:9] == [at(5, second) for second in range(9)]

    on_bench(body, fails=True)


def test_timer_that_runs_over_its_next_time_catches_up_once(on_bench: Callable[..., None]) -> None:
    """It never overlaps; missed times become one run right after, which is not past due."""

    async def body(bench: Bench) -> None:
        infos = await bench.run(bench.listener(), 3)
        assert bench.times[:3] == [at(5), at(17), at(29)]
        assert [info["IsPastDue"] for info in infos] == [False, False, False]

    on_bench(body, run_takes=timedelta(minutes=12))


def test_timer_without_monitor_keeps_no_status(on_bench: Callable[..., None]) -> None:
    """Its function gets none either."""

    async def body(bench: Bench) -> None:
        infos = await bench.run(bench.listener(useMonitor=False), 2)
        assert [info["ScheduleStatus"] for info in infos] == [None, None]
        with pytest.raises(ResourceNotFoundError):
            await bench.container.get_container_properties()

    on_bench(body)


def test_timer_more_often_than_a_minute_is_not_monitored(on_bench: Callable[..., None]) -> None:
    """Whatever it says itself."""

    async def body(bench: Bench) -> None:
        infos = await bench.run(bench.listener(schedule="*/10 * * * * *", useMonitor=True), 2)
        assert bench.times[:2] == [at(2, 10), at(2, 20)]
        assert infos[0]["ScheduleStatus"] is None

    on_bench(body)


def test_timer_with_an_interval_does_not_adjust_for_daylight_saving(
    on_bench: Callable[..., None],
) -> None:
    """The function is told."""

    async def body(bench: Bench) -> None:
        infos = await bench.run(bench.listener(schedule="00:02:00"), 2)
        assert bench.times[:2] == [at(4), at(6)]
        assert infos[0]["Schedule"] == {"AdjustForDST": False}

    on_bench(body)


def test_timer_metadata_is_the_local_time(on_bench: Callable[..., None]) -> None:
    """As a text."""

    async def body(bench: Bench) -> None:
        await bench.run(bench.listener(), 1)
        local = at(5).astimezone()
        text = f"{local:%m/%d/%Y %H:%M:%S}"
        assert bench.calls[0][1].metadata == {"TimerTrigger": ("string", text)}

    on_bench(body)


def test_timer_that_stops_lets_its_run_end(on_bench: Callable[..., None]) -> None:
    """And stores its status; no further run is begun."""

    async def body(bench: Bench) -> None:
        listener = bench.listener()
        poll = asyncio.create_task(listener.run())
        async with asyncio.timeout(20):
            while not bench.calls:
                await asyncio.sleep(0)
            bench.gate = asyncio.Event()
            while len(bench.calls) < 2:
                await asyncio.sleep(0)
            poll.cancel()
            await asyncio.wait({poll})
            bench.gate.set()
            await listener.drain(10)
        status = await bench.store.read("tick")
        assert status is not None
        assert (status.last, bench.times) == (at(10), [at(5), at(10)])

    on_bench(body)


def test_host_id_that_is_configured_is_used() -> None:
    """Whatever the machine and the folder are."""
    assert host_id(Path("/srv/app"), "mine") == "mine"


def test_host_id_is_made_of_machine_and_folder() -> None:
    """The letters and digits of the machine's name, and a number that stands for the folder."""
    machine = re.sub("[^A-Za-z0-9]", "", socket.gethostname())
    expected = f"{machine}-251135983"[:32].lower().rstrip("-")
    assert host_id(Path("/srv/app"), None) == expected
