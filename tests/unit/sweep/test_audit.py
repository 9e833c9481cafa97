"""The audit: silent where all is well, and certain where it is not."""

from dataclasses import replace

import pytest

from cleanup_abandoned_drafts.audit import Kind, audit, remove_orphans
from shared.deleting import bury_draft
from shared.domain.draft import DraftStatus
from shared.domain.ids import draft_row_key, event_row_key
from shared.ports import Row
from shared.sending import message_for
from tests.factories import DRAFT_ID, OWNER, make_draft
from tests.fakehost import FakeHost
from tests.tiny import tiny_photo


def ready(world):
    draft = world.add_photo(tiny_photo())
    world.jobs.send(message_for(draft).encode())
    FakeHost(world).work_off()
    return world.row(draft)


def kinds(world):
    return [found.kind for found in audit(world.deps)]


def image(world, name):
    world.images.put(name, b"x", content_type="image/webp")


def spoil(world, draft, **values):
    """Change a row behind everybody's back."""
    key = (draft.owner_key, draft_row_key(draft.id))
    row = world.drafts.rows[key]
    kept = {name: value for name, value in row.values.items() if name not in values}
    new = {name: value for name, value in values.items() if value is not None}
    world.drafts.rows[key] = replace(row, values=kept | new)


def test_audit_of_sound_storage_finds_nothing(world):
    """Waiting, finished, uploading and deleted drafts are all explained."""
    ready(world)
    second = "0198640d-c000-7000-8000-000000000002"
    world.add_photo(tiny_photo(), id=second)
    image(world, f"{OWNER}/{second}/1-1/mask.png")  # its run is still writing
    third = "0198640d-c000-7000-8000-000000000003"
    world.add(make_draft(id=third, status=DraftStatus.UPLOADING, work=None, stage=None, raw=None))
    fourth = "0198640d-c000-7000-8000-000000000004"
    bury_draft(world.add_photo(tiny_photo(), id=fourth), world.deps)
    world.deps.store.announce(
        [make_draft(id="0198640d-c000-7000-8000-000000000005")], world.clock()
    )
    world.uploads.put(
        f"{OWNER}/0198640d-c000-7000-8000-000000000005/raw", b"x", content_type="image/png"
    )
    assert audit(world.deps) == []


@pytest.mark.parametrize(
    "name",
    [
        f"{OWNER}/{DRAFT_ID}/1-7/thumb.webp",
        f"{OWNER}/0198640d-c000-7000-8000-00000000dead/1-1/thumb.webp",
        "stray.webp",
    ],
    ids=["of_a_lost_run", "of_no_draft", "of_nobody"],
)
def test_blob_that_nothing_names_is_found_and_can_be_removed(world, name):
    """An orphan is listed, and deleted only when asked for."""
    ready(world)
    kept = set(world.images.stored)
    image(world, name)
    [found] = audit(world.deps)
    assert (found.kind, found.what) == (Kind.ORPHAN_BLOB, name)
    assert name in world.images.stored
    assert remove_orphans([found], world.deps) == 0
    assert set(world.images.stored) == kept


def test_photo_without_a_draft_is_found(world):
    """An original that nobody can see any more."""
    world.uploads.put(f"{OWNER}/{DRAFT_ID}/raw", b"x", content_type="image/png")
    assert kinds(world) == [Kind.ORPHAN_BLOB]


def test_blob_that_is_gone_is_found(world):
    """A picture that a row promises, and an original."""
    draft = ready(world)
    world.images.delete(draft.pictures.mask)
    world.uploads.delete(draft.raw.blob)
    assert kinds(world) == [Kind.MISSING_BLOB, Kind.MISSING_BLOB]


def test_row_without_an_entry_is_found(world):
    """Nothing would ever look at it."""
    world.add()
    world.due.rows.clear()
    assert kinds(world) == [Kind.NO_ENTRY]


def test_row_whose_entry_is_damaged_is_found(world):
    """Nobody knows when to look at it; the entry itself is named too."""
    world.add()
    world.due.rows = {key: replace(row, values={}) for key, row in world.due.rows.items()}
    assert kinds(world) == [Kind.NO_ENTRY, Kind.OVERDUE_ENTRY]


def test_row_that_forgot_its_due_time_is_found(world):
    """It wants a run and names no time."""
    draft = world.add()
    world.due.rows.clear()
    spoil(world, draft, dueAt=None)
    assert kinds(world) == [Kind.NO_ENTRY]


def test_event_of_a_draft_that_is_gone_is_found(world):
    """History without a draft."""
    world.drafts.put(Row(OWNER, event_row_key(DRAFT_ID, 1), {"seq": 1}))
    assert kinds(world) == [Kind.ORPHAN_EVENT]


def test_entry_that_no_cleanup_has_handled_is_found(world):
    """Two nights have passed it by."""
    world.add(make_draft(status=DraftStatus.UPLOADING, work=None, stage=None, raw=None))
    world.clock.pass_(days=4)
    assert kinds(world) == [Kind.OVERDUE_ENTRY]


def test_row_that_cannot_be_read_is_found(world):
    """It is named, and what belongs to it is left alone."""
    draft = ready(world)
    spoil(world, draft, status="Gone fishing")
    assert kinds(world) == [Kind.UNREADABLE_ROW]
