"""Every error this product raises on purpose, in one tree.

IngestError
├── BadImageError             permanent: the picture itself; never retried by the queue
│   ├── EmptyFileError  FileTooLargeError  UnsupportedFormatError  CorruptImageError
│   ├── ImageTooLargeError  ImageTooSmallError
│   └── RawMissingError  RawChangedError
├── TransientError            the world around: give the lease back, raise, the host redelivers
│   ├── StorageUnavailableError
│   ├── ProcessorUnavailableError  ProviderUnavailableError
│   ├── CheckpointLostError  EncodingError
│   ├── JobTimeLimitError
│   ├── ClaimHeldError  MessageAheadError  LeaseLostError
│   └── WebhookError
├── ConflictError             a conditional write was refused; the loser reads again
│   └── AlreadyExistsError
├── RequestError              the caller's request; carries its HTTP status and code
└── SettingsError  IllegalTransitionError  MalformedMessageError  ModelUnavailableError

A class declares `status`, `code`, `public_message` and `retryable`; an instance carries data.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime


class IngestError(Exception):
    """Anything the product raises on purpose. `detail` is safe to show to a person."""

    status: int = 500
    code: str = "INTERNAL"
    public_message: str = "Something went wrong on our side."
    retryable: bool = False

    def __init__(self, detail: str | None = None) -> None:
        self.detail = detail or self.public_message
        super().__init__(self.detail)


class BadImageError(IngestError):
    """The picture can never become an item. Sending the same bytes again does not help."""

    status = 400


class EmptyFileError(BadImageError):
    code = "EMPTY_FILE"
    public_message = "The file is empty. Choose the photo again."


class FileTooLargeError(BadImageError):
    status = 413
    code = "FILE_TOO_LARGE"
    public_message = "The file is larger than 10 MB. Send a smaller photo."


class UnsupportedFormatError(BadImageError):
    status = 415
    code = "UNSUPPORTED_FORMAT"
    public_message = "This is not a photo we can read. Send JPEG, PNG, WebP, HEIC, AVIF or GIF."


class CorruptImageError(BadImageError):
    code = "CORRUPT_IMAGE"
    public_message = "The photo is damaged or incomplete. Take or export it again."


class ImageTooLargeError(BadImageError):
    status = 413
    code = "IMAGE_TOO_LARGE"
    public_message = "The photo has more pixels than we can process. Send a smaller one."


class ImageTooSmallError(BadImageError):
    code = "IMAGE_TOO_SMALL"
    public_message = "The photo is too small to show a garment. Send a larger one."


class RawMissingError(BadImageError):
    status = 409
    code = "RAW_MISSING"
    public_message = "The uploaded photo is no longer there. Upload it again."


class RawChangedError(BadImageError):
    status = 409
    code = "RAW_CHANGED"
    public_message = "The uploaded photo was replaced after it was submitted. Upload it again."


class TransientError(IngestError):
    """Not the picture's fault: the same work may succeed a little later."""

    status = 503
    retryable = True


class StorageUnavailableError(TransientError):
    """A storage call failed or its outcome is unknown (`unknown` is true for a lost answer).

    `service_code` is the service's own word for it, "" where it said none.
    """

    code = "STORAGE_UNAVAILABLE"
    public_message = "Storage is not available at the moment. Try again shortly."

    def __init__(
        self, detail: str | None = None, *, unknown: bool = True, service_code: str = ""
    ) -> None:
        super().__init__(detail)
        self.unknown = unknown
        self.service_code = service_code


class CheckpointLostError(TransientError):
    """What an earlier run has stored is gone or cannot be read; the work has to start over."""

    code = "CHECKPOINT_LOST"


class EncodingError(TransientError):
    """A picture of ours could not be packed: not the photo's fault, and another run may."""

    code = "ENCODING_FAILED"


class ProcessorUnavailableError(TransientError):
    code = "PROCESSOR_UNAVAILABLE"
    public_message = "The background removal service is not available at the moment."


class ProviderUnavailableError(TransientError):
    code = "PROVIDER_UNAVAILABLE"
    public_message = "The service that names garments is not available at the moment."


class JobTimeLimitError(TransientError):
    code = "JOB_TIME_LIMIT"
    public_message = "Processing took too long."


class ClaimHeldError(TransientError):
    """Another run holds the lease until `lease_until`; the message has to come back."""

    code = "CLAIM_HELD"
    public_message = "Another run is working on this draft."

    def __init__(self, lease_until: datetime) -> None:
        super().__init__()
        self.lease_until = lease_until


class MessageAheadError(TransientError):
    """The message names a newer generation than the row: its write is not visible yet."""

    code = "MESSAGE_AHEAD"
    public_message = "The draft does not know this run yet."


class ConflictError(IngestError):
    """A conditional write met another ETag, or a row that is gone. Nothing was written.

    `service_code` as in StorageUnavailableError.
    """

    status = 409
    code = "CONFLICT"
    public_message = "The draft changed in the meantime. Read it again."
    retryable = True

    def __init__(self, detail: str | None = None, *, service_code: str = "") -> None:
        super().__init__(detail)
        self.service_code = service_code


class AlreadyExistsError(ConflictError):
    """An insert met a row with the same keys. Nothing was written."""


class RequestError(IngestError):
    """The caller's request cannot be served; `status` and `code` say how to mend it."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        retryable: bool = False,
        retry_after: int | None = None,
        errors: Sequence[dict[str, str]] = (),
        extra: dict[str, object] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.retryable = retryable
        self.retry_after = retry_after
        self.errors = tuple(errors)
        self.extra = dict(extra or {})


class SettingsError(IngestError):
    """One or more settings are missing or wrong; `faults` names each."""

    status = 503
    code = "SETTINGS_INVALID"
    public_message = "The service is not set up correctly."

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("Invalid settings: " + "; ".join(faults))


class IllegalTransitionError(IngestError):
    """A status change that the state machine does not allow."""


class MalformedMessageError(IngestError):
    """A queue message that nobody can understand; `reason` goes into its dead letter."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
