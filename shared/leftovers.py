"""Blobs that no row names: each run removes its own, the writer of an outcome all older ones."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain.draft import Draft
from shared.domain.errors import ConflictError, StorageUnavailableError
from shared.domain.ids import draft_prefix, run_prefix
from shared.ports import Blobs


def remove_own(draft: Draft, deps: Dependencies) -> None:
    """After a lost lease: what lies under this run's prefix and is not named by the row.

    What cannot be removed is marked on a row that is finished, for the repair; a row that is not
    will see to it when it is, and of a deleted one the second pass removes everything.
    """
    prefix = run_prefix(draft.owner_key, draft.id, draft.generation, draft.attempts)
    row = deps.store.find(draft.owner_id, draft.id)
    named = row.named_blobs() if row else frozenset()
    failed = remove_blobs(deps.images, deps.settings.images_container, prefix, draft.id, keep=named)
    if failed and row is not None and row.work is None:
        deps.store.save(row, replace(row, leftovers=True), now=deps.clock())


def tidy(draft: Draft, deps: Dependencies) -> Draft:
    """After an outcome: remove what earlier runs wrote and the row does not name, and say so.

    Nothing raises: the outcome stands. What stays behind is marked on the row, and its due entry
    brings it up again.
    """
    if not draft.leftovers or draft.work is not None:
        return draft
    try:
        if _remove_leftovers(draft, deps):
            return draft
        tidied = replace(draft, leftovers=False)
        return deps.store.save(draft, tidied, now=deps.clock())
    except (ConflictError, StorageUnavailableError):
        # Somebody asked for another run, or storage is away: the mark stays for the next one.
        return draft


def remove_blob(name: str, blobs: Blobs, container: str, draft_id: str) -> int:
    """Delete one blob; 1 where that failed, which is told and never raised."""
    try:
        blobs.delete(name)
    except (ConflictError, StorageUnavailableError) as error:
        telemetry.blob_delete_failed(
            container=container, error_code=error.service_code or error.code, draft_id=draft_id
        )
        return 1
    return 0


def remove_blobs(
    blobs: Blobs,
    container: str,
    prefix: str,
    draft_id: str,
    *,
    keep: Container[str] = (),
    up_to: int | None = None,
) -> int:
    """Delete what lies under the prefix: not what `keep` names, nor newer generations than `up_to`.

    How many deletions failed; one where it is not known what is there.
    """
    try:
        found = [
            name
            for name in blobs.names(prefix)
            if name not in keep and (up_to is None or _generation(name, prefix) <= up_to)
        ]
    except StorageUnavailableError:
        return 1
    return sum(remove_blob(name, blobs, container, draft_id) for name in found)


def _remove_leftovers(draft: Draft, deps: Dependencies) -> int:
    """How many deletions failed. A run that is asked for meanwhile writes a newer generation."""
    return remove_blobs(
        deps.images,
        deps.settings.images_container,
        draft_prefix(draft.owner_key, draft.id),
        draft.id,
        keep=draft.named_blobs(),
        up_to=draft.generation,
    )


def _generation(name: str, prefix: str) -> int:
    """Of the run that wrote the blob; 0 for one that no run of ours can have written."""
    written = name.removeprefix(prefix).split("-", 1)[0]
    return int(written) if written.isdecimal() else 0
