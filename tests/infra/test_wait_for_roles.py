"""The hook between provisioning and deploying, run with a stand-in for azd and for storage."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

HOOK = Path(__file__).resolve().parents[2] / "infra/hooks/wait-for-roles.sh"
TOKEN = "a-token"


class Storage(ThreadingHTTPServer):
    """Answers listings with the given statuses in turn, the last one for ever."""

    def __init__(self, statuses: list[int]) -> None:
        super().__init__(("127.0.0.1", 0), _Listing)
        self.statuses = statuses
        self.asked: list[tuple[str, str | None]] = []  # path, authorization

    @property
    def container_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/deployments"


class _Listing(BaseHTTPRequestHandler):
    server: Storage

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        remaining = self.server.statuses
        self.send_response(remaining.pop(0) if len(remaining) > 1 else remaining[0])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the test reads `asked`."""


@contextmanager
def storage(*statuses: int) -> Iterator[Storage]:
    server = Storage(list(statuses))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with a stand-in for azd that knows one command."""
    azd = tmp_path / "azd"
    azd.write_text(
        '#!/bin/sh\n[ "$*" = "auth token --scope https://storage.azure.com/.default" ] || exit 9\n'
        f"echo {TOKEN}\n"
    )
    azd.chmod(0o755)
    return tmp_path


def run_hook(tools: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{tools}:{os.environ['PATH']}"
    settings = {"PATH": path, "ROLE_WAIT_PAUSE_SECONDS": "0", **environment}
    return subprocess.run(
        [HOOK], env=settings, capture_output=True, text=True, timeout=30, check=False
    )


def test_hook_when_roles_come_late(tools: Path) -> None:
    """The hook asks again until storage answers, with the deployer's token."""
    with storage(403, 403, 200) as server:
        run = run_hook(
            tools, PACKAGE_CONTAINER_URL=server.container_url, DEPLOYER_PRINCIPAL_ID="me"
        )
    assert run.returncode == 0, run.stderr
    listing = "/deployments?restype=container&comp=list&maxresults=1"
    assert server.asked == [(listing, f"Bearer {TOKEN}")] * 3


def test_hook_when_roles_never_come(tools: Path) -> None:
    """The hook gives up at its limit and says what to do."""
    with storage(403) as server:
        run = run_hook(
            tools,
            PACKAGE_CONTAINER_URL=server.container_url,
            DEPLOYER_PRINCIPAL_ID="me",
            ROLE_WAIT_SECONDS="0",
        )
    assert run.returncode == 1
    assert "azd deploy" in run.stderr
    assert "403" in run.stderr


def test_hook_without_a_principal(tools: Path) -> None:
    """Without somebody to ask as, the hook waits its fixed time and goes on."""
    with storage(403) as server:
        run = run_hook(tools, PACKAGE_CONTAINER_URL=server.container_url, ROLE_WAIT_SECONDS="0")
    assert (run.returncode, server.asked) == (0, [])


def test_hook_where_storage_is_private(tools: Path) -> None:
    """No listing from outside could ever answer: the deployment goes on after the fixed time."""
    with storage(403) as server:
        run = run_hook(
            tools,
            PACKAGE_CONTAINER_URL=server.container_url,
            DEPLOYER_PRINCIPAL_ID="me",
            PACKAGE_CONTAINER_IS_PUBLIC="false",
            ROLE_WAIT_SECONDS="0",
        )
    assert (run.returncode, server.asked) == (0, [])


def test_hook_without_the_deployment(tools: Path) -> None:
    """Run before anything is provisioned, the hook names what it misses."""
    run = run_hook(tools)
    assert run.returncode != 0
    assert "PACKAGE_CONTAINER_URL" in run.stderr
