"""POST wardrobe/drafts: photos in, drafts out, each file judged by itself."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from shared.api.exchange import Answer, Request, answer
from shared.api.forms import MAX_FILES, Form, SentFile, read_form, require_length
from shared.api.idempotency_key import begin, give_back
from shared.api.intake import Photo, UploadOptions, accept
from shared.api.limiting import limit_uploads
from shared.api.presenting import Links, present
from shared.api.views import AcceptedItem, AcceptedView, ErrorView, NotFoundView, RejectedView
from shared.api.waiting import Pause, RunHere, accept_and_wait
from shared.dependencies import Dependencies
from shared.domain.draft import Draft
from shared.domain.errors import BadImageError, RequestError, StorageUnavailableError
from shared.image_probe import probe
from shared.records.idempotency import AlreadyDone, Begun

RETRY_AFTER_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that can never become a draft."""

    name: str | None
    error: BadImageError

    def view(self) -> RejectedView:
        error = ErrorView(code=self.error.code, detail=self.error.detail, retryable=False)
        return RejectedView(file_name=self.name, error=error)


type Judged = Photo | Refused
type Accepted = Mapping[str, Draft | None]  # by id; None for one that was deleted since


class Take(Protocol):
    """`accept`, or the same with waiting until the drafts are finished."""

    def __call__(
        self,
        photos: Sequence[Photo],
        options: UploadOptions,
        deps: Dependencies,
        *,
        key: Begun | None = None,
    ) -> list[Draft]: ...


def create_drafts(
    request: Request, deps: Dependencies, *, run: RunHere, pause: Pause = time.sleep
) -> Answer:
    """202 with one item per file, in the order of the files.

    Where `IMAGE_ASYNC_ENABLED` is false the items are finished, as far as 60 s allow.
    """
    require_length(request)
    limit_uploads(request, deps)
    form = read_form(request)
    judged = _judge_all(form)
    photos = [file for file in judged if isinstance(file, Photo)]
    inline = partial(accept_and_wait, run=run, pause=pause)
    take = accept if deps.settings.image_async_enabled else inline
    accepted = take_in(request, form, photos, deps, source="upload", take=take)
    return _answer(request, judged, accepted, deps)


def _judge_all(form: Form) -> list[Judged]:
    """A verdict on each file. Raises RequestError where there is nothing to accept.

    The refusal of a raw body is its own answer (BadImageError).
    """
    if len(form.files) > MAX_FILES:
        raise RequestError(422, "TOO_MANY_FILES", f"Send at most {MAX_FILES} files at once.")
    judged = [judge(file) for file in form.files]
    refused = [file for file in judged if isinstance(file, Refused)]
    if form.raw and refused:
        raise refused[0].error
    if len(refused) == len(judged):
        items = [file.view().model_dump(mode="json", by_alias=True) for file in refused]
        detail = "None of the files can be used." if items else "The request holds no file."
        raise RequestError(422, "NO_FILE_ACCEPTED", detail, extra={"drafts": items})
    return judged


def judge(file: SentFile) -> Judged:
    """By its bytes alone; the name and the content type that came with it do not count."""
    try:
        return Photo(name=file.name, data=file.data, probe=probe(file.data))
    except BadImageError as error:
        return Refused(file.name, error)


def take_in(
    request: Request,
    form: Form,
    photos: Sequence[Photo],
    deps: Dependencies,
    *,
    source: str,
    take: Take,
) -> Accepted:
    """Drafts for the photos by `take`, once per Idempotency-Key."""
    options = UploadOptions(
        owner_id=request.owner_id,
        skip_segmentation=form.flag("skipSegmentation"),
        source=source,
        traceparent=request.traceparent,
    )
    key = begin(request, form, deps, skip_segmentation=options.skip_segmentation)
    if isinstance(key, AlreadyDone):
        found = deps.store.find_many(request.owner_id, key.draft_ids)
        return {draft_id: found.get(draft_id) for draft_id in key.draft_ids}
    try:
        return {draft.id: draft for draft in take(photos, options, deps, key=key)}
    except StorageUnavailableError:
        if key:
            give_back(key, deps)
        raise


def _answer(
    request: Request, judged: Sequence[Judged], accepted: Accepted, deps: Dependencies
) -> Answer:
    status_url = f"{request.base}/wardrobe/drafts/status?ids={','.join(accepted)}"
    links = Links.at(deps.clock(), deps)
    view = AcceptedView(
        drafts=_items(judged, accepted, links),
        status_url=status_url,
        retry_after_seconds=RETRY_AFTER_SECONDS,
    )
    return answer(202, view, location=status_url, retry_after=RETRY_AFTER_SECONDS)


def _items(judged: Sequence[Judged], accepted: Accepted, links: Links) -> list[AcceptedItem]:
    """The verdicts in the order of the files; each photo is the next of the accepted ids."""
    drafts = iter(accepted.items())
    items: list[AcceptedItem] = []
    for file in judged:
        if isinstance(file, Refused):
            items.append(file.view())
        elif (pair := next(drafts, None)) is not None:
            draft_id, draft = pair
            items.append(present(draft, links) if draft else NotFoundView(id=draft_id))
    return items
