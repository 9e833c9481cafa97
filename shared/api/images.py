"""GET wardrobe/drafts/{id}/image/{variant}: an address that lasts, for links that do not."""

from __future__ import annotations

from shared.api.changing import own_draft
from shared.api.exchange import Answer, Request
from shared.api.presenting import VARIANTS, Links, picture_named
from shared.dependencies import Dependencies
from shared.domain.errors import RequestError


def get_draft_image(request: Request, deps: Dependencies) -> Answer:
    """302 to a fresh link. `archive`, `display` and `thumb` follow what the person chose to use."""
    draft = own_draft(request, deps)
    variant = request.path.get("variant", "")
    links = Links.at(deps.clock(), deps)
    link = picture_named(draft, variant, links) if variant in VARIANTS else None
    if link is None:
        raise RequestError(404, "IMAGE_NOT_FOUND", "The draft has no such picture, or not yet.")
    return Answer(status=302, headers={"Location": link, "Cache-Control": "no-store"})
