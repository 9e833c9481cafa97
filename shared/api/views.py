"""What the API shows, as it shows it: the models of every answer and of its description."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from shared.domain.draft import DraftStatus, ImageUse, Stage
from shared.domain.events import EventType
from shared.domain.pictures import Caution, Segmentation


class View(BaseModel):
    """Camel case outside, never changed once made."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class ErrorView(View):
    """Why something failed, for a person."""

    code: str
    detail: str
    retryable: bool


class DraftErrorView(ErrorView):
    """Why a draft is Failed."""

    failed_at: datetime


class ImageView(View):
    """The set of pictures that `use` names. Links are stable within the hour and then renewed."""

    use: ImageUse
    archive_url: str | None = Field(description="Longest side 2048 px; null for `original`.")
    display_url: str
    thumb_url: str
    original_url: str = Field(description="The untouched upload, served as an attachment.")
    width: int = Field(description="Pixels of the largest picture of the set.")
    height: int
    blur_hash: str | None


class ColorView(View):
    """One colour of the garment."""

    name: str
    hex: str = Field(pattern="^#[0-9a-f]{6}$")
    share: float = Field(ge=0, le=1)


class MetadataView(View):
    """What the item is."""

    category: str
    category_confidence: float | None
    colors: list[ColorView]
    title: str | None
    notes: str | None
    needs_review: bool
    source: str = Field(description="`model`, `openai`, `user` or `none`.")


class DraftView(View):
    """One photo on its way to a wardrobe item."""

    id: str
    status: DraftStatus
    stage: Stage | None
    generation: int
    attempts: int
    retry_count: int
    skip_segmentation: bool
    segmentation: Segmentation | None
    accept_requested: bool
    file_name: str | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    revision: int
    error: DraftErrorView | None
    image: ImageView | None
    metadata: MetadataView | None
    warnings: list[Caution]


class RejectedView(View):
    """A file that was refused; nothing of it is kept."""

    status: Literal["Rejected"] = "Rejected"
    file_name: str | None
    error: ErrorView


class NotFoundView(View):
    """An id that the caller has no draft under."""

    id: str
    status: Literal["NotFound"] = "NotFound"


type AcceptedItem = DraftView | RejectedView | NotFoundView
type StatusItem = DraftView | NotFoundView


class AcceptedView(View):
    """What became of each file of an upload, in the order of the files."""

    drafts: list[AcceptedItem]
    status_url: str
    retry_after_seconds: int


class StatusView(View):
    """The drafts asked for, in that order; `retryAfterSeconds` is null when none is Processing."""

    drafts: list[StatusItem]
    retry_after_seconds: int | None


class PageView(View):
    """A piece of the owner's drafts, newest first; a short piece may still have a continuation."""

    drafts: list[DraftView]
    continuation: str | None


class EventView(View):
    """One thing that happened to a draft."""

    seq: int
    type: EventType
    at: datetime
    generation: int
    attempt: int
    data: dict[str, str | int | float | bool | None]


class EventsView(View):
    """The history of a draft, oldest first."""

    events: list[EventView]


class UploadView(View):
    """Where and how to send one photo directly to storage, and how to say that it is there."""

    draft_id: str
    upload_url: str
    method: Literal["PUT"] = "PUT"
    headers: dict[str, str] = Field(description="Send these along with the bytes.")
    expires_at: datetime
    submit_url: str


class ImageV1View(DraftView):
    """The draft, and the lasting address of its picture."""

    cdn_url: str


class FieldErrorView(View):
    """What is wrong with one field."""

    field: str
    detail: str


class ProblemView(View):
    """An error, by RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    errors: Annotated[list[FieldErrorView], Field(default_factory=list)]
