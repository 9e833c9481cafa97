"""How a host comes up, why it does not, and how it ends."""

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from azure.core.exceptions import ResourceExistsError
from azure.storage.blob import BlobServiceClient

from devhost.__main__ import too_old
from devhost.azurite import Azurite
from tests.host.running_host import RunningHost, launch

HTTP_APP = """
import logging, os, sys, time
import azure.functions as func
app = func.FunctionApp()

@app.route()
def one(req: func.HttpRequest) -> func.HttpResponse:
    logging.info("one is asked")
    time.sleep(float(req.params.get("seconds", "0")))
    return func.HttpResponse(os.environ.get(req.params.get("name", ""), ""))

@app.route()
def two(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("two")
"""
QUEUE_APP = """
import azure.functions as func
app = func.FunctionApp()

@app.queue_trigger(arg_name="msg", queue_name="%JOBS%", connection="DRAFTS")
def job(msg: func.QueueMessage) -> None:
    pass
"""
EMPTY_APP = "import azure.functions as func\napp = func.FunctionApp()\n"
TIMER_APP = """
import azure.functions as func
app = func.FunctionApp()

@app.timer_trigger(arg_name="timer", schedule="0 0 3 * * *")
def daily(timer: func.TimerRequest) -> None:
    pass
"""
VALUES = {"FUNCTIONS_WORKER_RUNTIME": "python"}
STORAGE = {
    "AzureWebJobsStorage": "UseDevelopmentStorage=true",
    "DRAFTS": "UseDevelopmentStorage=true",
    "JOBS": "jobs",
}
# An account that is never asked: the host gives up before.
ELSEWHERE = {
    "AzureWebJobsStorage": "AccountName=elsewhere",
    "DRAFTS": "AccountName=elsewhere",
    "JOBS": "jobs",
}


def write_app(
    folder: Path,
    code: str | None = HTTP_APP,
    *,
    values: Mapping[str, str] | None = None,
    host_json: str | None = '{"version": "2.0"}',
) -> Path:
    """An app of its own for a test."""
    settings = {"IsEncrypted": False, "Values": {**VALUES, **(values or {})}}
    (folder / "local.settings.json").write_text(json.dumps(settings), encoding="utf-8")
    if code is not None:
        (folder / "function_app.py").write_text(code, encoding="utf-8")
    if host_json is not None:
        (folder / "host.json").write_text(host_json, encoding="utf-8")
    return folder


