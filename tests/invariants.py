"""What always holds of the stored state once everything has settled."""

from __future__ import annotations

from collections import Counter

from shared.domain.draft import Draft, DraftStatus, WorkReason
from shared.domain.events import EventType
from shared.domain.ids import draft_prefix
from shared.domain.retention import SETTLED
from shared.records.codec import from_values
from shared.records.due import _entry
from tests.factories import World

FINAL = {DraftStatus.READY, DraftStatus.FAILED, DraftStatus.ACCEPTED}


def drafts_of(world: World) -> list[Draft]:
    return [
        from_values(Draft, row.values, etag=row.etag)
        for (_, key), row in world.drafts.rows.items()
        if key.startswith("d~")
    ]


def check_always(world: World) -> None:
    """At any moment, whatever was interrupted."""
    for draft in drafts_of(world):
        if draft.deleted_at is not None:
            continue
        _status_follows_work(draft)
        _named_blobs_exist(world, draft)
        _history_is_complete(world, draft)
        _is_due_as_it_says(world, draft)


def check_settled(world: World) -> None:
    """After repair, sweep and time: nothing is wanted, nothing is left over."""
    check_always(world)
    for draft in drafts_of(world):
        assert draft.deleted_at is None, "a tombstone is gone in the end"
        assert draft.work is None, f"{draft.status} still waits for {draft.work}"
        assert draft.status in FINAL or draft.status is DraftStatus.UPLOADING
        assert not draft.unfinished
    _no_orphans(world)
    _no_stale_entries(world)


def _status_follows_work(draft: Draft) -> None:
    wanted = draft.work is not None and draft.work.reason in (WorkReason.INITIAL, WorkReason.RETRY)
    assert (draft.status is DraftStatus.PROCESSING) == wanted, draft


def _named_blobs_exist(world: World, draft: Draft) -> None:
    missing = draft.named_blobs() - world.images.stored.keys()
    assert not missing, f"{draft.status} names blobs that are gone: {missing}"
    if draft.raw is not None:
        assert draft.raw.blob in world.uploads.stored, "the photo is kept"


def _history_is_complete(world: World, draft: Draft) -> None:
    events = world.deps.store.events_of(draft)
    assert [event.seq for event in events] == list(range(1, draft.events + 1))
    ready = Counter(event.generation for event in events if event.type is EventType.READY)
    assert all(count == 1 for count in ready.values()), f"Ready twice: {ready}"


def _is_due_as_it_says(world: World, draft: Draft) -> None:
    """A row that has to be looked at has an entry, no later than within the hour."""
    if draft.due_at is None:
        return
    entries = [_entry(row) for row in world.due.rows.values() if draft.id in row.key]
    assert entries, f"nothing would ever look at {draft.id}"
    assert (
        min(entry.due_at for entry in entries).replace(minute=0, second=0, microsecond=0)
        <= draft.due_at
    )


def _no_orphans(world: World) -> None:
    rows = {draft_prefix(draft.owner_key, draft.id): draft for draft in drafts_of(world)}
    for name in world.images.stored:
        draft = rows.get(_prefix(name))
        assert draft is not None, f"{name} belongs to no draft"
        assert name in draft.named_blobs(), f"{name} is not named by its draft"
    for name in world.uploads.stored:
        assert _prefix(name) in rows, f"{name} belongs to no draft"


def _no_stale_entries(world: World) -> None:
    """Those of deleted drafts wait for their second pass; others are dropped when they are old."""
    live = {draft.id: draft for draft in drafts_of(world)}
    for row in world.due.rows.values():
        entry = _entry(row)
        if entry.is_draft and entry.due_at < world.clock() - SETTLED:
            assert entry.draft_id in live, f"an entry of nobody: {entry}"
            assert live[entry.draft_id].due_at == entry.due_at, f"a stale entry: {entry}"


def _prefix(name: str) -> str:
    owner, draft_id, _ = name.split("/", 2)
    return draft_prefix(owner, draft_id)
