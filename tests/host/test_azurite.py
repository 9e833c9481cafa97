"""The storage emulator as a child process."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueServiceClient

from devhost.azurite import Azurite
from devhost.errors import HostError

ROOT = Path(__file__).resolve().parents[2]


def test_azurite_when_started_answers_for_blobs_queues_and_tables(azurite: Azurite) -> None:
    """One connection string reaches all three services."""
    with BlobServiceClient.from_connection_string(azurite.connection_string) as blobs:
        blobs.create_container("answers")
        assert "answers" in [container.name for container in blobs.list_containers()]
    with QueueServiceClient.from_connection_string(azurite.connection_string) as queues:
        queues.create_queue("answers")
        assert "answers" in [queue.name for queue in queues.list_queues()]
    with TableServiceClient.from_connection_string(azurite.connection_string) as tables:
        tables.create_table("answers")
        assert "answers" in [table.name for table in tables.list_tables()]


def test_azurite_when_a_page_asks_lets_it_upload(azurite: Azurite) -> None:
    """A preflight for a direct upload from any page is granted."""
    answer = httpx.options(
        f"http://127.0.0.1:{azurite.blob_port}/devstoreaccount1/uploads/raw",
        headers={
            "Origin": "http://localhost:5173",
            "Access-Control-Request-Method": "PUT",
            "Access-Control-Request-Headers": "x-ms-blob-type,content-type",
        },
    )
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] in ("*", "http://localhost:5173")
    assert "PUT" in answer.headers["access-control-allow-methods"]


def test_azurite_with_a_data_folder_keeps_what_was_written(tmp_path: Path) -> None:
    """What was stored is there again after a stop and a start on the same folder."""
    with (
        Azurite.start(data=tmp_path) as first,
        BlobServiceClient.from_connection_string(first.connection_string) as blobs,
    ):
        blobs.create_container("kept")
    with (
        Azurite.start(data=tmp_path) as second,
        BlobServiceClient.from_connection_string(second.connection_string) as blobs,
    ):
        assert [container.name for container in blobs.list_containers()] == ["kept"]


def test_azurite_when_a_port_is_taken_says_which() -> None:
    """The message names the port that cannot be had."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(HostError, match=f"Port {port} is taken"):
            Azurite.start(queue_port=port)


def test_azurite_without_node_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without Node gets a message, no traceback."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="Node is missing"):
        Azurite.start()


def test_azurite_when_not_installed_says_how_to_install_it(tmp_path: Path) -> None:
    """Without the package the message names the command that brings it."""
    with pytest.raises(HostError, match="npm ci"):
        Azurite.start(entry_point=tmp_path / "azurite.js")


def test_azurite_when_its_parent_is_killed_ends() -> None:
    """No orphan is left behind by a parent that died without a word."""
    code = (
        "import time; from devhost.azurite import Azurite; "
        "print(Azurite.start().process.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
        assert child.wait(timeout=20) is None
    assert not child.is_running()
