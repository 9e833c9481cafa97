"""The HTTP triggers themselves, called as the worker calls them, and what they import."""

import inspect
import json
import subprocess
import sys

import azure.functions as func
import pytest

from shared.api.routes import ROUTES, Access
from tests.unit.api.registered import ROOT, functions

TRIGGERS = {name: function.get_user_function() for name, function in functions().items()}


def call(name, method="GET", path="", headers=None, **route):
    req = func.HttpRequest(
        method, f"https://h/api/{path}", headers=headers, route_params=route, body=b""
    )
    return TRIGGERS[name](req)


def test_trigger_answers_for_anyone():
    """No owner, no storage, no settings needed."""
    answer = call("health_live")
    assert (answer.status_code, json.loads(answer.get_body())) == (200, {"status": "live"})


def test_trigger_that_fails_tells_the_trace_of_its_request(caplog):
    """Storage is not set up here; the line can be found by what the caller has."""
    trace = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    assert call("ops_summary", headers={"TraceParent": trace}).status_code == 503
    [line] = [json.loads(record.getMessage()) for record in caplog.records]
    assert (line["event"], line["traceId"]) == ("request_failed", "a" * 32)


def test_trigger_of_the_rest_answers_as_a_problem():
    """404 and 405 are ours, not the host's."""
    assert call("zz_not_found", rest="nope").status_code == 404
    assert call("zz_not_found", "PUT", rest="wardrobe/drafts").headers["Allow"] == "POST, GET"


@pytest.mark.parametrize(
    "route", [r for r in ROUTES if r.access is Access.OWNER], ids=lambda r: r.name
)
def test_trigger_of_an_owner_asks_who_it_is_before_anything_else(route):
    """AUTH_MODE is not set here: 401, and storage is not even looked for."""
    answer = call(route.name, route.method, id="0198640d-c000-7000-8000-000000000001")
    assert (answer.status_code, json.loads(answer.get_body())["code"]) == (401, "UNAUTHENTICATED")


def test_trigger_of_the_page_is_there():
    """HTML with its files, from this address."""
    answer = call("app_page", path="app")
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    assert b'"/api/app/app.js"' in answer.get_body()


@pytest.mark.parametrize("heavy", ["PIL", "pillow_heif", "cv2", "numpy"])
def test_handlers_load_no_image_library(heavy):
    """A call for a status, a list, a retry or an acceptance never waits for one."""
    code = f"import sys, shared.api.handlers; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_what_the_triggers_borrow_loads_no_image_library():
    """A run in the HTTP process, the page's palette and the poison handler are imported lightly."""
    code = (
        "import sys, process_image_job.inline, process_image_job.poison,"
        "process_image_job.readiness, process_image_job.steps.palette;"
        "sys.exit(bool({'PIL', 'pillow_heif', 'cv2', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("heavy", ["cv2", "numpy"])
def test_probing_a_photo_loads_no_more_than_it_needs(heavy):
    """Accepting looks at the head of a file with Pillow alone."""
    code = (
        "import sys; from pathlib import Path; from shared.image_probe import probe;"
        f"probe(Path('tests/photos/01-dress.jpg').read_bytes()); sys.exit({heavy!r} in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("broken", ["cv2", "numpy", "PIL", "pillow_heif", "pydantic"])
def test_app_has_all_its_functions_whatever_library_is_broken(broken):
    """One import that fails must not take every function from the host."""
    code = (
        f"import sys; sys.modules[{broken!r}] = None; import function_app;"
        "print(len(function_app.app.get_functions()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert int(done.stdout) == len(TRIGGERS) >= 30, done.stderr


def test_functions_are_plain_ones():
    """An `async def` around work for the processor would stop every other call of its worker."""
    assert [name for name, call in TRIGGERS.items() if inspect.iscoroutinefunction(call)] == []
