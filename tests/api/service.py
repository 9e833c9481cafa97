"""The app on the real local host and emulator, as its callers and its operators see it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from devhost.azurite import Azurite
from shared.bootstrap import build
from shared.dependencies import Dependencies
from shared.domain.draft import Draft, DraftError, DraftStatus
from shared.domain.events import EventType, event_of
from shared.domain.ids import new_draft_id
from shared.settings import Settings
from shared.storage.services import Services
from tests.host.running_host import RunningHost, serving

ROOT = Path(__file__).resolve().parents[2]
PHOTOS = sorted((ROOT / "tests" / "photos").glob("*.jpg"))
PATIENCE = 60.0  # seconds for one photo, on a machine that does other things too
UNLIMITED = {"UPLOADS_PER_MINUTE": "5000", "STATUS_CALLS_PER_MINUTE": "1000000"}


@dataclass(frozen=True)
class Service:
    """A running app, and the storage behind it."""

    host: RunningHost
    deps: Dependencies
    mode: str = "local"

    def client(self, owner: str | None = None, **headers: str) -> httpx.Client:
        """Calls as that owner; every test has owners of its own."""
        named = {"X-Owner-Id": owner} if owner else {}
        return httpx.Client(
            base_url=self.host.base_url, headers=named | headers, timeout=PATIENCE + 15
        )

    def wait(
        self,
        client: httpx.Client,
        draft_id: str,
        *statuses: str,
        until: Callable[[Any], bool] = bool,
    ) -> Any:
        """The draft once it has one of the statuses (none: any but Processing)."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            draft = client.get(f"/wardrobe/drafts/{draft_id}").raise_for_status().json()
            wanted = draft["status"] in statuses if statuses else draft["status"] != "Processing"
            if wanted and until(draft):
                return draft
            time.sleep(0.2)
        raise AssertionError(f"waited for {statuses}, it is {draft}")

    def ready(self, client: httpx.Client, photo: Path = PHOTOS[0], **fields: str) -> Any:
        """One photo, uploaded and finished."""
        [draft] = upload(client, photo, **fields).json()["drafts"]
        return self.wait(client, draft["id"], "Ready")

    def place(self, owner: str, **changes: Any) -> Draft:
        """A draft in any state, put into storage past the API."""
        now = datetime.now(UTC)
        draft = replace(
            Draft(
                id=new_draft_id(),
                owner_id=owner,
                status=DraftStatus.UPLOADING,
                status_since=now,
                created_at=now,
                updated_at=now,
            ),
            **changes,
        )
        [announced] = self.deps.store.announce([draft], now)
        [stored] = self.deps.store.add([(announced, event_of(announced, EventType.CREATED, now))])
        return stored

    def change(self, owner: str, draft_id: str, **changes: Any) -> Draft:
        """Another state for a draft at rest, past the API."""
        draft = self.deps.store.find(owner, draft_id)
        assert draft is not None
        return self.deps.store.save(
            draft, replace(draft, revision=draft.revision + 1, **changes), now=datetime.now(UTC)
        )

    def fail(self, owner: str, draft_id: str, *, retryable: bool = True) -> Draft:
        """What a draft looks like that lost its worker."""
        error = DraftError(
            code="WORKER_LOST" if retryable else "CORRUPT_IMAGE",
            detail="It failed.",
            retryable=retryable,
            failed_at=datetime.now(UTC),
        )
        return self.change(
            owner, draft_id, status=DraftStatus.FAILED, error=error, work=None, pictures=None
        )


def upload(client: httpx.Client, *photos: Path, **fields: str) -> httpx.Response:
    """POST wardrobe/drafts with these files."""
    files = [("files", (photo.name, photo.read_bytes(), "image/jpeg")) for photo in photos]
    return client.post("/wardrobe/drafts", files=files, data=fields)


@contextmanager
def running(azurite: Azurite, **env: str) -> Iterator[Service]:
    """The app with these settings."""
    services = Services.from_connection_string(azurite.connection_string)
    settings = Settings(auth_mode="local")
    services.create_missing(settings)
    deps = build(settings, services, clock=lambda: datetime.now(UTC))
    with serving(ROOT, env=UNLIMITED | env, storage=azurite.connection_string) as host:
        yield Service(host, deps, env.get("AUTH_MODE", "local"))


def code_of(response: httpx.Response) -> str:
    """Of a problem, checked to be one."""
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"
    assert response.json()["status"] == response.status_code
    return response.json()["code"]
