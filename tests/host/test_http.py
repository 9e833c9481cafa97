"""Requests through a running host: what arrives at a function, and what comes back."""

import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.host.running_host import RunningHost

APP = Path(__file__).parent / "apps" / "web"
ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
LIMIT = 3_000_000
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def host(start_host: Callable[..., Any]) -> Iterator[RunningHost]:
    """One host for all tests of this file; no storage is needed for routes."""
    env = {
        "FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": str(LIMIT),
        "GREETING": "from the environment",
        "PYTHON_THREADPOOL_THREAD_COUNT": "4",
    }
    with start_host(APP, env=env) as running:
        yield running


@pytest.fixture(scope="module")
def client(host: RunningHost) -> Iterator[httpx.Client]:
    """A browser, so to say."""
    with httpx.Client(base_url=host.base_url, timeout=30) as client:
        yield client


def echoed(client: httpx.Client, url: str, method: str = "GET", **request: Any) -> dict[str, Any]:
    """The request as the function saw it."""
    answer = client.request(method, url, **request)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_host_prints_its_functions_as_func_start_does(host: RunningHost) -> None:
    """Routes with methods and address, then the rest, then what is disabled; then one Ready."""
    start = host.lines.index("Functions:")
    port = host.origin.rpartition(":")[2]
    assert f"\ta_item: [GET] http://localhost:{port}/api/items/{{id}}" in host.lines[start:]
    assert f"\tunrouted: http://localhost:{port}/api/unrouted" in host.lines[start:]
    assert "Function off is disabled." in host.lines[start:]
    assert [line for line in host.lines if line.startswith("Ready:")] == [f"Ready: {host.base_url}"]


@pytest.mark.parametrize(
    ("name", "reason"), [("bad_binding", "binding name"), ("zz_twin", "route")]
)
def test_host_names_the_functions_in_error(host: RunningHost, name: str, reason: str) -> None:
    """And serves the others."""
    assert host.wait_for_line(f"The '{name}' function is in error: .*{reason}")
    assert f"\t{name}:" not in host.output


def test_route_first_by_function_name_wins(client: httpx.Client) -> None:
    """There is no ranking: the placeholder of an earlier name takes the literal's requests."""
    assert client.get("/items/special").text == "item"


def test_route_with_another_method_falls_through_to_the_next(client: httpx.Client) -> None:
    """A method is part of the match."""
    assert client.delete("/items/special").text == "special"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/unknown"),
        ("POST", "/api/items/5"),
        ("OPTIONS", "/api/items/5"),
        ("GET", "/api/things/no-guid"),
        ("GET", "/api"),
        ("GET", "/elsewhere"),
        ("GET", "/api/off"),
        ("GET", "/api/bad_binding"),
        ("GET", "/admin/unknown"),
    ],
)
def test_request_without_a_function_is_an_empty_404(
    host: RunningHost, method: str, path: str
) -> None:
    """An unknown route, a wrong method, a constraint that is not met, a disabled function."""
    answer = httpx.request(method, host.origin + path)
    assert (answer.status_code, answer.content) == (404, b"")


def test_route_matches_in_any_case_and_with_a_slash_at_the_end(client: httpx.Client) -> None:
    """As in Azure."""
    assert client.get(f"/THINGS/{ID}/").text == ID


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_function_without_methods_answers_all(client: httpx.Client, method: str) -> None:
    """Also the preflight of a browser, which is an ordinary method here."""
    assert client.request(method, "/unrouted").text == method


def test_function_of_any_level_needs_no_key(client: httpx.Client) -> None:
    """Locally every caller is the administrator; this app asks for function keys."""
    assert client.get("/unrouted").status_code == 200


def test_request_headers_arrive_in_lower_case_and_joined(client: httpx.Client) -> None:
    """Repeated ones with commas, empty ones kept, those of the login service unchanged."""
    given = [("X-A", "1"), ("x-a", "2"), ("X-Empty", ""), ("X-MS-CLIENT-PRINCIPAL-ID", "me")]
    headers = echoed(client, "/echo", headers=given)["headers"]
    assert headers["x-a"].replace(" ", "") == "1,2"
    assert (headers["x-empty"], headers["x-ms-client-principal-id"]) == ("", "me")


def test_request_query_is_joined_and_loses_empty_values(client: httpx.Client) -> None:
    """A parameter without a value is not there at all."""
    found = echoed(client, "/echo?a=1&b=&a=2&c=x%20y+z")
    assert found["query"] == {"a": "1,2", "c": "x y z"}


def test_request_url_has_path_and_raw_query(client: httpx.Client, host: RunningHost) -> None:
    """The path is decoded and encoded again; the query stays as it came."""
    found = echoed(client, "/echo/a%20b/%C3%A4?x=%7e&y=1")
    assert found["url"] == f"{host.base_url}/echo/a%20b/%C3%A4?x=%7e&y=1"


def test_request_route_values_are_decoded(client: httpx.Client) -> None:
    """A catch-all holds its slashes; where it is empty it is absent."""
    assert echoed(client, "/echo/a%20b/c")["route"] == {"rest": "a b/c"}
    assert echoed(client, "/echo")["route"] == {}


