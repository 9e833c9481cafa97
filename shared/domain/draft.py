"""The draft: one photo on its way to a wardrobe item. A change is a new value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from shared.domain.ids import owner_key
from shared.domain.pictures import Box, Caution, Color, Rendition, Segmentation


class DraftStatus(StrEnum):
    """Where a draft stands, as its owner sees it."""

    UPLOADING = "Uploading"  # a shell that waits for a direct upload
    PROCESSING = "Processing"  # accepted; a run is wanted
    READY = "Ready"  # for review
    FAILED = "Failed"  # with a reason that a person understands
    ACCEPTED = "Accepted"  # final


class Stage(StrEnum):
    """The checkpoint of the current generation; it only moves forward."""

    UPLOADED = "Uploaded"  # the photo is stored
    SEGMENTED = "Segmented"  # the mask is stored
    RENDERED = "Rendered"  # the renditions are stored
    ANALYZED = "Analyzed"  # colours and category are on the row

    @property
    def order(self) -> int:
        return list(Stage).index(self)


class WorkReason(StrEnum):
    """What a run is wanted for."""

    INITIAL = "initial"  # the first run of an upload
    RETRY = "retry"  # a person asked again after Failed
    REPROCESS = "reprocess"  # a person asked for another picture; the status stays
    DEGRADED = "degraded"  # the remote processor was away; the status stays


class ImageUse(StrEnum):
    """Which set of pictures the person wants to see."""

    CUTOUT = "cutout"
    ORIGINAL = "original"


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """A run that is wanted. Its generation, stage and attempts stand on the draft."""

    reason: WorkReason
    started_at: datetime  # when this work was first asked for; the 2-hour rule counts from here
    queued_at: datetime  # when the last sent message becomes visible
    lost_runs: int = 0  # runs whose lease was never given back
    resends: int = 0  # messages sent again because the draft was unattended
    traceparent: str = ""  # of the request that asked for it


@dataclass(frozen=True, kw_only=True, slots=True)
class RawPhoto:
    """The upload as it is stored, untouched."""

    blob: str
    etag: str  # the worker reads with If-Match
    size: int  # bytes
    content_type: str  # by the bytes, not by the name
    width: int  # pixels
    height: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Pictures:
    """What runs have made so far; every blob here counts, every other one does not."""

    segmentation: Segmentation
    mask: str | None = None  # blob; null where nothing was cut out
    box: Box | None = None
    confidence: float | None = None  # 0..1
    renditions: dict[str, Rendition] = field(default_factory=dict)  # by rendition name
    blur_hash: str | None = None
    original_blur_hash: str | None = None

    def blobs(self) -> Iterator[str]:
        """Full names, the mask's first."""
        if self.mask:
            yield self.mask
        for rendition in self.renditions.values():
            yield rendition.blob


UNCATEGORISED = "Uncategorised"  # nobody could say, or the answer is not in the list
MAX_TITLE, MAX_NOTES = 120, 2000  # characters


@dataclass(frozen=True, kw_only=True, slots=True)
class Metadata:
    """What the item is; `edited` names the fields that a person has set."""

    category: str = UNCATEGORISED
    category_confidence: float | None = None  # 0..1
    colors: tuple[Color, ...] = ()
    title: str | None = None
    notes: str | None = None
    needs_review: bool = True
    source: str = "none"  # model | openai | none | user
    edited: frozenset[str] = frozenset()

    def under(self, old: Metadata | None) -> Metadata:
        """What a run found, under what a person has set: user values always win."""
        if old is None:
            return self
        new = self
        if new.source == "none" != old.source:  # nobody could say: what was found before stays
            new = replace(old, colors=new.colors)
        kept = {name: getattr(old, name) for name in old.edited}
        if "category" in old.edited:
            kept |= {"category_confidence": old.category_confidence, "source": old.source}
            kept |= {"needs_review": old.needs_review}
        return replace(new, **kept, edited=old.edited)


WORKER_LOST = "WORKER_LOST"  # the code of drafts whose runs took their workers with them


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftError:
    """Why a draft failed, for a person."""

    code: str
    detail: str
    retryable: bool
    failed_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """One row of the drafts table, and everything that decides about it."""

    id: str
    owner_id: str
    status: DraftStatus
    status_since: datetime  # when this status was entered
    created_at: datetime
    updated_at: datetime
    file_name: str | None = None  # as the user sent it
    skip_segmentation: bool = False
    generation: int = 1
    stage: Stage | None = None  # null while Uploading
    attempts: int = 0  # runs started in this generation, counted before any decoding
    last_chance: bool = False  # the generation after a WORKER_LOST has one attempt
    work: Work | None = None
    lease_id: str | None = None  # null once given back
    lease_expires_at: datetime | None = None
    retry_count: int = 0
    accept_requested: bool = False
    error: DraftError | None = None
    raw: RawPhoto | None = None
    pictures: Pictures | None = None  # what people see
    checkpoint: Pictures | None = None  # what the current work has made so far
    use: ImageUse = ImageUse.CUTOUT
    metadata: Metadata | None = None
    analysis: Metadata | None = None  # of the current work, until it is finished
    warnings: tuple[Caution, ...] = ()
    cautions: tuple[Caution, ...] = ()  # of the current work, until it is finished
    expires_at: datetime | None = None
    revision: int = 1  # counts visible changes only, never lease or heartbeat
    events: int = 0  # events written so far
    unsent_since: int | None = None  # the first event that was not sent out yet
    leftovers: bool = False  # blobs of earlier runs may still lie under this draft's prefix
    deleted_at: datetime | None = None  # a tombstone
    due_at: datetime | None = None  # the entry in the due index that this row names
    due_etag: str | None = None  # and that entry's ETag
    write_id: str = ""  # of the last write: tells a lost answer from a lost race
    etag: str = ""  # of the row as read; empty for a draft that was never stored

    @property
    def owner_key(self) -> str:
        return owner_key(self.owner_id)

    def lease_live(self, now: datetime) -> bool:
        """Whether a run holds this draft at `now`."""
        return (
            self.lease_id is not None
            and self.lease_expires_at is not None
            and self.lease_expires_at > now
        )

    @property
    def segmentation(self) -> Segmentation | None:
        """How the pictures that people see came about; of the running work before there are any."""
        shown = self.pictures or self.checkpoint
        return shown.segmentation if shown else None

    @property
    def unfinished(self) -> bool:
        """The outcome stands, but subscribers are not told yet or leftovers not removed."""
        settled = self.unsent_since is None and not self.leftovers
        return self.work is None and self.deleted_at is None and not settled

    @property
    def mark(self) -> datetime | None:
        """When somebody last attended to the wanted work: its message or its lease."""
        if self.work is None:
            return None
        if self.lease_expires_at is None:
            return self.work.queued_at
        return max(self.work.queued_at, self.lease_expires_at)

    def named_blobs(self) -> frozenset[str]:
        """Blobs of the images container that count; the row alone says so."""
        sets = (self.pictures, self.checkpoint)
        return frozenset(blob for pictures in sets if pictures for blob in pictures.blobs())


def stand_in(owner_id: str, draft_id: str, now: datetime, *, etag: str) -> Draft:
    """In the place of a row that cannot be read: its ids and its ETag, enough to delete it."""
    return Draft(
        id=draft_id,
        owner_id=owner_id,
        status=DraftStatus.FAILED,
        status_since=now,
        created_at=now,
        updated_at=now,
        etag=etag,
    )
