"""Log lines."""

import inspect
import json
import logging
import threading

from shared import telemetry
from shared.domain.messages import JobMessage
from tests.factories import DRAFT_ID, make_draft, make_work

TRACE = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"


def lines(caplog):
    return [json.loads(record.getMessage()) for record in caplog.records]


def test_line_is_one_json_object_about_its_draft(caplog):
    """Every line carries draft, generation, attempt and trace."""
    caplog.set_level(logging.INFO)
    draft = make_draft(attempts=2, work=make_work(traceparent=TRACE))
    with telemetry.about(draft):
        telemetry.stage_done(stage="Segmented", duration_ms=5)
    assert lines(caplog) == [
        {
            "event": "stage_done",
            "level": "info",
            "draftId": DRAFT_ID,
            "generation": 1,
            "attempt": 2,
            "traceId": "a" * 32,
            "stage": "Segmented",
            "durationMs": 5,
        }
    ]


def test_line_before_the_row_is_read_names_the_message(caplog):
    """A skipped message says which draft it named."""
    caplog.set_level(logging.INFO)
    message = JobMessage(owner_id="o", draft_id=DRAFT_ID, generation=3, traceparent=TRACE)
    with telemetry.about_message(message):
        telemetry.job_skipped(why="missing", dequeue_count=1)
    [line] = lines(caplog)
    assert (line["draftId"], line["generation"], line["attempt"]) == (DRAFT_ID, 3, 0)


def test_subject_does_not_leak_into_other_threads_or_later_lines(caplog):
    """What a line is about ends with its block, and is each thread's own."""
    caplog.set_level(logging.INFO)
    with telemetry.about(make_draft()):
        other = threading.Thread(
            target=telemetry.stage_done, kwargs={"stage": "x", "duration_ms": 1}
        )
        other.start()
        other.join()
    telemetry.stage_done(stage="y", duration_ms=1)
    assert [line["draftId"] for line in lines(caplog)] == [None, None]


def test_owner_never_stands_in_clear():
    """An owner is a hash in every line; no event takes an id."""
    assert telemetry.owner_hash("owner-1") == "391887cbcf92"
    takers = [
        name
        for name, function in inspect.getmembers(telemetry, inspect.isfunction)
        if "owner_hash" in inspect.signature(function).parameters
    ]
    assert takers == ["draft_accepted", "rate_limited"]
    assert [
        name
        for name, function in inspect.getmembers(telemetry, inspect.isfunction)
        if "owner_id" in inspect.signature(function).parameters
    ] == []


def test_new_traceparent_is_a_trace_context():
    """A request that brings no trace gets one."""
    made = telemetry.new_traceparent()
    assert len(made) == 55
    assert telemetry.trace_id(made) == made[3:35]
    assert telemetry.trace_id("nonsense") is None


def test_line_never_holds_a_trace_that_is_none(caplog):
    """A message of another producer may say anything: only 32 hex digits are a trace."""
    caplog.set_level(logging.INFO)
    message = JobMessage(owner_id="o", draft_id=DRAFT_ID, traceparent="00-my-name-01")
    with telemetry.about_message(message):
        telemetry.job_skipped(why="missing", dequeue_count=1)
    assert lines(caplog)[0]["traceId"] is None
