"""POST wardrobe/drafts: photos in, drafts out, each file judged by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.api.exchange import Answer, Request, answer
from shared.api.forms import MAX_FILES, Form, SentFile, read_form
from shared.api.intake import Photo, Wish, accept
from shared.api.views import AcceptedItem, AcceptedView, ErrorView, RejectedView
from shared.dependencies import Dependencies
from shared.domain.draft import Draft
from shared.domain.errors import BadImageError, RequestError
from shared.image_probe import probe
from shared.presenting import Links, present

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


def create_drafts(request: Request, deps: Dependencies) -> Answer:
    """202 with one item per file, in the order of the files."""
    form = read_form(request)
    judged = judge_all(form)
    wish = Wish(
        owner_id=request.owner_id,
        skip_segmentation=form.flag("skipSegmentation"),
        traceparent=request.traceparent,
    )
    accepted = accept(photos_of(judged), wish, deps)
    return _accepted(request, judged, accepted, deps)


def judge_all(form: Form) -> list[Judged]:
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


def photos_of(judged: Sequence[Judged]) -> list[Photo]:
    return [file for file in judged if isinstance(file, Photo)]


def _accepted(
    request: Request, judged: Sequence[Judged], accepted: Sequence[Draft], deps: Dependencies
) -> Answer:
    links, drafts = Links.at(deps.clock(), deps), iter(accepted)
    items: list[AcceptedItem] = [
        file.view() if isinstance(file, Refused) else present(next(drafts), links)
        for file in judged
    ]
    ids = ",".join(draft.id for draft in accepted)
    status_url = f"{request.base}/wardrobe/drafts/status?ids={ids}"
    view = AcceptedView(
        drafts=items, status_url=status_url, retry_after_seconds=RETRY_AFTER_SECONDS
    )
    return answer(202, view, location=status_url, retry_after=RETRY_AFTER_SECONDS)
