"""The one way in which a draft is deleted: due entry, tombstone, blobs, events, the row last.

The entry, 15 minutes ahead, is left for a second pass: it removes what a late writer has left
and goes when the row is gone. Whatever fails on the way is found by it too.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.dependencies import Dependencies
from shared.domain.draft import Draft
from shared.domain.errors import ConflictError, StorageUnavailableError
from shared.domain.ids import draft_prefix
from shared.domain.lifecycle import bury
from shared.leftovers import remove_blobs


@dataclass(frozen=True, kw_only=True, slots=True)
class Erased:
    """What became of a tombstone."""

    failed_blobs: int  # deletions that failed; the next sweep tries again
    gone: bool  # no blob, event or row is left


def delete_draft(draft: Draft, deps: Dependencies) -> int:
    """Delete for good; the number of blobs that are left for the next sweep.

    Once the tombstone stands the draft is gone for everybody, and nothing more is raised.
    Raises ConflictError when the draft has changed, StorageUnavailableError when nothing was done.
    """
    return erase(bury_draft(draft, deps), deps).failed_blobs


def bury_draft(draft: Draft, deps: Dependencies) -> Draft:
    """The tombstone; an older one stays as it is. Raises like `delete_draft`."""
    if draft.deleted_at is not None:
        return draft
    now = deps.clock()
    return deps.store.save(draft, bury(draft, now), now=now)


def erase(tombstone: Draft, deps: Dependencies) -> Erased:
    """Blobs, events, row. The row stays as long as a blob does. Nothing raises."""
    failed = delete_blobs(tombstone.owner_key, tombstone.id, deps)
    if failed:
        return Erased(failed_blobs=failed, gone=False)
    try:
        deps.store.erase(tombstone)
    except (ConflictError, StorageUnavailableError):
        # Another sweep is at the same tombstone, or storage is away: the due entry remains.
        return Erased(failed_blobs=0, gone=False)
    return Erased(failed_blobs=0, gone=True)


def delete_blobs(owner_key: str, draft_id: str, deps: Dependencies) -> int:
    """Everything under the draft's prefix in both containers; how many deletions failed."""
    prefix, names = draft_prefix(owner_key, draft_id), deps.settings
    stores = ((deps.uploads, names.uploads_container), (deps.images, names.images_container))
    return sum(remove_blobs(blobs, container, prefix, draft_id) for blobs, container in stores)
