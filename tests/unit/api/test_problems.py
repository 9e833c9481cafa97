"""Errors as problems: what is said, and what never is."""

import json

import pytest

from shared.api.exchange import Request, problem
from shared.domain.errors import (
    CorruptImageError,
    IllegalTransitionError,
    RequestError,
    SettingsError,
    StorageUnavailableError,
)
from shared.telemetry import trace_id
from shared.web import respond


def raised(error):
    def serve():
        raise error

    return respond(serve)


def test_problem_has_the_fields_of_the_contract():
    """RFC 9457 with a code and whether to try again."""
    answer = raised(CorruptImageError())
    assert answer.mimetype == "application/problem+json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert json.loads(answer.get_body()) == {
        "type": "urn:fitting-room:problem:CORRUPT_IMAGE",
        "title": "Bad Request",
        "status": 400,
        "detail": "The photo is damaged or incomplete. Take or export it again.",
        "code": "CORRUPT_IMAGE",
        "retryable": False,
    }


def test_problem_of_a_request_carries_its_own_words():
    """Fields, extras and when to come back."""
    error = RequestError(429, "BUSY", "Wait.", retryable=True, retry_after=3, extra={"x": 1},
                         errors=[{"field": "f", "detail": "d"}])  # fmt: skip
    answer = problem(error)
    body = json.loads(answer.body)
    assert (answer.headers["Retry-After"], body["x"], body["errors"]) == (
        "3",
        1,
        [{"field": "f", "detail": "d"}],
    )


@pytest.mark.parametrize(
    ("error", "status", "code", "detail"),
    [
        (KeyError("secret"), 500, "INTERNAL", None),
        (IllegalTransitionError("no secret way"), 500, "INTERNAL", "no secret way"),
        (SettingsError(["SECRET: secret"]), 503, "SETTINGS_INVALID",
         "Invalid settings: SECRET: secret"),
    ],
)  # fmt: skip
def test_problem_of_ours_tells_the_log_alone(error, status, code, detail, caplog):
    """No trace, path or setting leaves the house; the log says what and where, in one line."""
    answer = raised(error)
    body = json.loads(answer.get_body())
    assert (answer.status_code, body["code"]) == (status, code)
    assert "secret" not in answer.get_body().decode()
    assert "Traceback" not in answer.get_body().decode()
    [line] = [json.loads(record.getMessage()) for record in caplog.records]
    assert (line["event"], line["code"], line["detail"]) == ("request_failed", code, detail)
    assert line["error"] == type(error).__name__
    assert line["where"].rpartition(" > ")[2].startswith("test_problems.py:")


def test_line_of_a_failure_names_the_trace_of_its_request(caplog):
    """The caller's own where one was sent, else the one that the request's messages carry too."""
    made = []

    def serve():
        made.append(Request(method="POST", url="http://h").traceparent)
        raise StorageUnavailableError

    respond(serve, "00-" + "a" * 32 + "-" + "b" * 16 + "-01")
    respond(serve, "nonsense")
    told = [json.loads(record.getMessage())["traceId"] for record in caplog.records]
    assert told == ["a" * 32, trace_id(made[1])]
    assert trace_id(made[0]) == "a" * 32


def test_line_of_a_failure_quotes_nobody(caplog):
    """A damaged row quotes a file name, the storage client an address: kinds and places remain."""

    def serve():
        try:
            raise ValueError("input_value='my holiday.jpg' at https://x?sig=1")
        except ValueError as error:
            raise StorageUnavailableError from error

    respond(serve)
    assert "holiday" not in caplog.text
    assert "sig" not in caplog.text
    [line] = [json.loads(record.getMessage()) for record in caplog.records]
    assert line["error"] == "StorageUnavailableError from ValueError"
    assert line["where"].count("test_problems.py:") == 2


def test_problem_of_storage_asks_to_try_again():
    """503, retryable, with a plain sentence."""
    answer = raised(StorageUnavailableError())
    body = json.loads(answer.get_body())
    assert (body["status"], body["code"], body["retryable"]) == (503, "STORAGE_UNAVAILABLE", True)
    assert answer.headers["Retry-After"] == "5"


@pytest.mark.parametrize(
    ("url", "headers", "base"),
    [
        ("http://h:7071/api/wardrobe/drafts", {}, "http://h:7071/api"),
        ("https://h/wardrobe/drafts/x/submit?a=1", {}, "https://h"),
        ("http://h/a/b/v1/wardrobe/images", {}, "http://h/a/b"),
        ("http://h/api/Wardrobe/Drafts", {}, "http://h/api"),
        ("http://h/API/V1/WARDROBE/images", {}, "http://h/API"),
        ("http://h/api/wardrobe/drafts", {"x-forwarded-proto": "https"}, "https://h/api"),
        ("http://h/api/wardrobe/drafts", {"x-forwarded-proto": "https, http"}, "https://h/api"),
        ("http://h/api/wardrobe/drafts", {"x-forwarded-proto": "gopher"}, "http://h/api"),
    ],
)
def test_addresses_are_as_the_caller_reached_us(url, headers, base):
    """Behind a front that ends TLS, links say https; the host takes a route in any case."""
    assert Request(method="GET", url=url, headers=headers).base == base


@pytest.mark.parametrize(
    ("path", "before"),
    [
        ("/api/openapi.json", "/api"),
        ("/api/OpenAPI.json/", "/api"),
        ("/Api/openapi.JSON", "/Api"),
        ("/openapi.json", ""),
    ],
)
def test_description_names_the_address_below_which_it_was_asked_for(path, before):
    """However its own is spelt."""
    request = Request(method="GET", url=f"https://h{path}?x=1")
    assert request.path_before("openapi.json") == before
