"""The app on its own local host, as a child process, for the demo and the measurements."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_READY = "Ready: "
_START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class LocalHost:
    """A host that serves: its API address and the file that its log goes to."""

    base_url: str
    log: Path
    process: subprocess.Popen[bytes]


class HostNotStartedError(Exception):
    """The host ended before it served; its log says why."""


@contextmanager
def local_host(
    log: Path, *, settings: Mapping[str, str] | None = None, options: Sequence[str] = ()
) -> Iterator[LocalHost]:
    """Start the host and its Azurite on free ports, and end both afterwards."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "devhost", "--port", "0", "--azurite-port", "0", *options],
            cwd=ROOT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"} | dict(settings or {}),
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            yield LocalHost(base_url=_when_ready(process, log), log=log, process=process)
        finally:
            process.terminate()
            process.wait(timeout=30)


def _when_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    """The address that the host prints when everything serves."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        for line in log.read_text().splitlines():
            if line.startswith(_READY):
                return line.removeprefix(_READY)
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise HostNotStartedError(f"the local host did not start:\n{log.read_text()}")
