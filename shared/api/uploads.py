"""The direct way: a shell, an address for its bytes, and the word that they have arrived."""

from __future__ import annotations

from datetime import timedelta

from shared import telemetry
from shared.api.changing import own_draft, settle
from shared.api.exchange import Answer, Request, answer
from shared.api.forms import is_picture
from shared.api.intake import tell_accepted
from shared.api.limiting import limit_uploads
from shared.api.models import UploadRequest, read_json
from shared.api.reading import draft_answer
from shared.api.views import UploadView
from shared.dependencies import Dependencies
from shared.domain import lifecycle
from shared.domain.draft import Draft, DraftStatus, RawPhoto
from shared.domain.errors import (
    BadImageError,
    ConflictError,
    RequestError,
    UnsupportedFormatError,
)
from shared.domain.events import EventType, event_of
from shared.domain.ids import new_draft_id, raw_blob
from shared.image_probe import check_bytes, probe
from shared.ports import BlobInfo
from shared.sending import send


def create_upload(request: Request, deps: Dependencies) -> Answer:
    """201 with an address that can create one blob, once, within `UPLOAD_SAS_MINUTES`."""
    limit_uploads(request, deps)
    wanted = read_json(request, UploadRequest)
    _check_announced(wanted)
    draft = settle(lambda: _begun(request, wanted, deps))
    until = draft.created_at + timedelta(minutes=deps.settings.upload_sas_minutes)
    view = UploadView(
        draft_id=draft.id,
        upload_url=deps.uploads.upload_url(raw_blob(draft.owner_key, draft.id), until=until),
        headers={"x-ms-blob-type": "BlockBlob", "Content-Type": wanted.content_type},
        expires_at=until,
        submit_url=f"{request.base}/wardrobe/drafts/{draft.id}/submit",
    )
    return answer(201, view, location=f"{request.base}/wardrobe/drafts/{draft.id}")


def submit_upload(request: Request, deps: Dependencies) -> Answer:
    """202, and 202 again in any later state. A photo that cannot be used is removed and refused.

    Raises RequestError (404, 409 NOT_UPLOADED) or the BadImageError of the bytes; after that
    another photo can be sent to the same address.
    """
    return draft_answer(202, settle(lambda: _submitted(request, deps)), deps)


def _begun(request: Request, wanted: UploadRequest, deps: Dependencies) -> Draft:
    """The shell: its due entry, then its row, as when photos are accepted."""
    shell = _shell(request, wanted, deps)
    [announced] = deps.store.announce([shell], shell.created_at)
    created = event_of(announced, EventType.CREATED, shell.created_at)
    [draft] = deps.store.add([(announced, created)])
    return draft


def _submitted(request: Request, deps: Dependencies) -> Draft:
    draft = own_draft(request, deps)
    if draft.status is not DraftStatus.UPLOADING:
        return draft
    raw, now = _probed(draft, deps), deps.clock()
    wanted = lifecycle.submit(draft, raw, now, traceparent=request.traceparent)
    event = event_of(wanted, EventType.SUBMITTED, now)
    stored = deps.store.save(draft, wanted, event, now=now)
    with telemetry.about(stored):
        send(stored, deps)
        tell_accepted(stored, "direct")
    return stored


def _probed(draft: Draft, deps: Dependencies) -> RawPhoto:
    """The bytes decide, as everywhere; the ETag fences what the worker will read."""
    blob = raw_blob(draft.owner_key, draft.id)
    info = deps.uploads.info(blob)
    if info is None:
        raise _not_uploaded()
    try:
        found = probe(_bytes(blob, info, deps))
    except BadImageError:
        _remove(blob, info, deps)
        raise
    return RawPhoto(
        blob=blob,
        etag=info.etag,
        size=info.size,
        content_type=found.content_type,
        width=found.width,
        height=found.height,
    )


def _remove(blob: str, info: BlobInfo, deps: Dependencies) -> None:
    """The refused bytes and no others: the client may have sent better ones since."""
    try:
        deps.uploads.delete(blob, etag=info.etag)
    except ConflictError:
        return


def _bytes(blob: str, info: BlobInfo, deps: Dependencies) -> bytes:
    check_bytes(info.size)
    try:
        data = deps.uploads.read(blob, etag=info.etag)
    except ConflictError as error:
        raise _not_uploaded() from error  # it is being replaced this very moment
    if data is None:
        raise _not_uploaded()
    return data


def _not_uploaded() -> RequestError:
    return RequestError(
        409, "NOT_UPLOADED", "The photo has not arrived in storage.", retryable=True
    )


def _check_announced(wanted: UploadRequest) -> None:
    """What would be refused at submit is refused before anything is sent."""
    if not is_picture(wanted.content_type):
        raise UnsupportedFormatError
    check_bytes(wanted.size)


def _shell(request: Request, wanted: UploadRequest, deps: Dependencies) -> Draft:
    now = deps.clock()
    return Draft(
        id=new_draft_id(),
        owner_id=request.owner_id,
        status=DraftStatus.UPLOADING,
        status_since=now,
        created_at=now,
        updated_at=now,
        file_name=wanted.file_name,
        skip_segmentation=wanted.skip_segmentation,
    )