def test_request_body_arrives_as_bytes(client: httpx.Client) -> None:
    """Whatever its type says."""
    found = echoed(
        client, "/echo", "POST", content=b"\x00\xff{", headers={"Content-Type": "application/json"}
    )
    assert found["body"].encode("latin-1") == b"\x00\xff{"


def test_request_body_that_is_compressed_is_not_opened(client: httpx.Client) -> None:
    """That is the function's business."""
    found = echoed(client, "/echo", "POST", content=b"zip", headers={"Content-Encoding": "gzip"})
    assert found["body"] == "zip"


def test_request_body_without_a_length_arrives_empty(client: httpx.Client) -> None:
    """Only an announced length is read."""
    assert echoed(client, "/echo", "POST", content=iter([b"chunk"]))["length"] == 0


def test_request_body_at_the_limit_passes(client: httpx.Client) -> None:
    """The limit is a setting."""
    assert echoed(client, "/echo", "POST", content=b"x" * LIMIT)["length"] == LIMIT


def test_request_body_over_the_limit_is_an_empty_413(client: httpx.Client) -> None:
    """One byte is enough."""
    answer = client.post("/echo", content=b"x" * (LIMIT + 1))
    assert (answer.status_code, answer.content) == (413, b"")


def test_trace_of_the_caller_is_continued(client: httpx.Client) -> None:
    """Same trace, another span; the state passes through."""
    answer = client.get("/trace", headers={"traceparent": PARENT, "tracestate": "a=b"}).json()
    version, trace, span, flags = answer["parent"].split("-")
    assert (version, trace, flags, answer["state"]) == ("00", PARENT.split("-")[1], "01", "a=b")
    assert span != PARENT.split("-")[2]


def test_trace_without_a_caller_is_new(client: httpx.Client) -> None:
    """Every run has one."""
    traces = [client.get("/trace").json()["parent"].split("-")[1] for _ in range(2)]
    assert traces[0] != traces[1]


def test_answer_of_a_function_passes_unchanged(client: httpx.Client) -> None:
    """Every byte of it."""
    answer = client.get("/blob")
    assert answer.content == bytes(range(256)) * 4
    assert answer.headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize("path", ["/fails", "/nothing"])
def test_function_that_fails_is_an_empty_500(client: httpx.Client, path: str) -> None:
    """It raised, or what it returned cannot be sent."""
    answer = client.get(path)
    assert (answer.status_code, answer.content) == (500, b"")


def test_function_that_fails_is_in_the_log(client: httpx.Client, host: RunningHost) -> None:
    """With the text of the worker: kind, message and traceback."""
    client.get("/fails")
    host.wait_for_line(r"Executed 'Functions\.fails' \(Failed, Id=\S+, Duration=\d+ms\)")
    host.wait_for_line(r"Exception while executing function: Functions\.fails\. Result: Failure")
    host.wait_for_line("^Exception: ValueError: on purpose")
    host.wait_for_line("^Stack: Traceback")


@pytest.mark.parametrize("code", [401, 404, 500, 204, 409])
def test_answer_with_a_status_of_its_own_keeps_it(client: httpx.Client, code: int) -> None:
    """Also those that the host itself would give."""
    answer = client.get(f"/status/{code}")
    assert (answer.status_code, answer.content) == (code, b"")


def test_answer_to_head_has_no_body(client: httpx.Client) -> None:
    """But its headers."""
    answer = client.head("/blob")
    assert (answer.status_code, answer.content) == (200, b"")


def test_answer_of_a_plain_text_is_read_as_json(client: httpx.Client) -> None:
    """A function that returns `str`."""
    assert client.post("/text", content=b'{"a":1}').text == '{\n  "a": 1\n}'
    assert client.post("/text", content=b"plain").text == "plain"


def test_answer_has_the_headers_of_host_json(client: httpx.Client) -> None:
    """On every answer of a function."""
    assert client.get("/unrouted").headers["x-app"] == "web"


def test_answer_cookies_are_sent_one_by_one(client: httpx.Client) -> None:
    """Written anew by the host."""
    assert client.get("/cookie").headers.get_list("set-cookie") == [
        "a=b; max-age=5; path=/; samesite=lax; httponly",
        "c=d; secure",
    ]


def test_home_page_is_served_at_the_root(host: RunningHost) -> None:
    """As long as no setting turns it off."""
    answer = httpx.get(host.origin + "/")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")


def test_functions_find_the_settings_in_their_environment(
    client: httpx.Client, host: RunningHost
) -> None:
    """The host's own, the file's, and the environment's over the file's."""
    found = client.get("/environment").json()
    environ = found["environ"]
    assert environ["GREETING"] == "from the environment"
    assert environ["AzureWebJobs.off.Disabled"] == "true"
    assert environ["AZURE_FUNCTIONS_ENVIRONMENT"] == "Development"
    assert environ["WEBSITE_HOSTNAME"] == host.origin.replace("http://127.0.0.1", "localhost")
    assert (found["cwd"], found["path"]) == (str(APP), str(APP))
    assert "Skipping 'GREETING' from local settings" in host.output


