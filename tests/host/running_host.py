"""A local host as a child process, with its lines collected, for tests of any tier."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
START_TIMEOUT = 90.0
# Longer than the host gives its functions to end.
STOP_TIMEOUT = 30.0
_READY = re.compile(r"^Ready: (http://[^/\s]+)(/\S*)?$")
_STAMPED = re.compile(r"\[[-\dT:.]+Z\] ")


class HostEndedError(AssertionError):
    """The host was gone, or not there in time; the text holds what it printed."""


@dataclass(kw_only=True)
class RunningHost:
    """A host that serves, or one that ended: `lines` is all it printed, oldest first."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    origin: str = ""  # http://127.0.0.1:<port>
    base_url: str = ""  # the origin with the route prefix, usually /api
    _more: threading.Condition = field(default_factory=threading.Condition)
    _ended: bool = False
    _collector: threading.Thread | None = None

    @property
    def output(self) -> str:
        """Everything so far, as one text."""
        return "\n".join(self.lines)

    @property
    def messages(self) -> list[str]:
        """The log lines without their time."""
        return [_STAMPED.sub("", line, count=1) for line in list(self.lines)]

    def wait_for_line(
        self, pattern: str, *, timeout: float = 30.0, after: int = 0
    ) -> re.Match[str]:
        """The first match in a line from index `after` on, which may have come already."""
        deadline, at = time.monotonic() + timeout, after
        with self._more:
            while True:
                while at < len(self.lines):
                    if found := re.search(pattern, self.lines[at]):
                        return found
                    at += 1
                if self._ended or not self._more.wait(max(0.0, deadline - time.monotonic())):
                    raise HostEndedError(f"no line matched {pattern!r} in:\n{self.output}")

    def wait_until[T](self, condition: Callable[[], T], *, timeout: float = 30.0) -> T:
        """The first true value of the condition, looked at again and again."""
        deadline = time.monotonic() + timeout
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise HostEndedError(f"the condition stayed {value!r}; printed:\n{self.output}")
            time.sleep(0.05)
        return value

    def worker_pids(self) -> list[int]:
        """The processes that run the functions, as they are now."""
        return [child.pid for child in self._children() if "devhost.worker" in child.cmdline()]

    def kill_workers(self) -> list[int]:
        """End every worker with SIGKILL, in the middle of whatever it does."""
        pids = self.worker_pids()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return pids

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask the host to end; its exit code. Whatever is left after a while is killed."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def wait(self, timeout: float = STOP_TIMEOUT) -> int:
        """The exit code, once all is read that was printed."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        assert self._collector is not None
        self._collector.join(timeout)
        return code

    def _children(self) -> list[psutil.Process]:
        return [
            child
            for child in psutil.Process(self.process.pid).children()
            if child.status() != psutil.STATUS_ZOMBIE
        ]

    def _collect(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                with self._more:
                    self.lines.append(line.rstrip("\n"))
                    self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()


@contextmanager
def launch(
    app: Path, *, options: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> Iterator[RunningHost]:
    """Start a host without waiting until it serves; it is stopped at the end of the block."""
    command = [sys.executable, "-m", "devhost", "--app", str(app), *options]
    own = {name: value for name, value in os.environ.items() if not _is_functions_setting(name)}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**own, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    host = RunningHost(process=process)
    host._collector = threading.Thread(target=host._collect, daemon=True)
    host._collector.start()
    try:
        yield host
    finally:
        host.stop()


@contextmanager
def serving(
    app: Path,
    *,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    storage: str | None = None,
    timeout: float = START_TIMEOUT,
) -> Iterator[RunningHost]:
    """A host that serves on a free port, with an emulator of its own.

    `storage` is the connection string of a running account instead. `env` overrules the app's
    settings.
    """
    given = dict(env or {})
    ports = ["--port", "0", "--azurite-port", "0"]
    if storage is not None:
        ports += ["--storage", "external"]
        given = {"AzureWebJobsStorage": storage, "DRAFTS": storage, **given}
    with launch(app, options=[*ports, *options], env=given) as host:
        found = host.wait_for_line(_READY.pattern, timeout=timeout)
        host.origin, host.base_url = found[1], found[1] + (found[2] or "")
        yield host


def _is_functions_setting(name: str) -> bool:
    """What the developer's shell may hold must not change what a test sees."""
    return name.startswith(("AzureWebJobs", "AzureFunctionsJobHost", "FUNCTIONS_", "DRAFTS"))
