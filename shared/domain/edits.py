"""What a person decides about a draft: corrections and acceptance. Runs never undo it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from shared.domain.draft import Draft, DraftStatus, ImageUse, Metadata
from shared.domain.lifecycle import advance, forget_work, visible

EDITABLE = frozenset({"category", "colors", "title", "notes"})


def edit(
    draft: Draft, now: datetime, *, fields: Mapping[str, Any], use: ImageUse | None = None
) -> Draft:
    """The draft with these fields of its metadata set by a person, and the pictures to show.

    The same draft where nothing changes.
    """
    assert fields.keys() <= EDITABLE
    changed = replace(
        draft, metadata=_edited(draft.metadata, fields), use=draft.use if use is None else use
    )
    return draft if changed == draft else visible(changed, now)


def ask_acceptance(draft: Draft, now: datetime) -> Draft:
    """The run that is under way will end in Accepted; the wish outlives a failure."""
    return visible(replace(draft, accept_requested=True), now)


def accept(draft: Draft, now: datetime) -> Draft:
    """Final. A run that was still wanted is dropped: the picture shown is the one accepted."""
    resting = forget_work(draft) if draft.work else draft
    return advance(resting, DraftStatus.ACCEPTED, now)


def _edited(metadata: Metadata | None, fields: Mapping[str, Any]) -> Metadata | None:
    if not fields:
        return metadata
    old = metadata or Metadata()
    new = replace(old, **fields, edited=old.edited | fields.keys())
    if "category" not in fields:
        return new
    return replace(new, category_confidence=None, needs_review=False, source="user")
