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
    ("error", "status", "code"),
    [
        (KeyError("/secret/path"), 500, "INTERNAL"),
        (IllegalTransitionError("Ready cannot become Failed at /secret/path"), 500, "INTERNAL"),
        (SettingsError(["PROCESSOR_KEY: /secret/path"]), 503, "SETTINGS_INVALID"),
    ],
)
def test_problem_of_ours_tells_the_log_alone(error, status, code, caplog):
    """No trace, path or setting leaves the house; the log has it all."""
    answer = raised(error)
    body = json.loads(answer.get_body())
    assert (answer.status_code, body["code"]) == (status, code)
    assert "secret" not in answer.get_body().decode()
    assert "Traceback" not in answer.get_body().decode()
    assert "secret" in caplog.text


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
        ("http://h/api/wardrobe/drafts", {"x-forwarded-proto": "https"}, "https://h/api"),
        ("http://h/api/wardrobe/drafts", {"x-forwarded-proto": "https, http"}, "https://h/api"),
        ("http://h/api/wardrobe/drafts", {"x-forwarded-proto": "gopher"}, "http://h/api"),
    ],
)
def test_addresses_are_as_the_caller_reached_us(url, headers, base):
    """Behind a front that ends TLS, links say https."""
    assert Request(method="GET", url=url, headers=headers).base == base
