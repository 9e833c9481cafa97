"""Values for tests: fixed defaults, keyword overrides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from shared.dependencies import Dependencies
from shared.domain.draft import Draft, DraftStatus, RawPhoto, Stage, Work, WorkReason
from shared.domain.events import EventType, event_of
from shared.domain.ids import draft_row_key, raw_blob
from shared.outbox import Outbox
from shared.records.deadletters import DeadLetters
from shared.records.drafts import DraftStore
from shared.records.due import DueIndex
from shared.settings import Settings
from tests.fakes import NOW, FakeClock, Faults, MemoryBlobs, MemoryQueue, MemoryTable

DRAFT_ID = "0198640d-c000-7000-8000-000000000001"
OTHER_ID = "0198640d-c000-7000-8000-000000000002"
OWNER = "owner-1"


def setting_texts() -> dict[str, str]:
    """The default of every setting, by its name and as its text in the environment."""
    texts = {field.name.upper(): str(field.default) for field in fields(Settings)}
    return {
        name: text.lower() if text in ("True", "False") else text for name, text in texts.items()
    }


def make_work(**changes: Any) -> Work:
    fields: dict[str, Any] = {"reason": WorkReason.INITIAL, "started_at": NOW, "queued_at": NOW}
    return Work(**(fields | changes))


def make_draft(**changes: Any) -> Draft:
    """A draft that was just accepted, unless changed."""
    fields: dict[str, Any] = {
        "id": DRAFT_ID,
        "owner_id": OWNER,
        "status": DraftStatus.PROCESSING,
        "status_since": NOW,
        "created_at": NOW,
        "updated_at": NOW,
        "file_name": "shirt.jpg",
        "stage": Stage.UPLOADED,
        "work": make_work(),
    }
    fields |= changes
    if "raw" not in fields:
        fields["raw"] = RawPhoto(
            blob=raw_blob(fields["owner_id"], fields["id"]),
            etag="b0",
            size=3,
            content_type="image/jpeg",
            width=600,
            height=800,
        )
    return Draft(**fields)


@dataclass(frozen=True)
class World:
    """The whole product on in-memory storage, with the fakes at hand."""

    deps: Dependencies
    clock: FakeClock
    faults: Faults
    drafts: MemoryTable
    due: MemoryTable
    letters: MemoryTable
    uploads: MemoryBlobs
    images: MemoryBlobs
    jobs: MemoryQueue
    poisoned: MemoryQueue

    def add(self, draft: Draft | None = None, *, now: datetime | None = None) -> Draft:
        """Store a draft as accepting does: due entry, then row and event."""
        store, at = self.deps.store, now or self.clock()
        [announced] = store.announce([draft or make_draft()], at)
        [stored] = store.add([(announced, event_of(announced, EventType.CREATED, at))])
        return stored

    def add_photo(self, data: bytes, **changes: Any) -> Draft:
        """Store a draft together with its photo."""
        draft = make_draft(**changes)
        assert draft.raw is not None
        etag = self.uploads.put(draft.raw.blob, data, content_type="image/jpeg")
        raw = RawPhoto(
            blob=draft.raw.blob,
            etag=etag,
            size=len(data),
            content_type="image/jpeg",
            width=600,
            height=800,
        )
        return self.add(make_draft(**changes, raw=raw))

    def row(self, draft: Draft) -> Draft:
        """The draft as it is stored now."""
        found = self.deps.store.find(draft.owner_id, draft.id)
        assert found is not None
        return found

    def damage(self, draft: Draft) -> None:
        """Make its row unreadable, behind everybody's back."""
        key = (draft.owner_key, draft_row_key(draft.id))
        row = self.drafts.rows[key]
        self.drafts.rows[key] = replace(row, values={**row.values, "status": "Gone fishing"})


def make_world(
    *, settings: Settings | None = None, clock: Callable[[], datetime] | None = None
) -> World:
    values = settings or Settings(auth_mode="local")
    faults, ticking = Faults(), FakeClock()
    table = {n: MemoryTable(n, faults) for n in ("drafts", "due", "jobruns", "deadletters")}
    queue = {
        n: MemoryQueue(ticking, n, faults)
        for n in ("jobs", "poisoned", "webhooks", "webhooks-poisoned", "events")
    }
    due = DueIndex(table["due"])
    store = DraftStore(table["drafts"], due, values.retention, outbox=values.events_out)
    uploads, images = MemoryBlobs("uploads", faults), MemoryBlobs("images", faults)
    deps = Dependencies(
        settings=values,
        clock=clock or ticking,
        drafts_table=table["drafts"],
        jobruns_table=table["jobruns"],
        store=store,
        due=due,
        letters=DeadLetters(table["deadletters"]),
        outbox=Outbox(store, values, webhooks=queue["webhooks"], events=queue["events"]),
        uploads=uploads,
        images=images,
        jobs=queue["jobs"],
        poisoned=queue["poisoned"],
        webhooks=queue["webhooks"],
        webhooks_poisoned=queue["webhooks-poisoned"],
        events=queue["events"],
    )
    return World(
        deps=deps,
        clock=ticking,
        faults=faults,
        drafts=table["drafts"],
        due=table["due"],
        letters=table["deadletters"],
        uploads=uploads,
        images=images,
        jobs=queue["jobs"],
        poisoned=queue["poisoned"],
    )
