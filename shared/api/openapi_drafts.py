"""The routes of an owner's drafts, in words and models, for the OpenAPI page."""

from __future__ import annotations

from collections.abc import Mapping

from shared.api import models, views
from shared.api.openapi_model import (
    ETAG,
    LOCATION,
    RETRY_AFTER,
    Json,
    Operation,
    Parameter,
    Shown,
    merged,
)
from shared.api.openapi_parts import (
    BAD_BYTES,
    BODY,
    FILE_NAME,
    JSON_BODY,
    KEY,
    LIMITED,
    SKIP,
    UNKNOWN,
    UPLOAD_BODY,
)
from shared.api.presenting import VARIANTS
from shared.api.reading import CONTINUATION, MAX_IDS, MAX_PAGE, PAGE
from shared.domain.draft import DraftStatus


def _draft(says: str, **headers: tuple[str, Json]) -> Shown:
    return Shown(says=says, view=views.DraftView, headers=ETAG | headers)


DRAFT_OPERATIONS: Mapping[str, Operation] = {
    "create_drafts": Operation(
        summary="Upload photos",
        says="Up to ten files in a form, each judged by itself, or one picture as the bare body.",
        parameters=(KEY, SKIP, FILE_NAME),
        body=UPLOAD_BODY,
        answers={
            202: Shown(
                says="Accepted; one item per file, in order.",
                view=views.AcceptedView,
                headers=LOCATION | RETRY_AFTER,
            )
        },
        problems=merged(
            BODY,
            BAD_BYTES,
            LIMITED,
            {400: ("INVALID_REQUEST", "VALIDATION"), 409: ("IDEMPOTENCY_KEY_IN_FLIGHT",)},
            {413: ("BODY_TOO_LARGE",)},
            {422: ("NO_FILE_ACCEPTED", "TOO_MANY_FILES", "IDEMPOTENCY_KEY_REUSED")},
        ),
    ),
    "create_upload": Operation(
        summary="Get an address to send one photo to",
        says="PUT the bytes there with the headers given, then submit.",
        body={"application/json": models.UploadRequest},
        answers={
            201: Shown(
                says="The address, good for one photo and a few minutes.",
                view=views.UploadView,
                headers=LOCATION,
            )
        },
        problems=merged(
            JSON_BODY,
            LIMITED,
            {400: ("EMPTY_FILE",), 413: ("FILE_TOO_LARGE",), 415: ("UNSUPPORTED_FORMAT",)},
        ),
    ),
    "submit_upload": Operation(
        summary="Say that the photo has been sent",
        answers={202: _draft("Accepted, or where it stands by now.", **RETRY_AFTER)},
        problems=merged(UNKNOWN, BAD_BYTES, {409: ("NOT_UPLOADED",)}),
    ),
    "get_draft": Operation(
        summary="One draft",
        answers={200: _draft("`Retry-After` while it is Processing.", **RETRY_AFTER)},
        problems=merged(UNKNOWN, LIMITED),
    ),
    "get_draft_status": Operation(
        summary="Several drafts at once",
        parameters=(
            Parameter(
                name="ids",
                required=True,
                schema={
                    "type": "array",
                    "items": {"type": "string", "format": "uuid"},
                    "minItems": 1,
                    "maxItems": MAX_IDS,
                },
                says="Ids with commas between them.",
            ),
        ),
        answers={
            200: Shown(
                says="In the order asked for; unknown ids are items too.",
                view=views.StatusView,
                headers=RETRY_AFTER,
            )
        },
        problems=merged(LIMITED, {400: ("VALIDATION",), 422: ("TOO_MANY_IDS",)}),
    ),
    "list_drafts": Operation(
        summary="Your drafts, newest first",
        parameters=(
            Parameter(
                name="status",
                schema={"type": "array", "items": {"type": "string", "enum": list(DraftStatus)}},
                says="Only these, with commas between them.",
            ),
            Parameter(
                name="pageSize",
                schema={"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": PAGE},
            ),
            Parameter(
                name="continuation",
                schema={"type": "string", "pattern": f"^({CONTINUATION})?$"},
                says="The token of the page before. A short page may still have one.",
            ),
        ),
        answers={200: Shown(says="A page.", view=views.PageView)},
        problems={400: ("VALIDATION",)},
    ),
    "retry_draft": Operation(
        summary="Try a Failed draft again",
        answers={202: _draft("Processing again, as the next generation.", **RETRY_AFTER)},
        problems=merged(UNKNOWN, {409: ("NOT_FAILED", "NOT_RETRYABLE", "RETRY_LIMIT")}),
    ),
    "patch_draft": Operation(
        summary="Correct a draft",
        says="A person's values are never overwritten by a later run.",
        parameters=(
            Parameter(
                name="If-Match",
                place="header",
                required=True,
                says="The ETag that you have read, or `*`. Without it: 428.",
            ),
        ),
        body={"application/json": models.DraftPatch},
        answers={200: _draft("Corrected.", **RETRY_AFTER)},
        problems=merged(
            UNKNOWN,
            JSON_BODY,
            {412: ("PRECONDITION_FAILED",), 428: ("PRECONDITION_REQUIRED",)},
        ),
    ),
    "accept_draft": Operation(
        summary="Accept a draft",
        says="While it is Processing the acceptance takes effect when the run is done.",
        answers={200: _draft("Accepted, or to be accepted; the same again.", **RETRY_AFTER)},
        problems=merged(UNKNOWN, {409: ("DRAFT_FAILED", "NOT_READY")}),
    ),
    "reprocess_draft": Operation(
        summary="Ask for another picture of a Ready draft",
        says="What is shown stays until the new run is done.",
        body={"application/json": models.ReprocessRequest},
        body_required=False,
        answers={202: _draft("Wanted, as the next generation.")},
        problems=merged(UNKNOWN, JSON_BODY, {409: ("ACCEPTED", "NOT_READY")}),
    ),
    "delete_draft": Operation(
        summary="Delete a draft, its pictures and its history",
        answers={204: Shown(says="Gone, also when it was gone before.", content="")},
        problems=UNKNOWN,
    ),
    "list_draft_events": Operation(
        summary="What happened to a draft",
        answers={200: Shown(says="Oldest first.", view=views.EventsView)},
        problems=UNKNOWN,
    ),
    "get_draft_image": Operation(
        summary="An address of a picture that lasts",
        says=f"One of {', '.join(f'`{name}`' for name in VARIANTS)}. The first three follow what "
        "the person chose to use.",
        answers={302: Shown(says="To a link that lasts an hour.", content="", headers=LOCATION)},
        problems={404: ("NOT_FOUND", "IMAGE_NOT_FOUND")},
    ),
}
