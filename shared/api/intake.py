"""The order of writes when photos are accepted, and what each failure leaves behind.

    due entries ──▶ blobs ──▶ rows, events and the idempotency record ──▶ messages ──▶ 202
                                          │
      before or refused: own blobs removed, 503     unknown: the rows decide
                                                    after: 202, the repair sends the message

A draft that was announced and never written is cleared up by its due entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from shared import telemetry
from shared.dependencies import Dependencies
from shared.domain.draft import Draft, DraftStatus, RawPhoto, Stage, Work, WorkReason
from shared.domain.errors import ConflictError, StorageUnavailableError
from shared.domain.events import EventType, event_of
from shared.domain.ids import new_draft_id, owner_key, raw_blob
from shared.domain.lifecycle import NO_DELAY
from shared.image_probe import Probe
from shared.leftovers import remove_blob
from shared.records.idempotency import Begun
from shared.sending import send


@dataclass(frozen=True, kw_only=True, slots=True)
class Photo:
    """One file that passed the probe."""

    name: str | None
    data: bytes
    probe: Probe


@dataclass(frozen=True, kw_only=True, slots=True)
class UploadOptions:
    """What the caller wants of the photos, and from where the request came."""

    owner_id: str
    skip_segmentation: bool = False
    source: str = "upload"  # upload | v1, as the log says it
    traceparent: str = ""
    delay: timedelta = NO_DELAY  # of the messages; a net under a run in this process


def accept(
    photos: Sequence[Photo],
    options: UploadOptions,
    deps: Dependencies,
    *,
    key: Begun | None = None,
) -> list[Draft]:
    """Drafts for these photos, all or none, and the key's record with them.

    Raises StorageUnavailableError when nothing was accepted.
    """
    now = deps.clock()
    announced = deps.store.announce([_draft(photo, options, deps) for photo in photos], now)
    placed = _store_photos(announced, photos, deps)
    stored = _write_rows(placed, key, deps)
    for draft in stored:
        with telemetry.about(draft, options.traceparent):
            send(draft, deps, delay=options.delay)
            tell_accepted(draft, options.source)
    return stored


def tell_accepted(draft: Draft, source: str) -> None:
    telemetry.draft_accepted(
        source=source,
        size_bytes=draft.raw.size if draft.raw else 0,
        skip_segmentation=draft.skip_segmentation,
        owner_hash=telemetry.owner_hash(draft.owner_key),
    )


def _draft(photo: Photo, options: UploadOptions, deps: Dependencies) -> Draft:
    now, draft_id = deps.clock(), new_draft_id()
    return Draft(
        id=draft_id,
        owner_id=options.owner_id,
        status=DraftStatus.PROCESSING,
        status_since=now,
        created_at=now,
        updated_at=now,
        file_name=photo.name,
        skip_segmentation=options.skip_segmentation,
        stage=Stage.UPLOADED,
        work=Work(
            reason=WorkReason.INITIAL,
            started_at=now,
            queued_at=now + options.delay,
            traceparent=options.traceparent,
        ),
        raw=RawPhoto(
            blob=raw_blob(owner_key(options.owner_id), draft_id),
            etag="",
            size=len(photo.data),
            content_type=photo.probe.content_type,
            width=photo.probe.width,
            height=photo.probe.height,
        ),
    )


def _store_photos(
    drafts: Sequence[Draft], photos: Sequence[Photo], deps: Dependencies
) -> list[Draft]:
    placed: list[Draft] = []
    try:
        for draft, photo in zip(drafts, photos, strict=True):
            assert draft.raw is not None
            etag = deps.uploads.put(draft.raw.blob, photo.data, content_type=draft.raw.content_type)
            placed.append(replace(draft, raw=replace(draft.raw, etag=etag)))
    except StorageUnavailableError:
        _remove_photos(drafts, deps)
        raise
    return placed


def _write_rows(drafts: Sequence[Draft], key: Begun | None, deps: Dependencies) -> list[Draft]:
    now = deps.clock()
    created = [(draft, event_of(draft, EventType.CREATED, now)) for draft in drafts]
    record = [key.finish([draft.id for draft in drafts], now)] if key else []
    try:
        return deps.store.add(created, beside=record)
    except ConflictError as error:
        _remove_photos(drafts, deps)
        raise StorageUnavailableError(unknown=False) from error
    except StorageUnavailableError as error:
        if not error.unknown:
            _remove_photos(drafts, deps)
            raise
        return _written_after_all(drafts, error, deps)


def _written_after_all(
    drafts: Sequence[Draft], error: StorageUnavailableError, deps: Dependencies
) -> list[Draft]:
    """The rows decide; where they cannot be read, the blobs are left to their due entries."""
    found = deps.store.find_many(drafts[0].owner_id, [draft.id for draft in drafts])
    if len(found) != len(drafts):
        raise error
    return [found[draft.id] for draft in drafts]


def _remove_photos(drafts: Sequence[Draft], deps: Dependencies) -> None:
    """What stays behind is removed by the due entries of drafts that were never written."""
    for draft in drafts:
        assert draft.raw is not None
        remove_blob(draft.raw.blob, deps.uploads, deps.settings.uploads_container, draft.id)
