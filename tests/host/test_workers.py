"""Workers that end: what it costs, and that it never ends the host."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from azure.storage.queue import QueueClient

from devhost.azurite import Azurite
from tests.host.running_host import RunningHost

APP = Path(__file__).parent / "apps" / "fragile"
QUICK = ["--worker-restart-delay", "0.1"]
LIMIT = 100 * 1024 * 1024


@pytest.fixture(scope="module")
def queue(azurite: Azurite) -> Iterator[QueueClient]:
    """The queue of the app."""
    with QueueClient.from_connection_string(azurite.connection_string, "fragile") as client:
        client.create_queue()
        yield client
        client.delete_queue()


@pytest.fixture(scope="module")
def host(
    start_host: Callable[..., Any], azurite: Azurite, queue: QueueClient
) -> Iterator[RunningHost]:
    """One host for the tests that do not need their own."""
    with start_host(APP, storage=azurite.connection_string, options=QUICK) as running:
        yield running


def get(host: RunningHost, path: str) -> httpx.Response:
    """One request with patience."""
    return httpx.get(f"{host.base_url}/{path}", timeout=60)


def worker_of(host: RunningHost) -> int:
    """The process that serves now, once one does."""
    return int(get(host, "pid").text)


def test_worker_killed_in_a_run_fails_the_run_and_is_replaced(host: RunningHost) -> None:
    """The caller has an empty 500, and the next one a new process."""
    before, start = worker_of(host), len(host.lines)
    with ThreadPoolExecutor(1) as caller:
        answer = caller.submit(get, host, "hold/60")
        host.wait_for_line("holding 60", after=start)
        assert host.kill_workers() == [before]
        assert (answer.result().status_code, answer.result().content) == (500, b"")
    assert worker_of(host) != before
    host.wait_for_line(r"Functions\.hold\. python exited with code -9", after=start)
    host.wait_for_line(rf"Worker process {before} ended\. Starting another in 0\.1 s", after=start)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("end/exit", 7),
        ("end/system-exit", 4),
        ("end/interrupt", 1),
        ("end/with-child", 8),
        ("end-later/now", 5),
    ],
)
def test_function_that_ends_its_process_fails_and_the_worker_is_replaced(
    host: RunningHost, path: str, code: int
) -> None:
    """By os._exit, or by an exception that only the interpreter catches, sync or async."""
    before, start = worker_of(host), len(host.lines)
    assert get(host, path).status_code == 500
    assert worker_of(host) != before
    host.wait_for_line(f"python exited with code {code}$", after=start)


@pytest.mark.parametrize(("how", "code"), [("exit", 7), ("system-exit", 4)])
def test_worker_that_ends_fails_everything_that_runs_in_it(
    host: RunningHost, how: str, code: int
) -> None:
    """A neighbour's run is lost as well."""
    worker_of(host)
    start = len(host.lines)
    with ThreadPoolExecutor(1) as caller:
        neighbour = caller.submit(get, host, "hold/60")
        host.wait_for_line("holding 60", after=start)
        assert get(host, f"end/{how}").status_code == 500
        assert neighbour.result().status_code == 500
    host.wait_for_line(rf"Functions\.hold\. python exited with code {code}", after=start)


def test_worker_that_ends_again_and_again_is_always_replaced(host: RunningHost) -> None:
    """Azure would give up after three; here is no platform to put another instance in place."""
    pids = set()
    for _ in range(5):
        pids.add(worker_of(host))
        assert get(host, "end/exit").status_code == 500
    assert len(pids) == 5
    assert get(host, "pid").status_code == 200
    assert host.process.poll() is None


def test_message_of_a_worker_that_ended_is_delivered_again(
    host: RunningHost, queue: QueueClient
) -> None:
    """At once, as after any failure."""
    start = len(host.lines)
    queue.send_message("exit")
    host.wait_for_line("job exit delivery 1", after=start)
    host.wait_for_line("job exit delivery 2", after=start)
    host.wait_for_line("job exit done", after=start)
    host.wait_until(lambda: queue.get_queue_properties().approximate_message_count == 0)


def test_run_over_its_time_fails_and_its_worker_is_replaced(host: RunningHost) -> None:
    """The log says so in the host's words, and the rest of that process is lost with it."""
    before, start = worker_of(host), len(host.lines)
    with ThreadPoolExecutor(2) as callers:
        late = callers.submit(get, host, "hold/60")
        host.wait_for_line("holding 60", after=start)
        answer = late.result()
    assert (answer.status_code, answer.content) == (500, b"")
    run = host.wait_for_line(
        r"Timeout value of 00:00:02 exceeded by function 'Functions\.hold' \(Id: '(\S+)'\)\. "
        r"Initiating cancellation\.",
        after=start,
    )[1]
    host.wait_for_line(
        rf"A function timeout has occurred\. Restarting worker process executing .*'{run}'",
        after=start,
    )
    host.wait_for_line(
        r"Timeout value of 00:00:02 was exceeded by function: Functions\.hold", after=start
    )
    assert worker_of(host) != before


