"""The app on a machine where everything dies: host, workers, storage, and one call in twenty."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import psutil

from bench.local_host import ROOT
from devhost.azurite import SERVICES, Azurite
from shared.bootstrap import build, utcnow
from shared.dependencies import Dependencies
from shared.settings import Settings
from shared.storage.services import Services
from tests.faults.proxy import FaultProxy

SETTINGS = {"METADATA_PROVIDER": "none", "AUTH_MODE": "local", "EVENTS_QUEUE_ENABLED": "true"}
_READY = "Ready: "
_START_SECONDS = 90
_OPTIONS = ("--port", "0", "--storage", "external")


@dataclass
class Deaths:
    """How often what was ended."""

    workers: int = 0
    hosts: int = 0
    storage: int = 0
    host_gave_up: int = 0  # the host ended by itself, and was started again as a platform would


@dataclass
class Rig:
    """Storage behind the fault proxy, and the host that is started again whenever it is gone."""

    azurite: Azurite
    data: Path
    proxy: FaultProxy
    log: Path
    app: Path = ROOT
    settings: Mapping[str, str] = field(default_factory=dict)
    deaths: Deaths = field(default_factory=Deaths)
    base_url: str = ""
    _host: subprocess.Popen[bytes] | None = None
    _busy: threading.RLock = field(default_factory=threading.RLock)

    def start_host(self) -> None:
        """Serve; a host that gives up while it starts is started again."""
        with self._busy:
            for _ in range(10):
                if self._started():
                    return
                self.deaths.host_gave_up += 1
        raise TimeoutError(f"the host did not start; see {self.log}")

    def watch_host(self) -> None:
        """What a platform does: a host that ended is replaced."""
        with self._busy:
            if self._host is not None and self._host.poll() is not None:
                self.deaths.host_gave_up += 1
                self.start_host()

    def kill_host(self) -> None:
        """The whole instance is lost: its messages stay hidden for ten minutes."""
        with self._busy:
            if self._host is not None:
                self._host.kill()
                self._host.wait()
                self.deaths.hosts += 1
                self.start_host()

    def kill_worker(self) -> int:
        """The process that runs the functions, in the middle of whatever it does; how many."""
        with self._busy:
            if self._host is None:
                return 0
            pids = [child.pid for child in _children(self._host.pid) if _is_worker(child)]
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            self.deaths.workers += len(pids)
            return len(pids)

    def restart_storage(self) -> None:
        """Everything that was answered is still there afterwards."""
        self.azurite.stop()
        self.azurite = _azurite(self.data, self.azurite)
        self.deaths.storage += 1

    def stop(self) -> None:
        with self._busy:
            if self._host is not None:
                self._host.terminate()
                self._host.wait(60)
                self._host = None

    def dependencies(self, *, ahead: timedelta = timedelta(0)) -> Dependencies:
        """The product on the same storage, past the proxy; its clock may be `ahead`."""
        values = Settings.from_env(SETTINGS | dict(self.settings))
        services = Services.from_connection_string(self.azurite.connection_string)

        def clock() -> datetime:
            return utcnow() + ahead

        return build(values, services, clock=clock)

    def _started(self) -> bool:
        """Whether it serves; the log goes on where it was."""
        storage = self.proxy.connection_string
        with self.log.open("ab") as out:
            offset = out.tell()
            self._host = subprocess.Popen(
                [sys.executable, "-m", "devhost", *_OPTIONS, "--app", str(self.app)],
                cwd=ROOT,
                env=os.environ
                | {"PYTHONUNBUFFERED": "1", "AzureWebJobsStorage": storage, "DRAFTS": storage}
                | SETTINGS
                | dict(self.settings),
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        pause = threading.Event()
        for _ in range(_START_SECONDS * 10):
            for line in self.log.read_bytes()[offset:].decode(errors="replace").splitlines():
                if line.startswith(_READY):
                    self.base_url = line.removeprefix(_READY).strip()
                    return True
            if self._host.poll() is not None:
                return False
            pause.wait(0.1)
        self._host.kill()
        self._host.wait()
        return False


@contextmanager
def rig(
    log: Path,
    *,
    seed: int,
    rate: float,
    app: Path = ROOT,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Rig]:
    """A running rig; everything of it ends with the block."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    with ExitStack() as stack:
        data = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        azurite = _azurite(data)
        proxy = stack.enter_context(FaultProxy(targets=azurite.ports, rate=rate, seed=seed))
        made = Rig(
            azurite=azurite, data=data, proxy=proxy, log=log, app=app, settings=settings or {}
        )
        stack.callback(lambda: made.azurite.stop())
        stack.callback(made.stop)
        Services.from_connection_string(azurite.connection_string).create_missing(Settings())
        made.start_host()
        yield made


def _azurite(data: Path, like: Azurite | None = None) -> Azurite:
    ports = like.ports if like else dict.fromkeys(SERVICES, 0)
    return Azurite.start(
        blob_port=ports["blob"], queue_port=ports["queue"], table_port=ports["table"], data=data
    )


def _children(pid: int) -> list[psutil.Process]:
    try:
        return [c for c in psutil.Process(pid).children() if c.status() != psutil.STATUS_ZOMBIE]
    except psutil.NoSuchProcess:
        return []


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "devhost.worker" in process.cmdline()
    except psutil.NoSuchProcess:
        return False
