"""Alive and ready: 503 only where nobody can be served."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from cleanup_abandoned_drafts.handler import CLEANUP
from shared.domain.errors import SettingsError
from shared.jobs import Tick, run
from shared.ports import Row
from shared.records.deadletters import DeadLetter
from shared.records.jobruns import JobRun, JobRuns, Outcome
from tests.fakes import NOW
from tests.unit.api.failing import at


def ready(caller, *, model=True, connect=None):
    return caller.ask(
        "health_ready",
        connect=connect or (lambda: caller.world.deps),
        worker_usable=lambda *, with_model: model or not with_model,
    )


def test_process_is_alive(caller):
    """200 without a look at anything."""
    assert caller.ask("health_live").json == {"status": "live"}


def test_service_is_ready_with_nothing_degraded(caller):
    """200 and an empty list."""
    reply = ready(caller)
    assert (reply.status, reply.json) == (200, {"status": "ready", "degraded": []})


@pytest.mark.parametrize(
    ("call", "service"),
    [("uploads.info", "blob"), ("jobs.depth", "queue"), ("drafts.get", "table")],
)
def test_service_without_storage_is_not_ready(caller, call, service):
    """503 naming what does not answer."""
    caller.world.faults.before = at(call, times=9)
    reply = ready(caller)
    assert (reply.status, reply.code) == (503, "STORAGE_UNAVAILABLE")
    assert reply.json["unreachable"] == [service]


def test_service_with_wrong_settings_is_not_ready(caller):
    """503 naming each setting."""

    def connect():
        raise SettingsError(["LEASE_SECONDS: must be more than twice HEARTBEAT_SECONDS"])

    reply = ready(caller, connect=connect)
    assert (reply.status, reply.code) == (503, "SETTINGS_INVALID")
    assert reply.json["settings"] == ["LEASE_SECONDS: must be more than twice HEARTBEAT_SECONDS"]


def test_service_without_its_model_is_degraded(caller):
    """People are served, with less."""
    assert ready(caller, model=False).json["degraded"] == ["model_missing"]


@pytest.mark.parametrize(
    ("segmenter", "provider", "degraded"),
    [
        ("auto", "none", ["model_missing"]),
        ("remote", "none", ["model_missing"]),  # it is what stands in
        ("classical", "model", ["model_missing"]),
        ("classical", "openai", []),
    ],
)
def test_service_wants_the_model_where_a_photo_may_meet_it(caller, segmenter, provider, degraded):
    """What the settings never use is not missed."""
    deps = caller.world.deps
    values = replace(deps.settings, segmenter=segmenter, metadata_provider=provider)
    reply = ready(caller, model=False, connect=lambda: replace(deps, settings=values))
    assert reply.json["degraded"] == degraded


@pytest.mark.parametrize("segmenter", ["auto", "remote", "classical"])
def test_service_whose_worker_does_not_load_is_degraded(caller, segmenter):
    """Whatever the settings: every job would end there."""
    deps = caller.world.deps
    values = replace(deps.settings, segmenter=segmenter, metadata_provider="none")
    reply = caller.ask(
        "health_ready",
        connect=lambda: replace(deps, settings=values),
        worker_usable=lambda *, with_model: False,
    )
    assert reply.json["degraded"] == ["model_missing"]


@pytest.mark.parametrize(("minutes", "degraded"), [(15, []), (16, ["backlog"])])
def test_service_with_an_old_message_is_degraded(caller, minutes, degraded):
    """The limit is the alarm's."""
    caller.world.jobs.send("x")
    caller.world.clock.pass_(minutes=minutes)
    assert ready(caller).json["degraded"] == degraded


@pytest.mark.parametrize(("messages", "degraded"), [(500, []), (501, ["backlog"])])
def test_service_with_many_messages_is_degraded(caller, messages, degraded):
    """The limit is the alarm's."""
    for _ in range(messages):
        caller.world.jobs.send("x")
    assert ready(caller).json["degraded"] == degraded


@pytest.mark.parametrize(
    ("state", "hours", "degraded"),
    [("new", 1, ["dead_letters"]), ("replayed", 1, []), ("new", 25, [])],
)
def test_service_with_a_dead_letter_is_degraded(caller, state, hours, degraded):
    """For a day, or until it was replayed."""
    letter = DeadLetter(at=NOW, queue="q", reason="r", code="c", body=b"", state=state)
    caller.world.deps.letters.keep(letter, name="x")
    caller.world.clock.pass_(hours=hours)
    assert ready(caller).json["degraded"] == degraded


@pytest.mark.parametrize(("hours", "degraded"), [(25, []), (26, ["cleanup_lag"])])
def test_service_whose_cleanup_is_late_is_degraded(caller, hours, degraded):
    """The limit is the alarm's; a new installation has had no night yet."""
    run(CLEANUP, Tick(), caller.world.deps)
    caller.world.clock.pass_(hours=hours)
    assert ready(caller).json["degraded"] == degraded


def test_service_whose_cleanup_keeps_failing_is_degraded(caller):
    """Runs alone do not count, success does."""
    runs = JobRuns(caller.world.deps.jobruns_table)
    for hours in (30, 2):
        started = NOW - timedelta(hours=hours)
        runs.record(JobRun(job=CLEANUP.name, trigger="timer", started_at=started,
                           finished_at=started, outcome=Outcome.FAILED))  # fmt: skip
    assert ready(caller).json["degraded"] == ["cleanup_lag"]


def test_service_with_damaged_records_is_ready(caller, caplog):
    """What cannot be read is told and passed over, and hides nothing behind it."""
    world = caller.world
    letter = DeadLetter(at=NOW, queue="q", reason="r", code="c", body=b"")
    world.deps.letters.keep(letter, name="x")
    world.letters.put(Row(f"{NOW:%Y-%m}", "0-letter", {}))  # each the newest of its kind
    world.deps.jobruns_table.put(Row(CLEANUP.name, "0-run", {"trigger": "timer"}))
    reply = ready(caller)
    assert (reply.status, reply.json["degraded"]) == (200, ["dead_letters"])
    told = [json.loads(r.message) for r in caplog.records if "row_unreadable" in r.message]
    assert {(line["kind"], line["rowKey"]) for line in told} == {
        ("DeadLetter", "0-letter"),
        ("JobRun", "0-run"),
    }