def test_run_that_ends_soon_after_its_time_fails_but_keeps_its_worker(
    host: RunningHost, tmp_path: Path
) -> None:
    """There is a short grace before a process is ended; this run ends as the grace begins."""
    mark = tmp_path / "over"
    before, start = worker_of(host), len(host.lines)
    with ThreadPoolExecutor(1) as caller:
        answer = caller.submit(get, host, f"linger?mark={mark}")
        host.wait_for_line(r"exceeded by function 'Functions\.linger'", after=start)
        mark.touch()
        assert answer.result().status_code == 500
    assert worker_of(host) == before


def test_run_that_blocks_its_loop_is_ended_too(host: RunningHost) -> None:
    """The time is kept outside of the worker."""
    before = worker_of(host)
    assert get(host, "block/60").status_code == 500
    assert worker_of(host) != before


def test_message_of_a_run_over_its_time_is_delivered_again(
    host: RunningHost, queue: QueueClient
) -> None:
    """After the worker was ended."""
    start = len(host.lines)
    queue.send_message("hold")
    host.wait_for_line("job hold delivery 1", after=start)
    host.wait_for_line("Restarting worker process", after=start)
    host.wait_for_line("job hold delivery 2", after=start)
    host.wait_for_line("job hold done", after=start)


def test_body_at_the_default_limit_reaches_the_function(host: RunningHost) -> None:
    """100 MiB go through to the worker."""
    answer = httpx.post(f"{host.base_url}/length", content=bytes(LIMIT), timeout=120)
    assert answer.text == str(LIMIT)


def test_body_over_the_default_limit_is_413(host: RunningHost) -> None:
    """Already the announced length is too much."""
    with closing(HTTPConnection(host.origin.removeprefix("http://"), timeout=60)) as connection:
        connection.putrequest("POST", "/api/length")
        connection.putheader("Content-Length", str(LIMIT + 1))
        connection.endheaders()
        assert connection.getresponse().status == 413


def test_workers_of_one_host_share_the_runs(
    start_host: Callable[..., Any], azurite: Azurite
) -> None:
    """As many processes as the setting says, each with its turn; one that ends is not missed."""
    env = {"FUNCTIONS_WORKER_PROCESS_COUNT": "2"}
    slow = ["--worker-restart-delay", "30"]
    with start_host(APP, storage=azurite.connection_string, env=env, options=slow) as host:
        pids = host.worker_pids()
        assert len(pids) == 2
        assert {worker_of(host) for _ in range(4)} == set(pids)
        os.kill(pids[0], signal.SIGKILL)
        host.wait_for_line(f"Worker process {pids[0]} ended")
        assert {worker_of(host) for _ in range(4)} == {pids[1]}


def test_worker_whose_app_broke_meanwhile_is_tried_until_it_is_whole(
    start_host: Callable[..., Any], azurite: Azurite, tmp_path: Path
) -> None:
    """The host waits for the repair, and so does a request."""
    mark = tmp_path / "broken"
    env = {"BROKEN_MARK": str(mark), "AzureFunctionsJobHost__functionTimeout": "00:01:00"}
    with start_host(APP, storage=azurite.connection_string, env=env, options=QUICK) as host:
        mark.touch()
        host.kill_workers()
        host.wait_for_line("The worker did not start: RuntimeError: broken on purpose")
        with ThreadPoolExecutor(1) as caller:
            start = len(host.lines)
            waiting = caller.submit(get, host, "pid")
            host.wait_for_line(r"Executing 'Functions\.pid'", after=start)
            assert not waiting.done()
            mark.unlink()
            assert waiting.result().status_code == 200


def test_host_that_is_killed_leaves_no_process_behind(start_host: Callable[..., Any]) -> None:
    """Neither a worker, even one that is blocked, nor the emulator."""
    with start_host(APP) as host, ThreadPoolExecutor(1) as caller:
        children = psutil.Process(host.process.pid).children(recursive=True)
        assert len(children) == 2
        blocked = caller.submit(_ignoring_the_end, host)
        host.wait_for_line("blocking")
        host.stop(signal.SIGKILL)
        _, alive = psutil.wait_procs(children, timeout=20)
        assert alive == []
        blocked.result()


def _ignoring_the_end(host: RunningHost) -> None:
    with suppress(httpx.HTTPError):
        get(host, "block/30")
