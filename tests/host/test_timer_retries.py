"""A timer whose run fails: with and without a retry policy."""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from devhost.azurite import Azurite
from tests.host.timer_bench import Bench, at, on_fresh_container

HALF_A_MINUTE = timedelta(seconds=30)
THREE_TIMES = {"most": 3, "fixed": HALF_A_MINUTE}


@pytest.fixture
def on_bench(azurite: Azurite) -> Callable[..., None]:
    """Runs a coroutine with a timer bench on a fresh container."""
    return on_fresh_container(azurite)


def test_timer_that_fails_keeps_its_schedule_and_status(on_bench: Callable[..., None]) -> None:
    """Without a policy there is no retry, and a failure counts as a run."""

    async def body(bench: Bench) -> None:
        await bench.run(bench.listener(), 2)
        assert bench.times[:2] == [at(5), at(10)]
        status = await bench.store.read("tick")
        assert status is not None
        assert status.last == bench.times[-1]

    on_bench(body, fails=True)


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
