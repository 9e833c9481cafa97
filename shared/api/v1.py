"""POST v1/wardrobe/images: the synchronous contract of installed apps, on the same drafts."""

from __future__ import annotations

import time
from functools import partial

from shared.api.accepting import RETRY_AFTER_SECONDS, Refused, judge, take_in
from shared.api.exchange import Answer, Request, answer
from shared.api.forms import Form, SentFile, read_form, require_length
from shared.api.intake import Photo
from shared.api.limiting import limit_uploads
from shared.api.presenting import Links, present
from shared.api.views import ImageV1View
from shared.api.waiting import Pause, RunHere, accept_and_wait, watch
from shared.dependencies import Dependencies
from shared.domain.draft import Draft, DraftStatus
from shared.domain.errors import RequestError


def create_image_v1(
    request: Request, deps: Dependencies, *, run: RunHere, pause: Pause = time.sleep
) -> Answer:
    """200 with the finished draft. Raises RequestError: 422 for a bad photo, 503, or 504."""
    start = deps.clock()
    require_length(request)
    limit_uploads(request, deps)
    form = read_form(request)
    photo = _judged(one_file(form))
    take = partial(accept_and_wait, run=run, pause=pause)
    accepted = take_in(request, form, [photo], deps, source="v1", take=take)
    [draft] = accepted.values()
    if draft is None:
        raise RequestError(404, "NOT_FOUND", "The draft of this request was deleted since.")
    [finished] = watch([draft], deps, since=start, pause=pause)  # a repeated request waits too
    return _answer(request, finished, deps)


def one_file(form: Form) -> SentFile:
    """The only file of a form. Raises RequestError (422)."""
    if not form.files:
        raise RequestError(422, "NO_FILE_ACCEPTED", "The request holds no file.")
    if len(form.files) > 1:
        raise RequestError(422, "TOO_MANY_FILES", "Send one file.")
    return form.files[0]


def _judged(file: SentFile) -> Photo:
    """Installed apps know 422 alone for a bad photo."""
    judged = judge(file)
    if isinstance(judged, Refused):
        raise RequestError(422, judged.error.code, judged.error.detail)
    return judged


def _answer(request: Request, draft: Draft, deps: Dependencies) -> Answer:
    address = f"{request.base}/wardrobe/drafts"
    if draft.status is DraftStatus.PROCESSING:
        status_url = f"{address}/status?ids={draft.id}"
        raise RequestError(
            504,
            "STILL_PROCESSING",
            "The photo is still being processed. Its draft goes on: ask for its status.",
            retryable=True,
            retry_after=RETRY_AFTER_SECONDS,
            extra={"draftId": draft.id, "statusUrl": status_url},
        )
    if draft.error is not None:
        status = 503 if draft.error.retryable else 422
        raise RequestError(
            status,
            draft.error.code,
            draft.error.detail,
            retryable=draft.error.retryable,
            extra={"draftId": draft.id},
        )
    shown = present(draft, Links.at(deps.clock(), deps))
    view = ImageV1View(**dict(shown), cdn_url=f"{address}/{draft.id}/image/display")
    return answer(200, view)
