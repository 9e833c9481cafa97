"""What operators ask for and set going; the host has checked the admin key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from urllib.parse import unquote

from shared import operations
from shared.api.exchange import Answer, Request, answer, number_asked
from shared.api.models import RetryFailedRequest, read_json
from shared.api.service_views import (
    DeadLettersView,
    DeadLetterView,
    JobRunView,
    JobStateView,
    QueueStateView,
    RetryReportView,
    SummaryView,
)
from shared.dependencies import Dependencies
from shared.records.deadletters import DeadLetter
from shared.records.jobruns import JobRun

LETTERS, MOST_LETTERS = 100, 1000
_SHOWN_BODY = 4000  # characters


def ops_summary(request: Request, deps: Dependencies) -> Answer:
    """200: queues, jobs and dead letters as they are now."""
    found = operations.summary(deps)
    jobs = [
        JobStateView(
            job=state.job,
            enabled=state.enabled,
            last_run=_run(state.last_run) if state.last_run else None,
            last_success_at=state.last_success_at,
            last_success_age_seconds=state.last_success_age_seconds,
        )
        for state in found.jobs
    ]
    queues = [QueueStateView(**asdict(state)) for state in found.queues]
    view = SummaryView(
        at=found.at, queues=queues, jobs=jobs, new_dead_letters=found.new_dead_letters
    )
    return answer(200, view)


def ops_cleanup(
    request: Request, deps: Dependencies, *, run_cleanup_now: Callable[[Dependencies], JobRun]
) -> Answer:
    """200 with what the run did. Raises RequestError (409) where the job is switched off."""
    return answer(200, _run(run_cleanup_now(deps)))


def ops_retry_failed(request: Request, deps: Dependencies) -> Answer:
    """200 with the drafts that match, retried unless it is a dry run."""
    wanted = read_json(request, RetryFailedRequest)
    report = operations.retry_failed(
        deps, code=wanted.code, since=wanted.since, most=wanted.max, dry_run=wanted.dry_run
    )
    return answer(200, RetryReportView(**asdict(report)))


def ops_dead_letters(request: Request, deps: Dependencies) -> Answer:
    """200 with the newest of those that are kept."""
    most = number_asked(request, "max", default=LETTERS, most=MOST_LETTERS)
    letters = operations.dead_letters(deps, most=most)
    return answer(200, DeadLettersView(dead_letters=[_letter(letter) for letter in letters]))


def ops_replay_dead_letter(request: Request, deps: Dependencies) -> Answer:
    """200 with the letter. Raises RequestError (404, or 409 where it is not safe)."""
    return answer(200, _letter(operations.replay(unquote(request.path.get("id", "")), deps)))


def _run(run: JobRun) -> JobRunView:
    return JobRunView(
        job=run.job,
        trigger=run.trigger,
        scheduled_at=run.scheduled_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        past_due=run.past_due,
        outcome=run.outcome,
        error=run.error,
        report=asdict(run.report),
    )


def _letter(letter: DeadLetter) -> DeadLetterView:
    return DeadLetterView(
        id=letter.id,
        at=letter.at,
        state=letter.state,
        queue=letter.queue,
        code=letter.code,
        reason=letter.reason,
        dequeue_count=letter.dequeue_count,
        draft_id=letter.draft_id,
        generation=letter.generation,
        attempts=letter.attempts,
        body=letter.body.decode(errors="replace")[:_SHOWN_BODY],
    )
