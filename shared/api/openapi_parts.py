"""What several routes take or answer alike."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from shared.api.forms import MAX_FILES
from shared.api.openapi_model import FILE, Json, Parameter, Problems, form_of

PICTURE = "image/*"
KEY = Parameter(
    name="Idempotency-Key",
    place="header",
    schema={"type": "string", "pattern": "^[!-~]{1,255}$"},
    says="Your own name for this request. Sent twice within a day it makes its drafts once.",
)
SKIP = Parameter(
    name="skipSegmentation",
    schema={"type": "boolean"},
    says="In place of the form field; a raw body has none.",
)
FILE_NAME = Parameter(name="fileName", says="For a raw body: the name to show back.")
UPLOAD_BODY: Mapping[str, type[BaseModel] | Json] = {
    "multipart/form-data": form_of(MAX_FILES),
    PICTURE: FILE,
}
ONE_FILE: Mapping[str, type[BaseModel] | Json] = {
    "multipart/form-data": form_of(1),
    PICTURE: FILE,
}
BODY: Problems = {411: ("LENGTH_REQUIRED",), 415: ("UNSUPPORTED_MEDIA_TYPE",)}
JSON_BODY: Problems = {
    **BODY,
    400: ("INVALID_REQUEST",),
    413: ("BODY_TOO_LARGE",),
    422: ("VALIDATION",),
}
UNKNOWN: Problems = {404: ("NOT_FOUND",)}
LIMITED: Problems = {429: ("RATE_LIMITED",)}
BAD_BYTES: Problems = {
    400: ("EMPTY_FILE", "CORRUPT_IMAGE", "IMAGE_TOO_SMALL"),
    413: ("FILE_TOO_LARGE", "IMAGE_TOO_LARGE"),
    415: ("UNSUPPORTED_FORMAT",),
}
BAD_PHOTO = (*BAD_BYTES[400], *BAD_BYTES[413], *BAD_BYTES[415], "RAW_MISSING", "RAW_CHANGED")
ENDED = ("ATTEMPTS_EXHAUSTED", "WORKER_LOST", "STUCK_PROCESSING")
