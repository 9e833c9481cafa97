"""What the app tells: one function per log event, one JSON object per line.

The names and fields are those of docs/telemetry.md; the alarms are built on them. The host drops
`extra=`, so every fact is in the message. Never a file name, key, SAS or plain owner id. The
parameters of a function are the fields of its line: `locals()` hands them on by name.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic.alias_generators import to_camel

from shared.domain.draft import Draft
from shared.domain.messages import JobMessage

_log = logging.getLogger("fitting_room")
# https://www.w3.org/TR/trace-context/#traceparent-header; callers send what they like
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Subject:
    """Which draft, and which run of it, the lines of this context speak of."""

    draft_id: str | None = None
    generation: int | None = None
    attempt: int | None = None
    trace_id: str | None = None


_NOBODY = Subject()
_subject: ContextVar[Subject] = ContextVar("subject", default=_NOBODY)


@contextmanager
def about(draft: Draft, traceparent: str = "") -> Iterator[None]:
    """Every line within is about this draft and run."""
    trace = traceparent or (draft.work.traceparent if draft.work else "")
    with _speaking_of(Subject(draft.id, draft.generation, draft.attempts, trace_id(trace))):
        yield


@contextmanager
def about_message(message: JobMessage) -> Iterator[None]:
    """Every line within is about the draft that a message names, before its row is read."""
    subject = Subject(message.draft_id, message.generation, 0, trace_id(message.traceparent))
    with _speaking_of(subject):
        yield


@contextmanager
def about_request(traceparent: str) -> Iterator[None]:
    """Every line within that is about no draft carries the request's trace, or one of ours."""
    with _speaking_of(Subject(trace_id=trace_id(traceparent) or trace_id(new_traceparent()))):
        yield


@contextmanager
def _speaking_of(subject: Subject) -> Iterator[None]:
    token = _subject.set(subject)
    try:
        yield
    finally:
        _subject.reset(token)


def new_traceparent() -> str:
    """A W3C trace context of our own: of the request that is being answered, or a new one."""
    trace = _subject.get().trace_id or secrets.token_hex(16)
    return f"00-{trace}-{secrets.token_hex(8)}-01"


def trace_id(traceparent: str) -> str | None:
    """The 32 hex digits in the middle of a `traceparent`; None for a text that is none."""
    found = _TRACEPARENT.fullmatch(traceparent)
    return found[1] if found else None


def owner_hash(owner_key: str) -> str:
    """Two lines of one person can be seen to belong together, nothing more."""
    return hashlib.sha256(owner_key.encode()).hexdigest()[:12]


def milliseconds(start: datetime, end: datetime) -> int:
    return round((end - start).total_seconds() * 1000)


def draft_accepted(
    *, source: str, size_bytes: int, skip_segmentation: bool, owner_hash: str
) -> None:
    _tell(logging.INFO, "draft_accepted", locals())


def job_started(
    *, reason: str, stage: str, dequeue_count: int, queue_delay_ms: int, lost_runs: int
) -> None:
    _tell(logging.INFO, "job_started", locals())


def stage_done(*, stage: str, duration_ms: int) -> None:
    _tell(logging.INFO, "stage_done", locals())


def provider_called(
    *,
    provider: str,
    outcome: str,
    duration_ms: int,
    input_tokens: int | None,
    output_tokens: int | None,
) -> None:
    _tell(logging.INFO, "provider_called", locals())


def draft_ready(
    *,
    reason: str,
    status: str,
    duration_ms: int,
    total_ms: int,
    queue_delay_ms: int,
    segmentation: str,
    metadata_source: str,
    warnings: int,
) -> None:
    _tell(logging.INFO, "draft_ready", locals())


def draft_failed(
    *,
    reason: str | None,
    code: str,
    retryable: bool,
    permanent: bool,
    stage: str | None,
    total_ms: int | None,
) -> None:
    _tell(logging.WARNING if permanent else logging.ERROR, "draft_failed", locals())


def draft_retried(*, code: str, retry_count: int, trigger: str) -> None:
    _tell(logging.INFO, "draft_retried", locals())


def run_failed(*, code: str, stage: str, duration_ms: int, dequeue_count: int) -> None:
    _tell(logging.WARNING, "run_failed", locals())


def checkpoint_lost(*, stage: str, error: str) -> None:
    _tell(logging.WARNING, "checkpoint_lost", locals())


def lease_taken_over(*, lost_runs: int, overdue_ms: int) -> None:
    _tell(logging.WARNING, "lease_taken_over", locals())


def job_skipped(*, why: str, dequeue_count: int) -> None:
    _tell(logging.INFO, "job_skipped", locals())


def draft_resent(*, trigger: str, resends: int, unattended_seconds: int) -> None:
    _tell(logging.WARNING, "draft_resent", locals())


def dead_lettered(*, dead_letter_id: str, queue: str, code: str, dequeue_count: int) -> None:
    _tell(logging.ERROR, "dead_lettered", locals())


def queue_depth(*, queue: str, messages: int, oldest_age_seconds: int | None) -> None:
    _tell(logging.INFO, "queue_depth", locals(), subject=False)


def cleanup_started(
    *, job: str, trigger: str, scheduled_at: str | None, started_at: str, past_due: bool
) -> None:
    _tell(logging.INFO, "cleanup_started", locals(), subject=False)


def cleanup_finished(
    *,
    job: str,
    trigger: str,
    outcome: str,
    duration_ms: int,
    examined: int,
    failed: int,
    purged: int,
    failed_blob_deletions: int,
    remaining: int,
) -> None:
    _tell(
        logging.INFO if outcome == "success" else logging.WARNING,
        "cleanup_finished",
        locals(),
        subject=False,
    )


def sweep_interrupted(*, step: str, code: str) -> None:
    _tell(logging.WARNING, "sweep_interrupted", locals(), subject=False)


def due_entry_failed(*, code: str, draft_id: str) -> None:
    _tell(logging.WARNING, "due_entry_failed", locals(), subject=False)


def row_unreadable(*, kind: str, row_key: str, code: str) -> None:
    _tell(logging.WARNING, "row_unreadable", locals(), subject=False)


def blob_delete_failed(*, container: str, error_code: str, draft_id: str) -> None:
    _tell(logging.WARNING, "blob_delete_failed", locals(), subject=False)


def rate_limited(*, limit: str, retry_after_seconds: int, owner_hash: str) -> None:
    _tell(logging.INFO, "rate_limited", locals(), subject=False)


def request_failed(*, during: str, code: str, detail: str | None, error: str, where: str) -> None:
    _tell(logging.ERROR if detail is None else logging.WARNING, "request_failed", locals())


def worker_unusable(*, reason: str) -> None:
    _tell(logging.ERROR, "worker_unusable", locals(), subject=False)


def _tell(level: int, event: str, fields: Mapping[str, Any], *, subject: bool = True) -> None:
    line: dict[str, Any] = {"event": event, "level": logging.getLevelName(level).lower()}
    if subject:
        known = _subject.get()
        line |= {
            "draftId": known.draft_id,
            "generation": known.generation,
            "attempt": known.attempt,
            "traceId": known.trace_id,
        }
    given = {to_camel(name): value for name, value in fields.items()}
    _log.log(level, json.dumps(line | given, separators=(",", ":")))