def test_functions_run_in_a_process_of_their_own(client: httpx.Client, host: RunningHost) -> None:
    """Not in that of the host."""
    assert [client.get("/environment").json()["pid"]] == host.worker_pids()
    assert host.process.pid not in host.worker_pids()


def test_log_lines_of_functions_are_printed_unchanged(
    client: httpx.Client, host: RunningHost
) -> None:
    """One line each, the time before it; debug lines are filtered, prints are not."""
    assert client.get("/chatter").status_code == 200
    host.wait_for_line("a library warns")
    host.wait_for_line("a printed line")
    host.wait_for_line("a line on stderr")
    line = host.wait_for_line(r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\] (\{.*chatter.*\})$")
    assert json.loads(line[1]) == {"event": "chatter", "umlaut": "ü"}
    assert "a debug line" not in host.output


def test_log_lines_of_the_import_are_printed(host: RunningHost) -> None:
    """They belong to no run."""
    assert "imported" in host.messages


def test_log_level_of_one_function_is_set_in_host_json(
    client: httpx.Client, host: RunningHost
) -> None:
    """By the category of its user lines."""
    assert client.get("/quiet").status_code == 200
    host.wait_for_line("a loud line")
    assert "a quiet line" not in host.output


def test_log_line_after_the_end_of_its_run_is_dropped(
    client: httpx.Client, host: RunningHost
) -> None:
    """The host no longer knows the run."""
    assert client.get("/later").status_code == 200
    host.wait_for_line(r"\] the loop goes on$")
    assert "while it runs" in host.messages
    assert "after its end" not in host.output


def test_log_line_of_a_thread_belongs_to_the_run_it_names(
    client: httpx.Client, host: RunningHost
) -> None:
    """By the storage that the worker library offers."""
    assert client.get("/threads").status_code == 200
    assert host.wait_for_line("from a thread")


def test_log_of_a_run_names_function_and_run(client: httpx.Client, host: RunningHost) -> None:
    """Before and after, with the id that the function has."""
    run = client.get("/trace").json()["id"]
    host.wait_for_line(
        r"Executing 'Functions\.trace' \(Reason='This function was programmatically called via the "
        rf"host APIs\.', Id={run}\)"
    )
    host.wait_for_line(rf"Executed 'Functions\.trace' \(Succeeded, Id={run}, Duration=\d+ms\)")


def test_sync_functions_run_side_by_side(client: httpx.Client) -> None:
    """As many as the pool has threads."""
    with ThreadPoolExecutor(3) as callers:
        answers = list(callers.map(lambda _: client.get("/meet").text, range(3)))
    assert answers == ["met"] * 3


def test_client_that_hangs_up_does_no_harm(client: httpx.Client, host: RunningHost) -> None:
    """The run goes on and the next request is served."""
    host_name, _, port = host.origin.removeprefix("http://").partition(":")
    with socket.create_connection((host_name, int(port))) as connection:
        connection.sendall(b"POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
    assert client.get("/unrouted").status_code == 200


def test_admin_ping_is_an_empty_200(host: RunningHost) -> None:
    """By GET and POST."""
    for method in ("GET", "POST"):
        answer = httpx.request(method, host.origin + "/admin/host/ping")
        assert (answer.status_code, answer.content) == (200, b"")


def test_admin_status_says_that_it_runs(host: RunningHost) -> None:
    """With the errors of functions; what is empty is left out."""
    answer = httpx.get(host.origin + "/admin/host/status").json()
    assert answer["state"] == "Running"
    assert {"id", "version", "instanceId", "computerName", "processUptime"} <= set(answer)
    assert answer["functionAppContentEditingState"] == "Unknown"
    assert any("bad_binding" in error for error in answer["errors"])
    assert "extensionBundle" not in answer


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("unknown", "{}", 404),
        ("echo", "", 400),
        ("echo", "null", 400),
        ("echo", "[1]", 400),
        ("echo", "{", 400),
        ("echo", "{}", 202),
    ],
)
def test_admin_invoke_answers_by_what_was_asked(
    host: RunningHost, name: str, body: str, status: int
) -> None:
    """An unknown function, no object, or accepted; the answer is empty."""
    answer = httpx.post(
        f"{host.origin}/admin/functions/{name}",
        content=body,
        headers={"Content-Type": "application/json"},
    )
    assert (answer.status_code, answer.content) == (status, b"")


def test_admin_invoke_with_another_type_is_415(host: RunningHost) -> None:
    """JSON is all that it reads."""
    answer = httpx.post(f"{host.origin}/admin/functions/echo", data={"a": "b"})
    assert answer.status_code == 415


def test_admin_invoke_of_a_route_function_fails_in_the_log(host: RunningHost) -> None:
    """There is no request to give it."""
    assert httpx.post(f"{host.origin}/admin/functions/echo", json={}).status_code == 202
    host.wait_for_line(r"Functions\.echo\. An HttpRequest is required")
