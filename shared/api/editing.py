"""PATCH wardrobe/drafts/{id}: what a person corrects by hand."""

from __future__ import annotations

from typing import Any

from shared.api.changing import change_own, own_draft
from shared.api.exchange import Answer, Request, invalid
from shared.api.models import DraftPatch, read_json
from shared.api.reading import draft_answer, etag_of
from shared.dependencies import Dependencies
from shared.domain.draft import UNCATEGORISED, Draft
from shared.domain.edits import edit
from shared.domain.errors import RequestError
from shared.domain.events import Event, EventType, event_of
from shared.domain.pictures import Color


def patch_draft(request: Request, deps: Dependencies) -> Answer:
    """200 with the corrected draft. `If-Match` keeps two people from overwriting each other."""
    own_draft(request, deps)
    wanted = request.headers.get("if-match")
    if wanted is None:
        raise RequestError(
            428, "PRECONDITION_REQUIRED", "Send If-Match with the ETag that you have read."
        )
    patch = read_json(request, DraftPatch)
    fields = _fields_of(patch, deps)
    use = patch.use_image if "use_image" in patch.model_fields_set else None

    def change(draft: Draft) -> tuple[Draft, Event] | None:
        _require_match(wanted, draft)
        after = edit(draft, deps.clock(), fields=fields, use=use)
        if after is draft:
            return None
        named = ",".join(sorted(_names(patch)))
        return after, event_of(draft, EventType.EDITED, deps.clock(), fields=named)

    return draft_answer(200, change_own(request, deps, change), deps)


def _require_match(wanted: str, draft: Draft) -> None:
    """A strong comparison with the ETag of now; `*` is any."""
    tags = {tag.strip() for tag in wanted.split(",")}
    if tags.isdisjoint({"*", etag_of(draft)}):
        raise RequestError(
            412, "PRECONDITION_FAILED", "The draft has changed since you read it. Read it again."
        )


def _fields_of(patch: DraftPatch, deps: Dependencies) -> dict[str, Any]:
    """The fields that were sent, as the domain knows them."""
    fields: dict[str, Any] = {
        name: getattr(patch, name) for name in patch.model_fields_set - {"use_image"}
    }
    allowed = (*deps.settings.categories, UNCATEGORISED)
    if "category" in fields and patch.category not in allowed:
        raise invalid("category", f"must be one of {', '.join(allowed)}", status=422)
    if "colors" in fields:
        share = 1 / max(1, len(patch.colors))
        fields["colors"] = tuple(
            Color(name=c.name, hex=c.hex, share=share if c.share is None else c.share)
            for c in patch.colors
        )
    return fields


def _names(patch: DraftPatch) -> list[str]:
    return [DraftPatch.model_fields[name].alias or name for name in patch.model_fields_set]
