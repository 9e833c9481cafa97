"""What a function is told about a message: the host's facts, and the body's words over them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from devhost.bindingdata import Message, UndecodableError, decode, encode, metadata

TIME = datetime(2026, 8, 1, 10, 0, tzinfo=UTC)


def of_body(body: Any) -> dict[str, tuple[str, Any]]:
    """The metadata of a received message with this body, as text or to be written as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return metadata(
        Message(
            body=text.encode(),
            id="message-1",
            pop_receipt="receipt",
            dequeue_count=2,
            inserted_on=TIME,
            expires_on=TIME,
            next_visible_on=TIME,
        )
    )


def test_metadata_of_a_plain_body_holds_the_facts_of_the_message() -> None:
    """Texts as string, all else as JSON."""
    time = ("json", '"2026-08-01T10:00:00+00:00"')
    assert of_body("hello") == {
        "QueueTrigger": ("string", "hello"),
        "DequeueCount": ("json", "2"),
        "ExpirationTime": time,
        "Id": ("string", "message-1"),
        "InsertionTime": time,
        "NextVisibleTime": time,
        "PopReceipt": ("string", "receipt"),
    }


def test_metadata_is_replaced_by_a_member_of_the_body_in_any_case() -> None:
    """The spelling of the fact stays."""
    assert of_body({"id": "job-7"})["Id"] == ("string", "job-7")


def test_metadata_gains_the_other_members_of_the_body() -> None:
    """Objects stay JSON, compact; what is a list or null is left out."""
    found = of_body({"draftId": "d", "size": {"w": 1, "h": [2]}, "list": [1], "nothing": None})
    assert found["draftId"] == ("string", "d")
    assert found["size"] == ("json", '{"w":1,"h":[2]}')
    assert "list" not in found
    assert "nothing" not in found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"),
        (False, "False"),
        (7, "7"),
        (1.5, "1.5"),
        (5.0, "5"),
        (1e20, "1E+20"),
        (1e-7, "1E-07"),
        ("abc", "abc"),
        ("2026-08-01T10:00:00", "08/01/2026 10:00:00"),
        ("2026-08-01T10:00:00.5Z", "08/01/2026 10:00:00"),
        ("2026-08-01", "2026-08-01"),
    ],
)
def test_metadata_of_a_scalar_is_text_as_dot_net_writes_it(value: object, text: str) -> None:
    """Times lose their form and their zone."""
    assert of_body({"value": value})["value"] == ("string", text)


DEEP = '{"id": ' + "[" * 30_000 + "]" * 30_000 + "}"


@pytest.mark.parametrize("body", ['{"id": ', "[1]", '"text"', "{not json}", "", DEEP])
def test_metadata_of_a_body_that_is_no_object_is_unchanged(body: str) -> None:
    """Only an object has members."""
    assert set(of_body(body)) == set(of_body("hello"))


def test_metadata_of_a_time_that_is_in_no_local_calendar_stays_as_it_is() -> None:
    """The message still reaches its function."""
    text = "0001-01-01T00:00:00+14:00"
    assert of_body({"when": text})["when"] == ("string", text)


def test_metadata_of_an_object_between_blanks_is_merged() -> None:
    """The text is trimmed first."""
    assert of_body(' \n{"id": "x"} ')["Id"] == ("string", "x")


def test_metadata_of_a_body_that_is_not_utf8_has_no_text() -> None:
    """The key is left out."""
    assert "QueueTrigger" not in metadata(Message(body=b"\xff\xfe", id="1"))


def test_metadata_leaves_out_what_is_not_known() -> None:
    """A message made up by the admin has no id, receipt or times."""
    found = metadata(Message(body=b"x", dequeue_count=0))
    assert found == {"QueueTrigger": ("string", "x"), "DequeueCount": ("json", "0")}


def test_decode_of_base64_gives_the_bytes() -> None:
    """Blanks inside do not matter."""
    assert decode("aGVs\nbG8=", is_base64=True) == b"hello"


@pytest.mark.parametrize("text", ["hello!", "aGVsbG8", "{}"])
def test_decode_of_what_is_no_base64_is_refused(text: str) -> None:
    """It was not written for this app."""
    with pytest.raises(UndecodableError):
        decode(text, is_base64=True)


@pytest.mark.parametrize("is_base64", [True, False])
def test_encode_is_undone_by_decode(is_base64: bool) -> None:
    """Under either encoding."""
    body = "grüße".encode()
    assert decode(encode(body, is_base64=is_base64), is_base64=is_base64) == body
