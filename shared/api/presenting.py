"""A draft as its owner sees it: JSON views with links that last for the hour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.api.views import ColorView, DraftErrorView, DraftView, ImageView, MetadataView
from shared.dependencies import Dependencies
from shared.domain.draft import Draft, DraftStatus, ImageUse, Metadata, Pictures
from shared.domain.pictures import Rendition
from shared.ports import Blobs

VARIANTS = ("archive", "display", "thumb", "original", "original-display", "original-thumb")
_HOUR = timedelta(hours=1)
_ORIGINAL = "original-"
# How long to wait before asking again, by how long the work has been wanted.
_PATIENCE = ((timedelta(seconds=30), 2), (timedelta(minutes=5), 5))
_PATIENCE_AT_MOST = 30
_SUFFIXES = {"image/jpeg": "jpg"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    """Read links of one answer. All end at the same full hour, so that they can be cached."""

    uploads: Blobs
    images: Blobs
    until: datetime

    @classmethod
    def at(cls, now: datetime, deps: Dependencies) -> Links:
        """Links that last from one to two hours."""
        return cls(uploads=deps.uploads, images=deps.images, until=_link_end(now))

    def picture(self, rendition: Rendition) -> str:
        return self.images.read_url(rendition.blob, until=self.until)

    def original(self, draft: Draft) -> str:
        """The untouched upload. It is only ever downloaded, under a name of ours."""
        assert draft.raw is not None
        kind = draft.raw.content_type
        suffix = _SUFFIXES.get(kind) or kind.rpartition("/")[2]
        name = f"{draft.id}.{suffix}"
        return self.uploads.read_url(draft.raw.blob, until=self.until, attachment=name)


def _link_end(now: datetime) -> datetime:
    """The next full hour, plus one."""
    return now.replace(minute=0, second=0, microsecond=0) + 2 * _HOUR


def present(draft: Draft, links: Links) -> DraftView:
    """The draft as JSON shows it."""
    return DraftView(
        id=draft.id,
        status=draft.status,
        stage=draft.stage,
        generation=draft.generation,
        attempts=draft.attempts,
        retry_count=draft.retry_count,
        skip_segmentation=draft.skip_segmentation,
        segmentation=draft.segmentation,
        accept_requested=draft.accept_requested,
        file_name=draft.file_name,
        created_at=draft.created_at,
        updated_at=draft.updated_at,
        expires_at=draft.expires_at,
        revision=draft.revision,
        error=_error(draft),
        image=_image(draft, links),
        metadata=_metadata(draft.metadata),
        warnings=list(draft.warnings),
    )


def picture_named(draft: Draft, variant: str, links: Links) -> str | None:
    """The link of one variant; None where the draft has no such picture (yet)."""
    if draft.pictures is None or draft.raw is None:
        return None
    if variant == "original":
        return links.original(draft)
    if draft.use is ImageUse.ORIGINAL and not variant.startswith(_ORIGINAL):
        variant = _ORIGINAL + variant
    rendition = draft.pictures.renditions.get(variant)
    return links.picture(rendition) if rendition else None


def retry_after(drafts: list[Draft], now: datetime) -> int | None:
    """Seconds to wait before asking again; the longer it takes, the longer. None when all rest."""
    waits = [_patience(draft, now) for draft in drafts if draft.status is DraftStatus.PROCESSING]
    return min(waits, default=None)


def _patience(draft: Draft, now: datetime) -> int:
    since = draft.work.started_at if draft.work else draft.status_since
    for limit, seconds in _PATIENCE:
        if now - since < limit:
            return seconds
    return _PATIENCE_AT_MOST


def _error(draft: Draft) -> DraftErrorView | None:
    error = draft.error
    if error is None:
        return None
    return DraftErrorView(
        code=error.code,
        detail=error.detail,
        retryable=error.retryable,
        failed_at=error.failed_at,
    )


def _image(draft: Draft, links: Links) -> ImageView | None:
    if draft.pictures is None or draft.raw is None:
        return None
    prefix = _ORIGINAL if draft.use is ImageUse.ORIGINAL else ""
    made = draft.pictures.renditions
    archive, display = made.get(f"{prefix}archive"), made[f"{prefix}display"]
    largest = archive or display
    return ImageView(
        use=draft.use,
        archive_url=links.picture(archive) if archive else None,
        display_url=links.picture(display),
        thumb_url=links.picture(made[f"{prefix}thumb"]),
        original_url=links.original(draft),
        width=largest.width,
        height=largest.height,
        blur_hash=_blur_hash(draft.pictures, draft.use),
    )


def _blur_hash(pictures: Pictures, use: ImageUse) -> str | None:
    original = use is ImageUse.ORIGINAL
    return pictures.original_blur_hash if original else pictures.blur_hash


def _metadata(metadata: Metadata | None) -> MetadataView | None:
    if metadata is None:
        return None
    return MetadataView(
        category=metadata.category,
        category_confidence=metadata.category_confidence,
        colors=[ColorView(name=c.name, hex=c.hex, share=c.share) for c in metadata.colors],
        title=metadata.title,
        notes=metadata.notes,
        needs_review=metadata.needs_review,
        source=metadata.source,
    )
