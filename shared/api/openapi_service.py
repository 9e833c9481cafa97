"""All other routes, in words and models, for the OpenAPI page."""

from __future__ import annotations

from collections.abc import Mapping

from shared.api import models, service_views, views
from shared.api.openapi_model import (
    FILE,
    TEXT,
    Operation,
    Parameter,
    Shown,
    form_of,
    merged,
)
from shared.api.openapi_parts import (
    BAD_BYTES,
    BAD_PHOTO,
    BODY,
    ENDED,
    FILE_NAME,
    JSON_BODY,
    KEY,
    LIMITED,
    ONE_FILE,
    PICTURE,
    SKIP,
    UNKNOWN,
)
from shared.api.ops import LETTERS, MOST_LETTERS

SERVICE_OPERATIONS: Mapping[str, Operation] = {
    "create_image_v1": Operation(
        summary="Upload one photo and wait for it",
        says="For apps that know no drafts.",
        tag="Version 1",
        parameters=(KEY, SKIP, FILE_NAME),
        body=ONE_FILE,
        answers={200: Shown(says="The finished draft.", view=views.ImageV1View)},
        problems=merged(
            BODY,
            LIMITED,
            {400: ("INVALID_REQUEST", "VALIDATION"), 404: ("NOT_FOUND",)},
            {409: ("IDEMPOTENCY_KEY_IN_FLIGHT",), 413: ("BODY_TOO_LARGE",)},
            {422: (*BAD_PHOTO, "NO_FILE_ACCEPTED", "TOO_MANY_FILES", "IDEMPOTENCY_KEY_REUSED")},
            {503: ENDED, 504: ("STILL_PROCESSING",)},
        ),
    ),
    "process_image": Operation(
        summary="Cut out one photo; nothing is stored",
        tag="Processor",
        body={"multipart/form-data": form_of(1, switch=False), PICTURE: FILE},
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
        problems=merged(
            BODY,
            BAD_BYTES,
            {400: ("INVALID_REQUEST",), 413: ("BODY_TOO_LARGE",), 429: ("BUSY",)},
            {422: ("NO_FILE_ACCEPTED", "TOO_MANY_FILES")},
        ),
    ),
    "health_live": Operation(
        summary="The process answers",
        tag="Health",
        answers={200: Shown(says="Alive.", view=service_views.LiveView)},
    ),
    "health_ready": Operation(
        summary="Requests can be served",
        tag="Health",
        answers={200: Shown(says="Ready, with what is degraded.", view=service_views.ReadyView)},
    ),
    "ops_summary": Operation(
        summary="How things stand",
        tag="Operators",
        answers={200: Shown(says="Queues, jobs, dead letters.", view=service_views.SummaryView)},
    ),
    "ops_cleanup": Operation(
        summary="Run the nightly cleanup now",
        tag="Operators",
        answers={200: Shown(says="What it did.", view=service_views.JobRunView)},
        problems={409: ("JOB_DISABLED",)},
    ),
    "ops_retry_failed": Operation(
        summary="Retry drafts that failed through no fault of their photo",
        tag="Operators",
        body={"application/json": models.RetryFailedRequest},
        answers={200: Shown(says="Which.", view=service_views.RetryReportView)},
        problems=JSON_BODY,
    ),
    "ops_dead_letters": Operation(
        summary="Messages that were given up",
        tag="Operators",
        parameters=(
            Parameter(
                name="max",
                schema={
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_LETTERS,
                    "default": LETTERS,
                },
            ),
        ),
        answers={200: Shown(says="Newest first.", view=service_views.DeadLettersView)},
        problems={400: ("VALIDATION",)},
    ),
    "ops_replay_dead_letter": Operation(
        summary="Send what a dead letter speaks of once more",
        tag="Operators",
        answers={200: Shown(says="Sent.", view=service_views.DeadLetterView)},
        problems=merged(UNKNOWN, {409: ("NOT_REPLAYABLE",)}),
    ),
    "openapi_json": Operation(
        summary="This description",
        tag="Description",
        answers={200: Shown(says="OpenAPI 3.1.")},
    ),
}
