"""Azurite, the storage emulator, as a child process that never outlives its parent."""

import http.client
import queue
import re
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from azure.storage.blob import BlobServiceClient, CorsRule

from devhost.errors import HostError

ACCOUNT = "devstoreaccount1"
# The published key of the emulator's only account.
ACCOUNT_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
ENTRY_POINT = Path(__file__).resolve().parents[1] / "node_modules/azurite/dist/src/azurite.js"
START_TIMEOUT = 60.0
STOP_TIMEOUT = 15.0
SERVICES = ("blob", "queue", "table")
# Standard input is a pipe from us: when it ends, however we died, Azurite stops as on SIGTERM.
STOP_WITH_PARENT = (
    "data:text/javascript,"
    "process.stdin.on('end',()=>process.kill(process.pid,'SIGTERM')).resume().unref()"
)
_LISTENING = re.compile(r"Azurite (Blob|Queue|Table) service is successfully listening at .*:(\d+)")


def connection_string(blob_port: int, queue_port: int, table_port: int) -> str:
    """The full connection string of an emulator on these ports of this machine."""
    ports = zip(("Blob", "Queue", "Table"), (blob_port, queue_port, table_port), strict=True)
    endpoints = "".join(f"{name}Endpoint=http://127.0.0.1:{p}/{ACCOUNT};" for name, p in ports)
    return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};" + (
        endpoints
    )


@dataclass(kw_only=True)
class Azurite:
    """A running emulator. `start` makes one; leaving the `with` block stops it."""

    process: subprocess.Popen[str]
    blob_port: int
    queue_port: int
    table_port: int

    @classmethod
    def start(
        cls,
        *,
        blob_port: int = 0,
        queue_port: int = 0,
        table_port: int = 0,
        data: Path | None = None,
        entry_point: Path = ENTRY_POINT,
    ) -> Self:
        """Serve blobs, queues and tables, in memory or from the folder `data`; 0 is a free port.

        Returns when all three answer. Raises HostError when Node, Azurite or a port is missing.
        """
        process = _spawn((blob_port, queue_port, table_port), data, entry_point)
        try:
            ports = _await_ports(process)
            azurite = cls(
                process=process,
                blob_port=ports["blob"],
                queue_port=ports["queue"],
                table_port=ports["table"],
            )
            azurite._await_answers()
            azurite._allow_browsers()
        except BaseException:
            _stop(process)
            raise
        return azurite

    @property
    def ports(self) -> dict[str, int]:
        """Service name to port."""
        return {"blob": self.blob_port, "queue": self.queue_port, "table": self.table_port}

    @property
    def connection_string(self) -> str:
        """For every Azure storage client, with the ports in use."""
        return connection_string(self.blob_port, self.queue_port, self.table_port)

    def stop(self) -> None:
        """End the process; with a data folder its content is complete on disk afterwards."""
        _stop(self.process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _await_answers(self) -> None:
        for port in (self.blob_port, self.queue_port, self.table_port):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_TIMEOUT)
            try:
                connection.request("GET", f"/{ACCOUNT}?comp=list")
                connection.getresponse().read()
            finally:
                connection.close()

    def _allow_browsers(self) -> None:
        """Let any page upload straight to a blob: locally every origin is the developer's."""
        rule = CorsRule(
            ["*"],
            ["GET", "HEAD", "PUT", "OPTIONS"],
            allowed_headers=["*"],
            exposed_headers=["*"],
            max_age_in_seconds=3600,
        )
        with BlobServiceClient.from_connection_string(self.connection_string) as client:
            client.set_service_properties(cors=[rule])


def _spawn(
    ports: tuple[int, int, int], data: Path | None, entry_point: Path
) -> subprocess.Popen[str]:
    node = shutil.which("node")
    if node is None:
        raise HostError("Node is missing: Azurite, the storage emulator, needs Node 20 or newer.")
    if not entry_point.is_file():
        raise HostError("Azurite is missing: run `npm ci` (or `make setup`) in the project folder.")
    command = [node, "--import", STOP_WITH_PARENT, str(entry_point)]
    command += ["--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    for service, port in zip(SERVICES, ports, strict=True):
        command += [f"--{service}Host", "127.0.0.1", f"--{service}Port", str(port)]
    command += ["--inMemoryPersistence"] if data is None else ["--location", str(data)]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # Ctrl-C in a terminal is for the host, which stops us in order
    )


def _await_ports(process: subprocess.Popen[str]) -> dict[str, int]:
    """Read what Azurite prints until it listens on all three; keep draining afterwards."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_drain, args=(process, lines), daemon=True).start()
    deadline = time.monotonic() + START_TIMEOUT
    ports: dict[str, int] = {}
    printed: list[str] = []
    while len(ports) < len(SERVICES):
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise HostError(f"Azurite did not listen within {START_TIMEOUT:g} s.") from None
        if line is None:
            raise HostError(_why_not_started(printed))
        printed.append(line)
        if found := _LISTENING.search(line):
            ports[found[1].lower()] = int(found[2])
    return ports


def _drain(process: subprocess.Popen[str], lines: "queue.SimpleQueue[str | None]") -> None:
    assert process.stdout is not None
    with process.stdout as output:
        for line in output:
            lines.put(line)
    lines.put(None)


def _why_not_started(printed: list[str]) -> str:
    text = "".join(printed)
    if taken := re.search(r"EADDRINUSE.*?:(\d+)", text):
        return f"Port {taken[1]} is taken: Azurite cannot listen on it. Choose --azurite-port."
    return f"Azurite ended at its start. It printed:\n{text}"


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()
