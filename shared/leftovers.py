"""Blobs that no row names: each run removes its own, the writer of an outcome all older ones."""

from __future__ import annotations

from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain.draft import Draft
from shared.domain.errors import StorageUnavailableError
from shared.domain.ids import draft_prefix, run_prefix


def remove_own(draft: Draft, deps: Dependencies) -> None:
    """After a lost lease: what lies under this run's prefix and is not named by the row."""
    prefix = run_prefix(draft.owner_key, draft.id, draft.generation, draft.attempts)
    row = deps.store.find(draft.owner_id, draft.id)
    named = row.named_blobs() if row else frozenset()
    for name in deps.images.names(prefix):
        if name not in named:
            deps.images.delete(name)


def remove_leftovers(draft: Draft, deps: Dependencies) -> None:
    """After an outcome: what runs up to this one wrote and the row does not name.

    Nothing raises: the outcome stands, and what stays behind is found by the next one, by
    DELETE, or by the audit.
    """
    if (draft.generation, draft.attempts) == (1, 1) and draft.pictures:
        return  # the only run so far, and the row names all that it wrote
    try:
        for name in list(deps.images.names(draft_prefix(draft.owner_key, draft.id))):
            if name not in draft.named_blobs() and _generation(name) <= draft.generation:
                deps.images.delete(name)
    except StorageUnavailableError as error:
        telemetry.blob_delete_failed(
            container=deps.settings.images_container, error_code=error.code, draft_id=draft.id
        )


def _generation(name: str) -> int:
    return int(name.split("/")[2].split("-")[0])
