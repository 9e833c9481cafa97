"""Lifetimes, due times, and what counts as unattended."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.domain.draft import DraftError, DraftStatus
from shared.domain.retention import due_at, expires_at, unattended
from shared.settings import Settings
from tests.factories import make_draft, make_work
from tests.fakes import NOW

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
KEEP = Settings().retention
FAILED_AT = NOW + 3 * MINUTE
ERROR = DraftError(code="X", detail="x", retryable=True, failed_at=FAILED_AT)


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({"status": DraftStatus.UPLOADING, "work": None}, NOW + DAY),
        ({"status": DraftStatus.PROCESSING}, None),
        ({"status": DraftStatus.FAILED, "work": None, "error": ERROR}, FAILED_AT + 7 * DAY),
        ({"status": DraftStatus.READY, "work": None}, None),
        ({"status": DraftStatus.ACCEPTED, "work": None}, None),
    ],
)
def test_expiry_follows_the_status(changes, end):
    """Uploading ends after a day, Failed a week after it failed, the rest is kept."""
    draft = make_draft(**changes)
    assert expires_at(draft, KEEP) == end
    if draft.work is None:
        assert due_at(draft, KEEP, NOW) == end


def test_expiry_of_ready_drafts_is_a_setting():
    """READY_TTL_DAYS counts from the last change that people see, such as an edit."""
    draft = make_draft(status=DraftStatus.READY, work=None, status_since=NOW, updated_at=NOW + DAY)
    assert expires_at(draft, replace(KEEP, ready=2 * DAY)) == NOW + 3 * DAY


def test_due_time_of_wanted_work_follows_its_message():
    """The sweep looks 3 minutes after the message became visible."""
    draft = make_draft(work=make_work(queued_at=NOW + MINUTE))
    assert due_at(draft, KEEP, NOW) == NOW + 4 * MINUTE


def test_due_time_of_an_unsent_event_is_soon():
    """An event that did not go out is looked at in 3 minutes."""
    draft = make_draft(status=DraftStatus.READY, work=None, unsent_since=4)
    assert due_at(draft, KEEP, NOW) == NOW + 3 * MINUTE


def test_due_time_of_a_tombstone_leaves_late_writers_their_time():
    """The second pass comes 15 minutes after the deletion."""
    assert due_at(make_draft(deleted_at=NOW), KEEP, NOW) == NOW + 15 * MINUTE


@pytest.mark.parametrize(
    ("changes", "minutes", "head", "found"),
    [
        ({}, 3, 3, False),  # exactly 3 minutes are not over 3 minutes
        ({}, 4, 4, True),
        ({}, 60, 0, False),  # its own message heads the queue: a backlog
        ({}, 60, 1, False),  # exactly 1 minute older than the head
        ({}, 60, 2, True),  # the queue has passed it by: the message is lost
        ({"work": None}, 60, 60, False),
        ({"lease_id": "run", "lease_expires_at": NOW + 61 * MINUTE}, 60, 60, False),
        ({"lease_id": "run", "lease_expires_at": NOW + 58 * MINUTE}, 60, 60, False),
        ({"lease_id": "run", "lease_expires_at": NOW + 56 * MINUTE}, 60, 60, True),
    ],
)
def test_unattended_needs_age_and_a_queue_that_has_passed_by(changes, minutes, head, found):
    """Over 3 minutes without attention and over 1 minute behind the head, with no live lease."""
    draft = make_draft(**changes)
    assert unattended(draft, NOW + head * MINUTE, NOW + minutes * MINUTE) is found
