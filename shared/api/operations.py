"""What each route takes and answers, in words and models: the source of the OpenAPI page."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from shared.api import models, views
from shared.api.describing import (
    ETAG,
    FILE,
    LOCATION,
    RETRY_AFTER,
    TEXT,
    Json,
    Operation,
    Parameter,
    Shown,
    both,
    form_of,
)
from shared.api.forms import MAX_FILES
from shared.api.reading import MAX_IDS, MAX_PAGE
from shared.domain.draft import DraftStatus
from shared.presenting import VARIANTS

PICTURE = "image/*"

_KEY = Parameter(
    name="Idempotency-Key",
    place="header",
    schema={"type": "string", "pattern": "^[!-~]{1,255}$"},
    says="Your own name for this request. Sent twice within a day it makes its drafts once.",
)
_SKIP = Parameter(
    name="skipSegmentation",
    schema={"type": "boolean"},
    says="For a raw body, in place of the form field.",
)
_FILE_NAME = Parameter(name="fileName", says="For a raw body: the name to show back.")
_UPLOAD_BODY: Mapping[str, type[BaseModel] | Json] = {
    "multipart/form-data": form_of(MAX_FILES),
    PICTURE: FILE,
}
_ONE_FILE: Mapping[str, type[BaseModel] | Json] = {
    "multipart/form-data": form_of(1),
    PICTURE: FILE,
}
_BODY = {411: ("LENGTH_REQUIRED",), 415: ("UNSUPPORTED_MEDIA_TYPE",)}
_JSON_BODY = {
    **_BODY,
    400: ("INVALID_REQUEST",),
    413: ("BODY_TOO_LARGE",),
    422: ("VALIDATION",),
}
_UNKNOWN = {404: ("NOT_FOUND",)}
_LIMITED = {429: ("RATE_LIMITED",)}
_BAD_BYTES = {
    400: ("EMPTY_FILE", "CORRUPT_IMAGE", "IMAGE_TOO_SMALL"),
    413: ("FILE_TOO_LARGE", "IMAGE_TOO_LARGE"),
    415: ("UNSUPPORTED_FORMAT",),
}
_BAD_PHOTO = (*_BAD_BYTES[400], *_BAD_BYTES[413], *_BAD_BYTES[415], "RAW_MISSING", "RAW_CHANGED")
_ENDED = ("ATTEMPTS_EXHAUSTED", "WORKER_LOST", "STUCK_PROCESSING")


def _draft(says: str, **headers: tuple[str, Json]) -> Shown:
    return Shown(says=says, view=views.DraftView, headers=ETAG | headers)


OPERATIONS: Mapping[str, Operation] = {
    "create_drafts": Operation(
        summary="Upload photos",
        says="Up to ten files in a form, each judged by itself, or one picture as the bare body.",
        parameters=(_KEY, _SKIP, _FILE_NAME),
        body=_UPLOAD_BODY,
        answers={
            202: Shown(
                says="Accepted; one item per file, in order.",
                view=views.AcceptedView,
                headers=LOCATION | RETRY_AFTER,
            )
        },
        problems=both(
            _BODY,
            _BAD_BYTES,
            _LIMITED,
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
        problems=both(
            _JSON_BODY,
            _LIMITED,
            {400: ("EMPTY_FILE",), 413: ("FILE_TOO_LARGE",), 415: ("UNSUPPORTED_FORMAT",)},
        ),
    ),
    "submit_upload": Operation(
        summary="Say that the photo has been sent",
        answers={202: _draft("Accepted, or where it stands by now.", **RETRY_AFTER)},
        problems=both(_UNKNOWN, _BAD_BYTES, {409: ("NOT_UPLOADED",)}),
    ),
    "get_draft": Operation(
        summary="One draft",
        answers={200: _draft("`Retry-After` while it is Processing.", **RETRY_AFTER)},
        problems=both(_UNKNOWN, _LIMITED),
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
        problems=both(_LIMITED, {400: ("VALIDATION",), 422: ("TOO_MANY_IDS",)}),
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
                schema={"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 20},
            ),
            Parameter(
                name="continuation",
                schema={"type": "string", "pattern": "^[A-Za-z0-9_-]{72}$"},
                says="The token of the page before. A short page may still have one.",
            ),
        ),
        answers={200: Shown(says="A page.", view=views.PageView)},
        problems={400: ("VALIDATION",)},
    ),
    "retry_draft": Operation(
        summary="Try a Failed draft again",
        answers={202: _draft("Processing again, as the next generation.", **RETRY_AFTER)},
        problems=both(_UNKNOWN, {409: ("NOT_FAILED", "NOT_RETRYABLE", "RETRY_LIMIT")}),
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
        problems=both(
            _UNKNOWN,
            _JSON_BODY,
            {412: ("PRECONDITION_FAILED",), 428: ("PRECONDITION_REQUIRED",)},
        ),
    ),
    "accept_draft": Operation(
        summary="Accept a draft",
        says="While it is Processing the acceptance takes effect when the run is done.",
        answers={200: _draft("Accepted, or to be accepted; the same again.", **RETRY_AFTER)},
        problems=both(_UNKNOWN, {409: ("DRAFT_FAILED", "NOT_READY")}),
    ),
    "reprocess_draft": Operation(
        summary="Ask for another picture of a Ready draft",
        says="What is shown stays until the new run is done.",
        body={"application/json": models.ReprocessRequest},
        body_required=False,
        answers={202: _draft("Wanted, as the next generation.")},
        problems=both(_UNKNOWN, _JSON_BODY, {409: ("ACCEPTED", "NOT_READY")}),
    ),
    "delete_draft": Operation(
        summary="Delete a draft, its pictures and its history",
        answers={204: Shown(says="Gone, also when it was gone before.", content="")},
    ),
    "list_draft_events": Operation(
        summary="What happened to a draft",
        answers={200: Shown(says="Oldest first.", view=views.EventsView)},
        problems=_UNKNOWN,
    ),
    "get_draft_image": Operation(
        summary="An address of a picture that lasts",
        says=f"One of {', '.join(f'`{name}`' for name in VARIANTS)}. The first three follow what "
        "the person chose to use.",
        answers={302: Shown(says="To a link that lasts an hour.", content="", headers=LOCATION)},
        problems={404: ("NOT_FOUND", "IMAGE_NOT_FOUND")},
    ),
    "create_image_v1": Operation(
        summary="Upload one photo and wait for it",
        says="For apps that know no drafts.",
        tag="Version 1",
        parameters=(_KEY, _SKIP, _FILE_NAME),
        body=_ONE_FILE,
        answers={200: Shown(says="The finished draft.", view=views.ImageV1View)},
        problems=both(
            _BODY,
            _LIMITED,
            {400: ("INVALID_REQUEST", "VALIDATION"), 404: ("NOT_FOUND",)},
            {409: ("IDEMPOTENCY_KEY_IN_FLIGHT",), 413: ("BODY_TOO_LARGE",)},
            {422: (*_BAD_PHOTO, "NO_FILE_ACCEPTED", "TOO_MANY_FILES", "IDEMPOTENCY_KEY_REUSED")},
            {503: _ENDED, 504: ("STILL_PROCESSING",)},
        ),
    ),
    "process_image": Operation(
        summary="Cut out one photo; nothing is stored",
        tag="Processor",
        body=_ONE_FILE,
        answers={
            200: Shown(
                says="WebP with alpha, upright, not cropped, 2048 px at most.",
                content="image/webp",
                headers={
                    "X-Segmentation": ("How it was cut out.", TEXT),
                    "X-Confidence": ("From 0 to 1.", {"type": "number"}),
                },
            )
        },
        problems=both(
            _BODY,
            _BAD_BYTES,
            {400: ("INVALID_REQUEST",), 413: ("BODY_TOO_LARGE",), 429: ("BUSY",)},
            {422: ("NO_FILE_ACCEPTED", "TOO_MANY_FILES")},
        ),
    ),
    "health_live": Operation(
        summary="The process answers",
        tag="Health",
        answers={200: Shown(says="Alive.", view=views.LiveView)},
    ),
    "health_ready": Operation(
        summary="Requests can be served",
        tag="Health",
        answers={200: Shown(says="Ready, with what is degraded.", view=views.ReadyView)},
    ),
    "openapi_json": Operation(
        summary="This description",
        tag="Description",
        answers={200: Shown(says="OpenAPI 3.1.")},
    ),
}
