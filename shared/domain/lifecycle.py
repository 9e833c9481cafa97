"""The state machine: which status may follow which, and every change a draft can go through.

Each function takes a draft and returns the changed one; none of them stores anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from shared.domain.draft import (
    WORKER_LOST,
    Draft,
    DraftError,
    DraftStatus,
    RawPhoto,
    Stage,
    Work,
    WorkReason,
)
from shared.domain.errors import IllegalTransitionError
from shared.domain.pictures import Caution

TRANSITIONS: dict[DraftStatus, frozenset[DraftStatus]] = {
    DraftStatus.UPLOADING: frozenset({DraftStatus.PROCESSING, DraftStatus.FAILED}),
    DraftStatus.PROCESSING: frozenset(
        {DraftStatus.READY, DraftStatus.FAILED, DraftStatus.ACCEPTED}
    ),
    DraftStatus.READY: frozenset({DraftStatus.ACCEPTED}),
    DraftStatus.FAILED: frozenset({DraftStatus.PROCESSING}),
    DraftStatus.ACCEPTED: frozenset(),
}

NO_DELAY = timedelta(0)
_STATUS_WORK = frozenset({WorkReason.INITIAL, WorkReason.RETRY})
# What another analysis says anew, or has mended; the rest is about the picture, which stays.
_OF_THE_ANALYSIS = frozenset(
    {Caution.CATEGORY_NOT_ALLOWED, Caution.METADATA_UNAVAILABLE, Caution.REPROCESS_FAILED}
)


def advance(draft: Draft, to: DraftStatus, now: datetime) -> Draft:
    """The only door to another status. Raises IllegalTransitionError."""
    if to not in TRANSITIONS[draft.status] or draft.deleted_at is not None:
        raise IllegalTransitionError(f"{draft.status} cannot become {to}")
    return visible(replace(draft, status=to, status_since=now), now)


def visible(draft: Draft, now: datetime) -> Draft:
    """A change that clients see: the revision, and with it the API's ETag, moves on."""
    return replace(draft, updated_at=now, revision=draft.revision + 1)


def want(
    draft: Draft,
    reason: WorkReason,
    now: datetime,
    *,
    delay: timedelta = NO_DELAY,
    traceparent: str = "",
) -> Draft:
    """Ask for a run. A message has to follow; until then the repair knows of it."""
    work = Work(reason=reason, started_at=now, queued_at=now + delay, traceparent=traceparent)
    dropped = draft.work is not None and draft.attempts > 0  # runs that wrote what nobody names
    return replace(
        draft,
        work=work,
        attempts=0,
        lease_id=None,
        lease_expires_at=None,
        leftovers=draft.leftovers or dropped,
    )


def submit(draft: Draft, raw: RawPhoto, now: datetime, *, traceparent: str = "") -> Draft:
    """The photo of an Uploading draft is complete: its first run is wanted."""
    ready = replace(draft, raw=raw, stage=Stage.UPLOADED)
    wanted = want(ready, WorkReason.INITIAL, now, traceparent=traceparent)
    return advance(wanted, DraftStatus.PROCESSING, now)


def take_lease(draft: Draft, lease_id: str, now: datetime, lease: timedelta) -> Draft:
    """Start a run: counted before any decoding; an old lease never given back is a lost run."""
    assert draft.work is not None
    lost = draft.work.lost_runs + (1 if draft.lease_id is not None else 0)
    return replace(
        draft,
        attempts=draft.attempts + 1,
        work=replace(draft.work, lost_runs=lost),
        lease_id=lease_id,
        lease_expires_at=now + lease,
        revision=draft.revision + 1,  # attempts are visible
        updated_at=now,
    )


def renew_lease(draft: Draft, now: datetime, lease: timedelta) -> Draft:
    return replace(draft, lease_expires_at=now + lease)


def give_back(draft: Draft, now: datetime) -> Draft:
    """End a run without an outcome; the message comes back and another run goes on."""
    return replace(draft, lease_id=None, lease_expires_at=now)


def reach(draft: Draft, stage: Stage, now: datetime, **changes: object) -> Draft:
    """A checkpoint. Raises IllegalTransitionError when the stage would not move forward."""
    if draft.stage is None or stage.order <= draft.stage.order:
        raise IllegalTransitionError(f"stage {draft.stage} cannot become {stage}")
    return visible(replace(draft, stage=stage, **changes), now)  # type: ignore[arg-type]


def start_over(draft: Draft, now: datetime) -> Draft:
    """Back to the photo: the checkpoint is lost. Pictures that are shown stay until others are."""
    return visible(
        replace(draft, stage=Stage.UPLOADED, checkpoint=None, analysis=None, cautions=()), now
    )


