"""Every code a caller can meet: what it means and what to do. docs/errors.md shows the same."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """One code; `statuses` are those of the answers that carry it, none where only drafts do."""

    name: str
    statuses: tuple[int, ...]
    meaning: str
    action: str
    retryable: bool = False


_CHOOSE = "Choose another photo."
_AGAIN = "Try again after `Retry-After`, or in a few seconds."

CODES = (
    # Of a picture; a draft carries them as `error.code`, an upload answers with them.
    Code("EMPTY_FILE", (400, 422), "The file has no bytes.", "Choose the photo again."),
    Code("FILE_TOO_LARGE", (413, 422), "The file has more than 10 MB.", "Send a smaller photo."),
    Code("UNSUPPORTED_FORMAT", (415, 422), "The bytes are no JPEG, PNG, WebP, HEIC, AVIF or GIF.",
         _CHOOSE),
    Code("CORRUPT_IMAGE", (400, 422), "The photo is damaged or cut off.",
         "Take or export it again."),
    Code("IMAGE_TOO_LARGE", (413, 422), "More than 50 megapixels, a side over 16,000 px, or more "
         "scans, parts or metadata than a photo has.", "Send a smaller photo, or export it again."),
    Code("IMAGE_TOO_SMALL", (400, 422), "A side is under 16 px.", "Send a larger photo."),
    Code("RAW_MISSING", (422,), "The stored upload is gone.", "Upload the photo again."),
    Code("RAW_CHANGED", (422,), "The stored upload was replaced after it was submitted.",
         "Upload the photo again."),
    Code("UPLOAD_ABANDONED", (), "A direct upload was not submitted within a day.",
         "Upload the photo again."),
    # Ends of a draft that are not the photo's fault.
    Code("ATTEMPTS_EXHAUSTED", (503,), "Every attempt failed.", "POST retry, later.", True),
    Code("WORKER_LOST", (503,), "Processing this photo stopped the worker again and again.",
         "POST retry once; if it happens again, choose another photo.", True),
    Code("STUCK_PROCESSING", (503,), "Nobody got to the draft for two hours.", "POST retry.", True),
    # Of a request.
    Code("VALIDATION", (400, 422), "A parameter, header, form field or JSON field is wrong.",
         "`errors` names each one."),
    Code("INVALID_REQUEST", (400,), "The body cannot be read as what it says it is.",
         "Mend the encoding of the body."),
    Code("UNAUTHENTICATED", (401,), "The request does not say who asks, or may not say it here.",
         "Sign in, or send the headers of the service's `AUTH_MODE`."),
    Code("NOT_FOUND", (404,), "No such draft of yours, or nothing at this address.",
         "Check the id. Somebody else's draft is answered alike."),
    Code("IMAGE_NOT_FOUND", (404,), "The draft has no such picture, or not yet.",
         "Wait until it is Ready."),
    Code("METHOD_NOT_ALLOWED", (405,), "The address does not answer to this method.",
         "Use one of `Allow`."),
    Code("LENGTH_REQUIRED", (411,), "The body does not say its length.", "Send Content-Length."),
    Code("PRECONDITION_FAILED", (412,), "The draft has changed since it was read.",
         "Read it again, and send its new ETag."),
    Code("PRECONDITION_REQUIRED", (428,), "A correction without `If-Match`.",
         "Send the ETag that you have read."),
    Code("BODY_TOO_LARGE", (413,), "Over 102 MB, or over 64 KB of JSON.", "Send fewer files."),
    Code("UNSUPPORTED_MEDIA_TYPE", (415,), "A content type that this route does not take.",
         "Send a form, a picture or JSON, as the route says."),
    Code("NO_FILE_ACCEPTED", (422,), "None of the files can be used.",
         "`drafts` says why, file by file."),
    Code("TOO_MANY_FILES", (422,), "More than ten files, or more than the one of this route.",
         "Send them in several requests."),
    Code("TOO_MANY_IDS", (422,), "More than 20 ids at once.", "Ask in several requests."),
    Code("IDEMPOTENCY_KEY_REUSED", (422,), "The key was sent with other files before.",
         "Use a new key for a new request."),
    Code("IDEMPOTENCY_KEY_IN_FLIGHT", (409,), "The first request with this key is at work.",
         _AGAIN, True),
    Code("NOT_UPLOADED", (409,), "Submitted before the bytes arrived.",
         "PUT the photo, then submit again.", True),
    Code("NOT_FAILED", (409,), "Only a Failed draft can be retried.", "Look at `currentStatus`."),
    Code("NOT_RETRYABLE", (409,), "The photo itself is at fault.", _CHOOSE),
    Code("RETRY_LIMIT", (409,), "The draft was retried as often as it may be.", _CHOOSE),
    Code("NOT_READY", (409,), "The draft is not there yet.", "Wait until it is Ready."),
    Code("DRAFT_FAILED", (409,), "A Failed draft cannot be accepted.", "POST retry, or delete it."),
    Code("ACCEPTED", (409,), "The picture of an accepted draft is never replaced.",
         "Upload the photo again."),
    Code("RATE_LIMITED", (429,), "Too many uploads or status calls in a minute.", _AGAIN, True),
    Code("BUSY", (429,), "This process is making another cut-out.", _AGAIN, True),
    Code("STILL_PROCESSING", (504,), "Not finished within 60 seconds; the draft goes on.",
         "Ask `statusUrl`.", True),
    # Of the service.
    Code("STORAGE_UNAVAILABLE", (503,), "Storage or a queue does not answer.", _AGAIN, True),
    Code("SETTINGS_INVALID", (503,), "The service is not set up correctly.",
         "For operators: `health/ready` names the settings."),
    Code("INTERNAL", (500,), "A fault of ours.", "Tell the operators the time of the request."),
    # For operators.
    Code("NOT_REPLAYABLE", (409,), "Nothing waits for this dead letter any more, or its draft "
         "cannot be read.", "Look at its draft."),
    Code("JOB_DISABLED", (409,), "The job is switched off by `JOB_<NAME>_ENABLED`.",
         "Switch it on first."),
    Code("WINDOW_TAKEN", (409,), "This window's run was already begun.", "Wait for the next one."),
)  # fmt: skip

BY_NAME = {code.name: code for code in CODES}