def refused(
    app: Path, *, options: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """The exit code and the output of a host that does not come up."""
    ports = ["--port", "0", "--azurite-port", "0"]
    with launch(app, options=[*ports, *options], env=env) as host:
        code = host.wait(60)
    assert "Ready:" not in host.output
    return code, host.output


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def test_start_with_an_app_that_does_not_import_shows_its_traceback(tmp_path: Path) -> None:
    """And says that no function is loaded."""
    code, output = refused(write_app(tmp_path, "import missing_module_of_mine\n"))
    assert code == 1
    assert "No function is loaded" in output
    assert "ModuleNotFoundError" in output
    assert "missing_module_of_mine" in output
    assert "Traceback" in output


def test_start_with_one_function_that_does_not_load_loads_none(tmp_path: Path) -> None:
    """The worker library loads all or nothing."""
    bad = HTTP_APP.replace("def two(req: func.HttpRequest)", "def two(other: func.HttpRequest)")
    code, output = refused(write_app(tmp_path, bad))
    assert code == 1
    assert "No function is loaded" in output
    assert "cannot load the two function" in output


def test_start_with_an_app_that_exits_at_its_import_says_so(tmp_path: Path) -> None:
    """Its worker is gone before it answered."""
    code, output = refused(write_app(tmp_path, "import sys\nsys.exit(3)\n"))
    assert code == 1
    assert "python exited with code 3" in output


@pytest.mark.parametrize(
    "app", [None, "import azure.functions as func\napp = func.FunctionApp()\n"]
)
def test_start_without_functions_is_refused(tmp_path: Path, app: str | None) -> None:
    """No function_app.py, or an empty one."""
    code, output = refused(write_app(tmp_path, app))
    assert code == 1
    assert "No function is loaded" in output


@pytest.mark.parametrize(
    ("host_json", "message"),
    [
        (None, "No host.json"),
        ("{", "Unable to parse host configuration file"),
        ('{"version": "2.0", "extensions": {"queues": {"batchSize": 99}}}', "batchsize must be"),
    ],
)
def test_start_with_a_bad_host_json_is_refused(
    tmp_path: Path, host_json: str | None, message: str
) -> None:
    """The message says what and where."""
    code, output = refused(write_app(tmp_path, host_json=host_json))
    assert code == 1
    assert message in output
    assert "Traceback" not in output


def test_start_with_an_unresolved_name_is_refused(tmp_path: Path) -> None:
    """The message names the function and the setting."""
    values = {name: value for name, value in ELSEWHERE.items() if name != "JOBS"}
    code, output = refused(write_app(tmp_path, QUEUE_APP, values=values))
    assert code == 1
    assert "The 'job' function is in error: '%JOBS%' does not resolve to a value." in output


@pytest.mark.parametrize("missing", ["AzureWebJobsStorage", "DRAFTS"])
def test_start_without_a_storage_setting_is_refused(tmp_path: Path, missing: str) -> None:
    """A queue needs the host's account and its own."""
    values = {name: value for name, value in ELSEWHERE.items() if name != missing}
    code, output = refused(write_app(tmp_path, QUEUE_APP, values=values))
    assert code == 1
    assert "Storage account connection string 'AzureWebJobs" in output


def test_start_with_storage_that_does_not_answer_is_refused(tmp_path: Path) -> None:
    """The account is looked for before anything is served."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    account = f"http://127.0.0.1:{port}/devstoreaccount1"
    connection = f"AccountName=devstoreaccount1;AccountKey=AAAA;BlobEndpoint={account}"
    app = write_app(tmp_path, QUEUE_APP, values={**STORAGE, "AzureWebJobsStorage": connection})
    code, output = refused(app, options=["--storage", "external"])
    assert code == 1
    assert "The storage account of 'AzureWebJobsStorage' cannot be reached" in output


def test_start_without_node_is_refused(tmp_path: Path) -> None:
    """Where an emulator is needed."""
    app = write_app(tmp_path, QUEUE_APP, values=STORAGE)
    code, output = refused(app, env={"PATH": str(tmp_path)})
    assert code == 1
    assert "Node is missing" in output


def test_start_on_a_taken_port_is_refused(tmp_path: Path, taken_port: int) -> None:
    """Before anything else is started."""
    code, output = refused(write_app(tmp_path), options=["--port", str(taken_port)])
    assert code == 1
    assert f"Port {taken_port} is taken" in output


def test_start_with_a_taken_port_for_storage_is_refused(tmp_path: Path, taken_port: int) -> None:
    """The message names the port of the emulator."""
    app = write_app(tmp_path, QUEUE_APP, values=STORAGE)
    code, output = refused(app, options=["--azurite-port", str(taken_port)])
    assert code == 1
    assert f"Port {taken_port} is taken: Azurite" in output


def test_start_without_a_runtime_is_refused(tmp_path: Path) -> None:
    """The setting has to name Python."""
    app = write_app(tmp_path, values={"FUNCTIONS_WORKER_RUNTIME": "node"})
    code, output = refused(app)
    assert code == 1
    assert "FUNCTIONS_WORKER_RUNTIME must be 'python'" in output


@pytest.mark.parametrize("count", ["0", "11", "two"])
def test_start_with_a_bad_number_of_workers_is_refused(tmp_path: Path, count: str) -> None:
    """From one to ten."""
    code, output = refused(write_app(tmp_path), env={"FUNCTIONS_WORKER_PROCESS_COUNT": count})
    assert code == 1
    assert "FUNCTIONS_WORKER_PROCESS_COUNT must be from 1 to 10" in output


def test_start_with_a_bad_body_limit_is_refused(tmp_path: Path) -> None:
    """It has to be a number of bytes."""
    code, output = refused(write_app(tmp_path, values={"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": "1MB"}))
    assert code == 1
    assert "FUNCTIONS_REQUEST_BODY_SIZE_LIMIT must be a number" in output


def test_timer_whose_status_cannot_be_read_ends_the_host(azurite: Azurite, tmp_path: Path) -> None:
    """What is stored is no status: the host does not guess when to run."""
    app = write_app(tmp_path, TIMER_APP, values={"AzureFunctionsWebHost__hostid": "spoiled"})
    connection = azurite.connection_string
    with BlobServiceClient.from_connection_string(connection) as service:
        container = service.get_container_client("azure-webjobs-hosts")
        with suppress(ResourceExistsError):  # another host of this run may have made it
            container.create_container()
        container.upload_blob("timers/spoiled/Host.Functions.daily/status", "{}")
    with launch(app, options=["--port", "0"], env={"AzureWebJobsStorage": connection}) as host:
        assert host.wait(60) == 1
    assert "A listener failed. Host is shutting down." in host.output


@pytest.mark.parametrize("options", [["--port", "x"], ["--nope"], ["--app", "/no/such/folder"]])
def test_start_with_a_wrong_command_line_ends_with_2(tmp_path: Path, options: list[str]) -> None:
    """As every command does."""
    code, output = refused(tmp_path, options=options)
    assert code == 2
    assert "usage: devhost" in output


@pytest.mark.parametrize(("version", "refused_as"), [((3, 12), "3.12"), ((2, 7), "2.7")])
def test_python_that_is_too_old_is_refused(version: tuple[int, int], refused_as: str) -> None:
    """With what is needed and what is there."""
    assert too_old(version) == f"devhost: Python 3.13 or newer is needed; this is {refused_as}."


@pytest.mark.parametrize("version", [(3, 13), (3, 14)])
def test_python_that_is_new_enough_is_not_refused(version: tuple[int, int]) -> None:
    """From 3.13 on."""
    assert too_old(version) is None


def test_start_with_a_prefix_and_home_page_of_its_own(
    start_host: Callable[..., Any], tmp_path: Path
) -> None:
    """The prefix may be empty, the home page off, and only some functions be loaded."""
    env = {
        "AzureFunctionsJobHost__extensions__http__routePrefix": "",
        "AzureWebJobsDisableHomepage": "true",
    }
    options = ["--functions", "ONE"]
    with start_host(write_app(tmp_path), env=env, options=options) as host:
        assert host.lines[-1] == f"Ready: {host.origin}"
        codes = [httpx.get(host.origin + path).status_code for path in ("/one", "/two", "/")]
        assert codes == [200, 404, 204]


def test_start_gives_functions_the_emulator_that_it_started(
    start_host: Callable[..., Any], tmp_path: Path
) -> None:
    """Every setting that means the development storage holds its address; others are left."""
    app = write_app(tmp_path, values={**STORAGE, "OTHER": "AccountName=real"})
    with start_host(app) as host:

        def setting(name: str) -> str:
            return httpx.get(f"{host.base_url}/one", params={"name": name}).text

        connection = setting("DRAFTS")
        assert connection == setting("AzureWebJobsStorage")
        assert setting("OTHER") == "AccountName=real"
        with BlobServiceClient.from_connection_string(connection) as service:
            assert list(service.list_containers()) == []


def test_start_without_use_of_storage_starts_no_emulator(
    start_host: Callable[..., Any], tmp_path: Path
) -> None:
    """Nothing would use it."""
    with start_host(write_app(tmp_path)) as host:
        assert len(psutil.Process(host.process.pid).children()) == 1


def test_start_on_a_data_folder_finds_what_was_stored(
    start_host: Callable[..., Any], tmp_path: Path
) -> None:
    """The storage outlives the host."""
    app = write_app(tmp_path, values=STORAGE)
    options = ["--data", str(tmp_path / "data")]
    for expected in ([], ["kept"]):
        with start_host(app, options=options) as host:
            connection = httpx.get(f"{host.base_url}/one", params={"name": "DRAFTS"}).text
            with BlobServiceClient.from_connection_string(connection) as service:
                assert [container.name for container in service.list_containers()] == expected
                if not expected:
                    service.create_container("kept")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stop_ends_host_and_children_with_0(
    start_host: Callable[..., Any], tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C or SIGTERM, without a complaint."""
    with start_host(write_app(tmp_path, values=STORAGE)) as host:
        children = psutil.Process(host.process.pid).children(recursive=True)
        assert len(children) == 2
        assert host.stop(number) == 0
        assert psutil.wait_procs(children, timeout=10)[1] == []
        assert "Traceback" not in host.output


def test_stop_lets_a_run_end(start_host: Callable[..., Any], tmp_path: Path) -> None:
    """Its caller has the answer; nobody new is let in."""
    with start_host(write_app(tmp_path)) as host, ThreadPoolExecutor(1) as caller:
        answer = caller.submit(httpx.get, f"{host.base_url}/one?seconds=2")
        host.wait_for_line("one is asked")
        assert host.stop() == 0
        assert answer.result().status_code == 200


def test_stop_at_the_second_signal_waits_for_nothing(
    start_host: Callable[..., Any], tmp_path: Path
) -> None:
    """A developer in a hurry."""
    with start_host(write_app(tmp_path)) as host, ThreadPoolExecutor(1) as caller:
        answer = caller.submit(_status, f"{host.base_url}/one?seconds=60")
        host.wait_for_line("one is asked")
        os.kill(host.process.pid, signal.SIGTERM)
        host.wait_until(lambda: not _is_listening(host))
        assert host.stop() == 0
        assert answer.result() != 200


def test_stop_before_it_serves_leaves_nothing_behind(tmp_path: Path) -> None:
    """Also while the app is still imported."""
    app = write_app(tmp_path, "import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    with launch(app, options=["--port", "0"]) as host:
        host.wait_for_line("importing")
        children = psutil.Process(host.process.pid).children(recursive=True)
        assert len(children) == 1
        assert host.stop() == 0
        assert psutil.wait_procs(children, timeout=10)[1] == []


def _status(url: str) -> int:
    try:
        return httpx.get(url, timeout=70).status_code
    except httpx.HTTPError:
        return 0


def _is_listening(host: RunningHost) -> bool:
    port = int(host.origin.rpartition(":")[2])
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
