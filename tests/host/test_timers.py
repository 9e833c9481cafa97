"""Timers: what they remember, what they make up for, what they tell their function."""

import asyncio
import json
import re
import socket
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from azure.core.exceptions import ResourceNotFoundError

from devhost.azurite import Azurite
from devhost.timer_status import Status, host_id
from tests.host.timer_bench import MINUTE, NOW, SCHEDULE, Bench, at, on_fresh_container


@pytest.fixture
def on_bench(azurite: Azurite) -> Callable[..., None]:
    """Runs a coroutine with a timer bench on a fresh container."""
    return on_fresh_container(azurite)


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
