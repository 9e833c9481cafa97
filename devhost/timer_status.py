"""What is remembered of a timer between its runs, and what follows from it at a start."""

import json
import re
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.blob.aio import ContainerClient

from devhost.schedule import Schedule

CONTAINER = "azure-webjobs-hosts"
NEVER_TEXT = "0001-01-01T00:00:00"


@dataclass(frozen=True, kw_only=True)
class Status:
    """What is known of a timer. `last` is None before its first run."""

    last: datetime | None
    next: datetime
    last_updated: datetime | None

    def as_json(self) -> dict[str, str]:
        """As it is stored, and as the function gets it: local times with their offset."""
        times = {"Last": self.last, "Next": self.next, "LastUpdated": self.last_updated}
        return {
            name: time.astimezone().isoformat() if time else NEVER_TEXT
            for name, time in times.items()
        }

    @classmethod
    def from_json(cls, content: dict[str, str]) -> "Status":
        """Raises ValueError or KeyError for what is no status."""
        upcoming = _time(content["Next"])
        if upcoming is None:
            raise ValueError("a status without its next time")
        return cls(
            last=_time(content.get("Last", NEVER_TEXT)),
            next=upcoming,
            last_updated=_time(content.get("LastUpdated", NEVER_TEXT)),
        )


def check(status: Status | None, schedule: Schedule, now: datetime) -> tuple[Status, bool]:
    """What holds at the start of the host: the status, changed or not, and whether a run is due.

    A schedule that was changed since forgets the last run. However many times were missed, one
    run makes up for them.
    """
    if status is None:
        return Status(last=None, next=schedule.next_after(now), last_updated=now), False
    expected = schedule.next_after(status.last or status.last_updated or now)
    if expected != status.next:
        updated = status.last_updated
        if now > expected:
            expected, updated = schedule.next_after(now), now
        status = Status(last=None, next=expected, last_updated=updated)
    return status, now > status.next


class StatusStore:
    """The status blobs of one host."""

    def __init__(self, container: ContainerClient, host_id: str) -> None:
        self._container, self._host_id = container, host_id

    async def read(self, function: str) -> Status | None:
        """None where nothing is stored."""
        try:
            blob = await self._container.download_blob(self._name(function))
            return Status.from_json(json.loads(await blob.readall()))
        except ResourceNotFoundError:
            return None

    async def write(self, function: str, status: Status) -> None:
        """Into a container that is made when it is missing."""
        content = json.dumps(status.as_json(), separators=(",", ":"))
        try:
            await self._container.upload_blob(self._name(function), content, overwrite=True)
        except ResourceNotFoundError:
            await _create(self._container)
            await self._container.upload_blob(self._name(function), content, overwrite=True)

    def _name(self, function: str) -> str:
        return f"timers/{self._host_id}/Host.Functions.{function}/status"


def host_id(app: Path, configured: str | None) -> str:
    """The name under which a host keeps its blobs: made of the machine and the folder."""
    if configured:
        return configured
    number = 23
    for letter in str(app):
        number = (number * 31 + ord(letter)) & 0xFFFFFFFF
    signed = number - 2**32 if number >= 2**31 else number
    machine = re.sub(r"[^A-Za-z0-9]", "", socket.gethostname())
    return f"{machine}-{abs(signed)}"[:32].lower().rstrip("-")


async def _create(container: ContainerClient) -> None:
    try:
        await container.create_container()
    except ResourceExistsError:
        return  # another timer of this host was first


def _time(text: str) -> datetime | None:
    moment = datetime.fromisoformat(text)
    return None if moment.year == 1 else moment.astimezone(UTC)
