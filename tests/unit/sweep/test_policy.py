"""What has to be done about a draft: a table of cases."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cleanup_abandoned_drafts.policy import Verdict, verdict
from shared.domain.draft import DraftError, DraftStatus, WorkReason
from shared.settings import Settings
from tests.factories import make_draft, make_work
from tests.fakes import NOW

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
KEEP = Settings().retention
WEEKS = replace(KEEP, ready=timedelta(days=14))


def failed(age):
    return DraftError(code="X", detail="x", retryable=True, failed_at=NOW - age)


def working(queued=4 * MINUTE, started=None, **changes):
    work = make_work(queued_at=NOW - queued, started_at=NOW - (started or queued))
    return make_draft(work=work, **changes)


def resting(status, **changes):
    return make_draft(status=status, work=None, **changes)


CASES = {
    "just_queued": (working(2 * MINUTE), Verdict.WAIT),
    "three_minutes_old": (working(3 * MINUTE), Verdict.WAIT),
    "older_than_three_minutes": (working(3 * MINUTE + MINUTE / 60), Verdict.RESEND),
    "held_by_a_live_run": (
        working(HOUR, lease_id="x", lease_expires_at=NOW + MINUTE),
        Verdict.WAIT,
    ),
    "lease_died_just_now": (
        working(HOUR, lease_id="x", lease_expires_at=NOW - MINUTE),
        Verdict.WAIT,
    ),
    "lease_died_long_ago": (
        working(HOUR, lease_id="x", lease_expires_at=NOW - 4 * MINUTE),
        Verdict.RESEND,
    ),
    "given_back_long_ago": (working(HOUR, lease_expires_at=NOW - 4 * MINUTE), Verdict.RESEND),
    "two_hours_and_unattended": (working(started=2 * HOUR), Verdict.FAIL_STUCK),
    "two_hours_and_held": (
        working(started=3 * HOUR, lease_id="x", lease_expires_at=NOW + MINUTE),
        Verdict.WAIT,
    ),
    "two_hours_and_just_sent": (working(MINUTE, started=3 * HOUR), Verdict.WAIT),
    "reprocess_of_a_ready_draft": (
        make_draft(
            status=DraftStatus.READY,
            work=make_work(
                reason=WorkReason.REPROCESS, queued_at=NOW - HOUR, started_at=NOW - HOUR
            ),
        ),
        Verdict.RESEND,
    ),
    "upload_of_a_day": (
        resting(DraftStatus.UPLOADING, created_at=NOW - DAY),
        Verdict.FAIL_ABANDONED,
    ),
    "upload_of_today": (
        resting(DraftStatus.UPLOADING, created_at=NOW - 23 * HOUR),
        Verdict.RESCHEDULE,
    ),
    "failed_seven_days_ago": (
        resting(DraftStatus.FAILED, error=failed(7 * DAY)),
        Verdict.PURGE,
    ),
    "failed_yesterday_created_last_year": (
        resting(DraftStatus.FAILED, error=failed(DAY), created_at=NOW - 365 * DAY),
        Verdict.RESCHEDULE,
    ),
    "ready_for_ever": (
        resting(DraftStatus.READY, status_since=NOW - 900 * DAY),
        Verdict.RESCHEDULE,
    ),
    "accepted_for_ever": (
        resting(DraftStatus.ACCEPTED, status_since=NOW - 900 * DAY),
        Verdict.RESCHEDULE,
    ),
    "unsent_events": (resting(DraftStatus.READY, unsent_since=3), Verdict.FINISH),
    "leftovers": (resting(DraftStatus.READY, leftovers=True), Verdict.FINISH),
    "failed_and_old_but_nobody_was_told": (
        resting(DraftStatus.FAILED, error=failed(8 * DAY), unsent_since=3),
        Verdict.FINISH,
    ),
    "tombstone": (make_draft(deleted_at=NOW - HOUR, work=None), Verdict.ERASE),
}


@pytest.mark.parametrize(("draft", "expected"), CASES.values(), ids=CASES)
def test_verdict_on_a_draft(draft, expected):
    """Every state that can be due has one thing to be done about it."""
    assert verdict(draft, head=NOW, now=NOW, retention=KEEP) is expected


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        (timedelta(0), Verdict.WAIT),
        (MINUTE, Verdict.WAIT),
        (MINUTE + timedelta(seconds=1), Verdict.RESEND),
    ],
    ids=["at_the_head", "a_minute_older", "older"],
)
def test_verdict_in_a_backlog_depends_on_the_head(mark, expected):
    """What waits in line is left alone, however long; what is older than the head was lost."""
    head = NOW - HOUR
    draft = working(HOUR + mark)
    assert verdict(draft, head=head, now=NOW, retention=KEEP) is expected


def test_verdict_on_a_ready_draft_with_a_lifetime():
    """Where READY_TTL_DAYS is set, Ready drafts end too."""
    draft = resting(DraftStatus.READY, updated_at=NOW - timedelta(days=14))
    assert verdict(draft, head=NOW, now=NOW, retention=WEEKS) is Verdict.PURGE
