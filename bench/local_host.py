"""The app on its own local host, as a child process, for the demo and the measurements."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_READY = "Ready: "
_START_SECONDS = 60


class HostNotStartedError(Exception):
    """The host ended before it served; its log says why."""


@contextmanager
def local_host(log: Path, *, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """The API address of a host with its Azurite on free ports; both end with the block.

    Raises HostNotStartedError.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "devhost", "--port", "0", "--azurite-port", "0"],
            cwd=ROOT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"} | dict(settings or {}),
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            yield _when_ready(process, log)
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
