"""The job message, in and out."""

import base64
import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import MalformedMessageError
from shared.domain.ids import is_owner_id
from shared.domain.messages import JobMessage
from tests.factories import DRAFT_ID

PLAIN = {"version": 1, "ownerId": "o", "draftId": DRAFT_ID, "generation": 2}


@given(owner=st.text(max_size=128).filter(is_owner_id), generation=st.integers(1, 10**6))
def test_message_of_any_owner_survives_the_queue_and_stays_small(owner, generation):
    """Every message is ASCII, under 1 KB, and reads back as it was."""
    message = JobMessage(
        owner_id=owner, draft_id=DRAFT_ID, generation=generation, traceparent="0" * 55
    )
    text = message.encode()
    assert text.isascii()
    assert len(text) < 1024
    assert JobMessage.parse(text.encode()) == message


@pytest.mark.parametrize(
    "wrap",
    [lambda body: body, base64.b64encode, base64.encodebytes],
    ids=["plain", "base64", "base64_in_lines"],
)
@pytest.mark.parametrize("name", ["skipSegmentation", "skip_segmentation", "SkipSegmentation"])
def test_message_of_another_producer_is_understood(wrap, name):
    """JSON or base64 of JSON, in any casing of the names."""
    fields = {key.upper(): value for key, value in PLAIN.items()} | {name: True}
    parsed = JobMessage.parse(wrap(json.dumps(fields).encode()))
    assert parsed == JobMessage(
        owner_id="o", draft_id=DRAFT_ID, generation=2, skip_segmentation=True
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"hello", "neither JSON"),
        (b"", "neither JSON"),
        (b"\xff\xfe\x00", "neither JSON"),
        (b"[1]", "a JSON list"),
        (b"null", "a JSON NoneType"),
        (b"[" * 100_000, "neither JSON"),
        (b"{}", "ownerId"),
        (json.dumps(PLAIN | {"ownerId": 7}).encode(), "ownerId"),
        (json.dumps(PLAIN | {"ownerId": "x" * 200}).encode(), "ownerId"),
        (b'{"ownerId":"\\ud800","draftId":"x"}', "ownerId"),
        (json.dumps(PLAIN | {"draftId": "nope"}).encode(), "draftId"),
        (json.dumps(PLAIN | {"draftId": None}).encode(), "draftId"),
        (json.dumps(PLAIN | {"generation": 0}).encode(), "generation"),
        (json.dumps(PLAIN | {"generation": "2"}).encode(), "generation"),
        (json.dumps(PLAIN | {"generation": True}).encode(), "generation"),
        (json.dumps(PLAIN | {"generation": 10**30}).encode(), "generation"),
        (json.dumps(PLAIN | {"skipSegmentation": "maybe"}).encode(), "skipSegmentation"),
        (json.dumps(PLAIN | {"version": 2}).encode(), "version"),
    ],
)
def test_message_that_is_not_understood_says_why(body, reason):
    """A malformed body raises with the reason that goes into its dead letter."""
    with pytest.raises(MalformedMessageError, match=reason):
        JobMessage.parse(body)


@pytest.mark.parametrize("trace", ["\ud800", "é", 7, ["a"], None])
def test_message_with_a_useless_trace_can_be_sent_on(trace):
    """Another producer's mistake in what only logs read costs nobody a run."""
    message = JobMessage.parse(json.dumps(PLAIN | {"traceparent": trace}).encode())
    assert JobMessage.parse(message.encode().encode()) == message
    assert message.traceparent == ""


@given(st.binary(max_size=200))
def test_message_of_any_bytes_parses_or_is_malformed(body):
    """No body raises anything else."""
    with contextlib.suppress(MalformedMessageError):
        assert JobMessage.parse(body).draft_id
