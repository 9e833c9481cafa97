"""What operators ask for and set going."""

from datetime import timedelta

import pytest

from cleanup_abandoned_drafts.handler import run_cleanup_now
from shared.domain.draft import DraftError, DraftStatus
from shared.records.deadletters import DeadLetter
from shared.settings import Settings
from shared.webhooks import give_up
from tests.factories import DRAFT_ID, OTHER_ID, make_draft, make_world
from tests.fakes import NOW
from tests.unit.api.calling import Caller

EVENT = b'{"specversion":"1.0","id":"x/1"}'


def failed(draft_id=DRAFT_ID, code="WORKER_LOST", **changes):
    error = DraftError(code=code, detail="It failed.", retryable=True, failed_at=NOW)
    return make_draft(id=draft_id, status=DraftStatus.FAILED, work=None, error=error, **changes)


def letter(world, **changes):
    fields = {"at": NOW, "queue": "jobs", "reason": "lost", "code": "WORKER_LOST", "body": b"{}"}
    return world.deps.letters.keep(DeadLetter(**(fields | changes)), name="one")


def test_summary_shows_queues_jobs_and_letters(caller, world):
    """Numbers with their units, as they are now."""
    world.jobs.send("x")
    world.clock.pass_(seconds=90)
    letter(world)
    run_cleanup_now(world.deps)
    view = caller.ask("ops_summary").json
    jobs = {job["job"]: job for job in view["jobs"]}
    assert view["queues"][0] == {
        "name": "image-processing-jobs",
        "messages": 1,
        "oldestAgeSeconds": 90,
    }
    assert view["newDeadLetters"] == 1
    assert jobs["cleanup_abandoned_drafts"]["lastRun"]["outcome"] == "success"
    assert jobs["cleanup_abandoned_drafts"]["lastSuccessAgeSeconds"] == 0
    assert jobs["repair_unattended_drafts"]["lastRun"] is None


def test_cleanup_runs_at_once_and_says_what_it_did(caller, world):
    """200 with the run's record."""
    world.add(failed())
    world.clock.pass_(days=7, minutes=1)
    reply = caller.ask("ops_cleanup", run_cleanup_now=run_cleanup_now)
    assert (reply.status, reply.json["trigger"], reply.json["outcome"]) == (
        200,
        "operator",
        "success",
    )
    assert reply.json["report"]["purged"] == 1
    assert reply.json["report"]["failedBlobDeletions"] == 0


def test_cleanup_that_is_switched_off(caller):
    """409: the kill switch holds for operators too."""
    settings = Settings(auth_mode="local", job_cleanup_abandoned_drafts_enabled=False)
    reply = Caller(make_world(settings=settings)).ask(
        "ops_cleanup", run_cleanup_now=run_cleanup_now
    )
    assert (reply.status, reply.code) == (409, "JOB_DISABLED")


def test_retry_of_what_failed_first_says_which(caller, world):
    """A dry run changes nothing; the real one sends."""
    world.add(failed())
    world.add(failed(OTHER_ID, "ATTEMPTS_EXHAUSTED"))
    dry = caller.ask("ops_retry_failed", json={"code": "WORKER_LOST", "dryRun": True})
    assert dry.json == {
        "matched": 1,
        "retried": 0,
        "draftIds": [DRAFT_ID],
        "dryRun": True,
    }
    assert world.jobs.sent == []
    real = caller.ask("ops_retry_failed", json={"code": "WORKER_LOST"})
    assert (real.json["retried"], len(world.jobs.sent)) == (1, 1)


def test_retry_of_what_failed_since(caller, world):
    """Only what failed at that time or later."""
    world.add(failed())
    later = (NOW + timedelta(seconds=1)).isoformat()
    assert caller.ask("ops_retry_failed", json={"since": later}).json["matched"] == 0
    assert caller.ask("ops_retry_failed", json={"since": NOW.isoformat()}).json["matched"] == 1


@pytest.mark.parametrize(
    "body", [{"since": "yesterday"}, {"since": "2026-08-01T12:00:00"}, {"max": 0}, {"all": True}]
)
def test_retry_of_what_failed_with_a_wrong_wish(caller, body):
    """422 naming the field."""
    reply = caller.ask("ops_retry_failed", json=body)
    assert (reply.status, reply.code) == (422, "VALIDATION")


def test_dead_letters_are_shown_newest_first(caller, world):
    """With their bodies as text, whatever they hold."""
    letter(world, body=b"\xff{}")
    [shown] = caller.ask("ops_dead_letters").json["deadLetters"]
    assert (shown["code"], shown["state"], shown["body"]) == ("WORKER_LOST", "new", "\ufffd{}")


@pytest.mark.parametrize("most", ["0", "1001", "x", "99999999", "0001099999"])
def test_dead_letters_with_a_wrong_number(caller, most):
    """400 naming the parameter."""
    reply = caller.ask("ops_dead_letters", query={"max": most})
    assert (reply.status, reply.code) == (400, "VALIDATION")


def test_replay_of_a_failed_draft(caller, world):
    """The draft is retried, and the letter says so."""
    world.add(failed())
    kept = letter(world, owner_id="owner-1", draft_id=DRAFT_ID)
    reply = caller.ask("ops_replay_dead_letter", path={"id": kept.id})
    assert (reply.status, reply.json["state"]) == (200, "replayed")
    assert len(world.jobs.sent) == 1


def test_replay_of_an_undelivered_event(caller, world):
    """It goes to its queue once more."""
    give_up(EVENT, dequeue_count=1, deps=world.deps)
    [kept] = world.deps.letters.newest(NOW)
    reply = caller.ask("ops_replay_dead_letter", path={"id": kept.id})
    assert (reply.status, world.deps.webhooks.sent[0][0]) == (200, EVENT.decode())


def test_replay_of_what_nothing_waits_for(caller, world):
    """409: its draft is gone."""
    kept = letter(world, owner_id="owner-1", draft_id=DRAFT_ID)
    reply = caller.ask("ops_replay_dead_letter", path={"id": kept.id})
    assert (reply.status, reply.code) == (409, "NOT_REPLAYABLE")


@pytest.mark.parametrize("letter_id", ["nope", "2026-08~nope", "2026-08%7Enope", "~"])
def test_replay_of_an_unknown_letter(caller, letter_id):
    """404."""
    reply = caller.ask("ops_replay_dead_letter", path={"id": letter_id})
    assert (reply.status, reply.code) == (404, "NOT_FOUND")
