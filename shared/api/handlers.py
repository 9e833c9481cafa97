"""What answers each HTTP function; the names are those of function_app.py and of the routes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shared.api import (
    accepting,
    editing,
    health,
    images,
    not_found,
    openapi,
    ops,
    pages,
    processing,
    reading,
    retrying,
    reviewing,
    uploads,
    v1,
)
from shared.api.exchange import Answer

# The arguments follow from the route's access: a request, and for owners and operators the
# dependencies; some borrow a function of another package, given by their trigger.
HANDLERS: Mapping[str, Callable[..., Answer]] = {
    "create_drafts": accepting.create_drafts,
    "create_upload": uploads.create_upload,
    "submit_upload": uploads.submit_upload,
    "get_draft": reading.get_draft,
    "get_draft_status": reading.get_draft_status,
    "list_drafts": reading.list_drafts,
    "retry_draft": retrying.retry_draft,
    "patch_draft": editing.patch_draft,
    "accept_draft": reviewing.accept_draft,
    "reprocess_draft": reviewing.reprocess_draft,
    "delete_draft": reviewing.delete_draft,
    "list_draft_events": reading.list_draft_events,
    "get_draft_image": images.get_draft_image,
    "create_image_v1": v1.create_image_v1,
    "process_image": processing.process_image,
    "health_live": health.health_live,
    "health_ready": health.health_ready,
    "ops_summary": ops.ops_summary,
    "ops_cleanup": ops.ops_cleanup,
    "ops_retry_failed": ops.ops_retry_failed,
    "ops_dead_letters": ops.ops_dead_letters,
    "ops_replay_dead_letter": ops.ops_replay_dead_letter,
    "openapi_json": openapi.openapi_json,
    "docs_page": pages.docs_page,
    "docs_asset": pages.docs_asset,
    "app_page": pages.app_page,
    "app_asset": pages.app_asset,
    "zz_not_found": not_found.not_found,
}
