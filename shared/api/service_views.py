"""What health and the operators' routes show."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field, field_serializer
from pydantic.alias_generators import to_camel

from shared.api.views import View
from shared.records.jobruns import Outcome


class LiveView(View):
    """The process answers."""

    status: Literal["live"] = "live"


class Degradation(StrEnum):
    """For what people have to wait, or do without."""

    MODEL_MISSING = "model_missing"
    BACKLOG = "backlog"
    DEAD_LETTERS = "dead_letters"
    CLEANUP_LAG = "cleanup_lag"


class ReadyView(View):
    """Requests can be served, if not in full."""

    status: Literal["ready"] = "ready"
    degraded: list[Degradation]


class QueueStateView(View):
    """A queue at one moment; `messages` is about, and counts hidden ones."""

    name: str
    messages: int
    oldest_age_seconds: int | None


class JobRunView(View):
    """One run of a scheduled job; without `outcome` it is at work, or was lost."""

    job: str
    trigger: str
    scheduled_at: datetime | None
    started_at: datetime
    finished_at: datetime | None
    past_due: bool
    outcome: Outcome | None
    error: str | None
    report: dict[str, int]

    @field_serializer("report")
    def _camel_names(self, report: dict[str, int]) -> dict[str, int]:
        return {to_camel(name): number for name, number in report.items()}


class JobStateView(View):
    """How a scheduled job fares."""

    job: str
    enabled: bool
    last_run: JobRunView | None
    last_success_at: datetime | None
    last_success_age_seconds: int | None


class SummaryView(View):
    """How things stand."""

    at: datetime
    queues: list[QueueStateView]
    jobs: list[JobStateView]
    new_dead_letters: int


class RetryReportView(View):
    """Failed drafts that were found, and how many of them are on their way again."""

    matched: int
    retried: int
    draft_ids: list[str]
    dry_run: bool


class DeadLetterView(View):
    """A message that could not be understood, or the end of a draft's attempts."""

    id: str
    at: datetime
    state: str = Field(json_schema_extra={"enum": ["new", "replayed"]})
    queue: str
    code: str
    reason: str
    dequeue_count: int
    draft_id: str | None
    generation: int | None
    attempts: int | None
    body: str


class DeadLettersView(View):
    """Newest first."""

    dead_letters: list[DeadLetterView]
