"""What a function returned, as it goes over the wire."""

from typing import Any

import pytest

from devhost.answers import http_answer


def response(**changes: Any) -> tuple[str, dict[str, Any]]:
    """A response object of the worker."""
    value = {"status": "200", "headers": {}, "cookies": [], "body": ("bytes", b"hi"), **changes}
    return "http", value


def test_answer_of_a_response_is_sent_as_it_is() -> None:
    """Status, headers and bytes."""
    headers = {"Content-Type": "image/webp", "ETag": '"1"'}
    answer = http_answer(response(status="201", headers=headers), {})
    assert (answer.status, answer.body, answer.content_type) == (201, b"hi", "image/webp")
    assert answer.headers["ETag"] == '"1"'


def test_answer_with_a_status_that_is_no_number_is_200() -> None:
    """It cannot be anything else."""
    assert http_answer(response(status="fine"), {}).status == 200


def test_answer_without_a_result_is_an_empty_200() -> None:
    """A function that set no response."""
    answer = http_answer(None, {})
    assert (answer.status, answer.body) == (200, b"")


def test_answer_length_is_the_servers_business() -> None:
    """A length that the function made up would break the connection."""
    answer = http_answer(response(headers={"content-length": "999"}), {})
    assert answer.headers.get("Content-Length") in (None, "2")


def test_answer_has_the_headers_of_host_json_unless_it_set_them() -> None:
    """They are added, never put over."""
    custom = {"x-app": "host", "x-more": "host"}
    answer = http_answer(response(headers={"X-App": "function"}), custom)
    assert (answer.headers["x-app"], answer.headers["x-more"]) == ("function", "host")


@pytest.mark.parametrize(
    ("cookie", "text"),
    [
        ({"name": "a", "value": "b"}, "a=b"),
        (
            {
                "name": "a",
                "value": "b",
                "max_age": 5.0,
                "path": "/",
                "same_site": 1,
                "http_only": True,
            },
            "a=b; max-age=5; path=/; samesite=lax; httponly",
        ),
        (
            {"name": "a", "value": "b", "domain": "x.org", "secure": True, "same_site": 3},
            "a=b; domain=x.org; secure; samesite=none",
        ),
        ({"name": "a", "value": "b", "expires": 0}, "a=b; expires=Thu, 01 Jan 1970 00:00:00 GMT"),
        ({"name": "a", "same_site": 0}, "a="),
    ],
)
def test_answer_cookies_are_written_anew(cookie: dict[str, Any], text: str) -> None:
    """Attributes in lower case, in the host's order."""
    assert http_answer(response(cookies=[cookie]), {}).headers.getall("Set-Cookie") == [text]


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("plain", b"plain"),
        ('{"a":[1]}', b'{\n  "a": [\n    1\n  ]\n}'),
        ('"quoted"', b"quoted"),
        ("true", b"True"),
        ("null", b""),
    ],
)
def test_answer_of_a_text_is_read_as_json_first(text: str, body: bytes) -> None:
    """Objects come out indented; the rest as .NET prints it."""
    answer = http_answer(("string", text), {})
    assert (answer.body, answer.headers["Content-Type"]) == (body, "text/plain; charset=utf-8")


def test_answer_of_an_object_with_a_body_is_a_whole_response() -> None:
    """Its status and headers are used."""
    answer = http_answer(("string", '{"body": "x", "statusCode": 202, "headers": {"a": "b"}}'), {})
    assert (answer.status, answer.body, answer.headers["a"]) == (202, b"x", "b")
