"""The operators' commands as they are typed, on the emulator."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shared.records.jobruns import JobRun, JobRuns, Outcome
from shared.settings import Settings
from shared.storage.services import Services
from shared.storage.tables import AzureTable
from tests.contract.conftest import fresh

ROOT = Path(__file__).resolve().parents[2]
THREE = datetime(2026, 8, 1, 3, 0, tzinfo=UTC)


@pytest.fixture
def environ(azurite):
    """The settings of an installation of its own on the emulator."""
    names = {
        "UPLOADS_CONTAINER": fresh("u"),
        "IMAGES_CONTAINER": fresh("i"),
        "DRAFTS_TABLE": fresh("d"),
        "DUE_TABLE": fresh("e"),
        "JOBRUNS_TABLE": fresh("r"),
        "DEADLETTERS_TABLE": fresh("l"),
    }
    services = Services.from_connection_string(azurite.connection_string)
    services.create_missing(Settings.from_env(names))
    return names | {"DRAFTS": azurite.connection_string}


def command(environ, *arguments):
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def record(environ, *days):
    services = Services.from_connection_string(environ["DRAFTS"])
    table = AzureTable(services.tables.get_table_client(environ["JOBRUNS_TABLE"]))
    for day in days:
        started = THREE + timedelta(days=day, seconds=1)
        JobRuns(table).record(
            JobRun(
                job="cleanup_abandoned_drafts",
                trigger="timer",
                started_at=started,
                outcome=Outcome.SUCCESS,
            )
        )


def verify(environ):
    return command(
        environ, "shared.jobs", "verify",
        "--job", "cleanup_abandoned_drafts", "--since", "2026-08-01", "--until", "2026-08-04",
    )  # fmt: skip


def test_verify_where_each_window_ran_once_says_so(environ):
    """Three nights, three runs, exit code 0."""
    record(environ, 0, 1, 2)
    answer = verify(environ)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines()[-1].endswith("3 windows, 3 ran exactly once.")


def test_verify_where_a_window_is_missing_names_it(environ):
    """Two schedulers were switched over a night too late: exit code 1."""
    record(environ, 0, 2, 2)
    answer = verify(environ)
    assert answer.returncode == 1
    assert "2026-08-02 03:00:00Z  did not run" in answer.stdout
    assert "2026-08-03 03:00:00Z  ran more than once" in answer.stdout


def test_verify_of_an_unknown_job_says_nothing(environ):
    """Without a schedule there are no windows: exit code 2."""
    answer = command(environ, "shared.jobs", "verify", "--job", "x", "--since", "2026-08-01")
    assert answer.returncode == 2
    assert "--schedule" in answer.stdout


def test_audit_of_an_empty_installation_finds_nothing(environ):
    """Exit code 0."""
    answer = command(environ, "cleanup_abandoned_drafts.audit")
    assert (answer.returncode, answer.stdout) == (0, "0 findings\n"), answer.stderr


def test_audit_lists_and_removes_an_orphan(environ):
    """Exit code 1 when something was found, then 0."""
    services = Services.from_connection_string(environ["DRAFTS"])
    container = services.blobs.get_container_client(environ["IMAGES_CONTAINER"])
    container.upload_blob("o/0198640d-c000-7000-8000-00000000dead/1-1/thumb.webp", b"x")
    found = command(environ, "cleanup_abandoned_drafts.audit", "--remove")
    assert found.returncode == 1
    assert "blob that no row names: o/0198640d" in found.stdout
    assert command(environ, "cleanup_abandoned_drafts.audit").returncode == 0