def finish(draft: Draft, now: datetime) -> Draft:
    """The last stage is done: Ready, or Accepted where that was asked for meanwhile."""
    assert draft.work is not None
    assert draft.checkpoint is not None
    done = replace(
        give_back(draft, now),
        work=None,
        error=None,
        last_chance=False,
        warnings=_merged(draft.cautions),
        cautions=(),
        analysis=None,
        metadata=draft.analysis.under(draft.metadata) if draft.analysis else draft.metadata,
        pictures=draft.checkpoint,
        checkpoint=None,
        leftovers=draft.leftovers or draft.attempts > 1 or draft.generation > 1,
    )
    if draft.work.reason not in _STATUS_WORK:
        return visible(done, now)
    ready = advance(done, DraftStatus.READY, now)
    if not draft.accept_requested:
        return ready
    return advance(ready, DraftStatus.ACCEPTED, now)


def fail(draft: Draft, error: DraftError, now: datetime) -> Draft:
    """Permanent error or the end of the attempts. A failed reprocess keeps what was there."""
    over = replace(
        give_back(draft, now), work=None, leftovers=draft.leftovers or draft.attempts > 0
    )
    if draft.work is not None and draft.work.reason not in _STATUS_WORK:
        asked = draft.work.reason is WorkReason.REPROCESS
        warnings = _merged((*draft.warnings, *([Caution.REPROCESS_FAILED] if asked else ())))
        kept = replace(
            over,
            checkpoint=None,
            analysis=None,
            cautions=(),
            warnings=warnings,
            stage=Stage.ANALYZED,
        )
        return visible(kept, now)
    left = draft.checkpoint if error.retryable else None
    return advance(replace(over, error=error, checkpoint=left), DraftStatus.FAILED, now)


def retry(draft: Draft, now: datetime, *, traceparent: str = "") -> Draft:
    """Failed once more into Processing: a new generation from the checkpoint that is left."""
    assert draft.error is not None
    again = replace(
        want(draft, WorkReason.RETRY, now, traceparent=traceparent),
        generation=draft.generation + 1,
        retry_count=draft.retry_count + 1,
        last_chance=draft.error.code == WORKER_LOST,
        error=None,
    )
    return advance(again, DraftStatus.PROCESSING, now)


def reprocess(
    draft: Draft,
    first: Stage,
    reason: WorkReason,
    now: datetime,
    *,
    delay: timedelta = NO_DELAY,
    traceparent: str = "",
) -> Draft:
    """Another run for a Ready draft from `first` on; what is shown stays until it is done."""
    keep = first is Stage.ANALYZED
    again = replace(
        want(draft, reason, now, delay=delay, traceparent=traceparent),
        generation=draft.generation + 1,
        stage=Stage.RENDERED if keep else Stage.UPLOADED,
        checkpoint=draft.pictures if keep else None,
        cautions=_without(draft.warnings, _OF_THE_ANALYSIS) if keep else (),
        analysis=None,
        last_chance=False,
    )
    return visible(again, now)


def forget_work(draft: Draft) -> Draft:
    """Drop a run that is no longer wanted; a run under way finds its lease gone."""
    return replace(
        draft,
        work=None,
        lease_id=None,
        lease_expires_at=None,
        checkpoint=None,
        analysis=None,
        cautions=(),
        stage=Stage.ANALYZED if draft.pictures else draft.stage,
        leftovers=draft.leftovers or draft.attempts > 0,
    )


def postpone(draft: Draft, now: datetime, delay: timedelta) -> Draft:
    """End a run without an outcome, and want the next one only after a while."""
    assert draft.work is not None
    work = replace(draft.work, queued_at=now + delay)
    return replace(give_back(draft, now), work=work)


def resend(draft: Draft, now: datetime) -> Draft:
    """The message is sent again; nobody else does so until it is unattended once more."""
    assert draft.work is not None
    work = replace(draft.work, queued_at=now, resends=draft.work.resends + 1)
    return replace(draft, work=work)


def bury(draft: Draft, now: datetime) -> Draft:
    """A tombstone: 404 in the API, missing for the worker, gone when its blobs are."""
    return replace(draft, deleted_at=now, work=None, lease_id=None, unsent_since=None)


def _merged(cautions: Iterable[Caution]) -> tuple[Caution, ...]:
    return tuple(dict.fromkeys(cautions))


def _without(cautions: Iterable[Caution], mended: frozenset[Caution]) -> tuple[Caution, ...]:
    return tuple(caution for caution in cautions if caution not in mended)
