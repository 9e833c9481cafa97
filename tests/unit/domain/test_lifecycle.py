"""The state machine, walked whole."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.domain import lifecycle
from shared.domain.draft import (
    DraftError,
    DraftStatus,
    Metadata,
    Pictures,
    Stage,
    WorkReason,
)
from shared.domain.errors import IllegalTransitionError
from shared.domain.pictures import Caution, Color, Segmentation
from tests.factories import make_draft, make_work
from tests.fakes import NOW

LATER = NOW + timedelta(minutes=1)
LEASE = timedelta(seconds=30)
ALLOWED = {
    ("Uploading", "Processing"),
    ("Uploading", "Failed"),
    ("Processing", "Ready"),
    ("Processing", "Failed"),
    ("Processing", "Accepted"),
    ("Ready", "Accepted"),
    ("Failed", "Processing"),
}
MADE = Pictures(segmentation=Segmentation.APPLIED, mask="new/mask.png")
SHOWN = Pictures(segmentation=Segmentation.APPLIED, mask="old/mask.png")


def failure(code="ATTEMPTS_EXHAUSTED", retryable=True):
    return DraftError(code=code, detail="x", retryable=retryable, failed_at=LATER)


@pytest.mark.parametrize("start", DraftStatus)
@pytest.mark.parametrize("to", DraftStatus)
def test_status_moves_only_as_drawn(start, to):
    """The full cross product: what is not in the table raises."""
    draft = make_draft(status=start)
    if (start, to) in ALLOWED:
        moved = lifecycle.advance(draft, to, LATER)
        assert (moved.status, moved.status_since, moved.updated_at) == (to, LATER, LATER)
        assert moved.revision == draft.revision + 1
    else:
        with pytest.raises(IllegalTransitionError):
            lifecycle.advance(draft, to, LATER)


def test_status_of_a_tombstone_never_moves():
    """A draft that is being deleted has no next status."""
    with pytest.raises(IllegalTransitionError):
        lifecycle.advance(make_draft(deleted_at=NOW), DraftStatus.READY, LATER)


def test_lease_when_taken_counts_the_attempt_first():
    """A run is counted before any decoding."""
    leased = lifecycle.take_lease(make_draft(), "run", NOW, LEASE)
    assert (leased.attempts, leased.lease_id, leased.work.lost_runs) == (1, "run", 0)
    assert leased.lease_live(NOW + LEASE - timedelta(microseconds=1))
    assert not leased.lease_live(NOW + LEASE)


def test_lease_when_taken_over_counts_a_lost_run():
    """A lease that was never given back was lost with its worker."""
    dead = make_draft(attempts=1, lease_id="dead", lease_expires_at=NOW)
    assert lifecycle.take_lease(dead, "run", LATER, LEASE).work.lost_runs == 1


def test_lease_when_given_back_is_no_lost_run():
    """Giving back clears the id and ends the lease now."""
    leased = lifecycle.take_lease(make_draft(), "run", NOW, LEASE)
    free = lifecycle.give_back(leased, LATER)
    assert (free.lease_id, free.lease_expires_at) == (None, LATER)
    assert lifecycle.take_lease(free, "next", LATER, LEASE).work.lost_runs == 0


def test_stage_never_moves_back():
    """A checkpoint that is not ahead of the row is refused."""
    draft = make_draft(stage=Stage.RENDERED)
    assert lifecycle.reach(draft, Stage.ANALYZED, LATER).stage is Stage.ANALYZED
    for stage in (Stage.UPLOADED, Stage.SEGMENTED, Stage.RENDERED):
        with pytest.raises(IllegalTransitionError):
            lifecycle.reach(draft, stage, LATER)


def test_finish_shows_what_the_run_made():
    """Ready, lease given back, work gone, the checkpoint on display."""
    draft = make_draft(
        stage=Stage.ANALYZED,
        lease_id="run",
        checkpoint=MADE,
        analysis=Metadata(category="Dress", source="model"),
        cautions=(Caution.SMALL_SOURCE, Caution.SMALL_SOURCE),
    )
    done = lifecycle.finish(draft, LATER)
    assert (done.status, done.work, done.lease_id) == (DraftStatus.READY, None, None)
    assert (done.pictures, done.checkpoint) == (MADE, None)
    assert done.metadata.category == "Dress"
    assert done.warnings == (Caution.SMALL_SOURCE,)


def test_finish_when_acceptance_was_asked_for_is_accepted():
    """The write that would set Ready sets Accepted."""
    draft = make_draft(checkpoint=MADE, accept_requested=True)
    assert lifecycle.finish(draft, LATER).status is DraftStatus.ACCEPTED


def test_finish_keeps_what_a_person_has_set():
    """A later run never overwrites user values."""
    colors = (Color(name="Red", hex="#ff0000", share=1.0),)
    mine = Metadata(
        category="Skirt",
        title="Mine",
        source="user",
        needs_review=False,
        edited=frozenset({"category", "title"}),
    )
    draft = make_draft(
        status=DraftStatus.READY,
        work=make_work(reason=WorkReason.REPROCESS),
        checkpoint=MADE,
        metadata=mine,
        analysis=Metadata(category="Dress", title="Red dress", colors=colors, source="model"),
    )
    merged = lifecycle.finish(draft, LATER).metadata
    assert (merged.category, merged.title, merged.source) == ("Skirt", "Mine", "user")
    assert merged.colors == colors
    assert not merged.needs_review


@pytest.mark.parametrize("reason", [WorkReason.REPROCESS, WorkReason.DEGRADED])
def test_finish_without_a_provider_keeps_what_was_found_before(reason):
    """A run whose provider is away has nothing better to say; only the colours are new."""
    colors = (Color(name="Red", hex="#ff0000", share=1.0),)
    found = Metadata(category="Skirt", title="Red skirt", source="openai", needs_review=False)
    draft = make_draft(
        status=DraftStatus.READY,
        work=make_work(reason=reason),
        checkpoint=MADE,
        metadata=found,
        analysis=Metadata(colors=colors, source="none"),
        cautions=(Caution.METADATA_UNAVAILABLE,),
    )
    done = lifecycle.finish(draft, LATER)
    assert done.metadata == replace(found, colors=colors)
    assert done.warnings == (Caution.METADATA_UNAVAILABLE,)


@pytest.mark.parametrize("reason", [WorkReason.INITIAL, WorkReason.RETRY])
def test_fail_of_processing_says_why_and_keeps_the_checkpoint(reason):
    """A retryable failure leaves what the retry can go on from."""
    draft = make_draft(work=make_work(reason=reason), checkpoint=MADE, lease_id="run")
    failed = lifecycle.fail(draft, failure(), LATER)
    assert (failed.status, failed.work, failed.lease_id) == (DraftStatus.FAILED, None, None)
    assert failed.checkpoint == MADE
    assert failed.error == failure()


def test_fail_for_good_drops_the_checkpoint():
    """Nothing of a picture that can never be retried counts any more."""
    failed = lifecycle.fail(make_draft(checkpoint=MADE), failure(retryable=False), LATER)
    assert failed.named_blobs() == frozenset()


@pytest.mark.parametrize(
    ("reason", "warnings"),
    [(WorkReason.REPROCESS, (Caution.REPROCESS_FAILED,)), (WorkReason.DEGRADED, ())],
)
def test_fail_of_a_ready_draft_keeps_its_picture(reason, warnings):
    """A failed reprocess clears the work and warns; the status and the picture stay."""
    draft = make_draft(
        status=DraftStatus.READY,
        work=make_work(reason=reason),
        pictures=SHOWN,
        checkpoint=MADE,
        stage=Stage.RENDERED,
    )
    kept = lifecycle.fail(draft, failure(), LATER)
    assert (kept.status, kept.work, kept.error) == (DraftStatus.READY, None, None)
    assert (kept.pictures, kept.checkpoint, kept.stage) == (SHOWN, None, Stage.ANALYZED)
    assert kept.warnings == warnings


def test_retry_is_a_new_generation_from_the_checkpoint():
    """Generation and retry count move on, attempts start again, the error is cleared."""
    failed = lifecycle.fail(make_draft(attempts=5, checkpoint=MADE), failure(), LATER)
    again = lifecycle.retry(failed, LATER)
    assert (again.status, again.generation, again.attempts) == (DraftStatus.PROCESSING, 2, 0)
    assert (again.retry_count, again.error, again.checkpoint) == (1, None, MADE)
    assert (again.work.reason, again.last_chance) == (WorkReason.RETRY, False)


def test_retry_after_a_lost_worker_has_one_attempt():
    """The generation after a WORKER_LOST is a last chance."""
    failed = lifecycle.fail(make_draft(attempts=5), failure("WORKER_LOST"), LATER)
    assert lifecycle.retry(failed, LATER).last_chance


@pytest.mark.parametrize(
    ("first", "stage", "checkpoint"),
    [(Stage.SEGMENTED, Stage.UPLOADED, None), (Stage.ANALYZED, Stage.RENDERED, SHOWN)],
)
def test_reprocess_starts_at_the_stage_asked_for(first, stage, checkpoint):
    """What is shown stays until the new picture is done."""
    ready = make_draft(
        status=DraftStatus.READY, work=None, stage=Stage.ANALYZED, pictures=SHOWN, attempts=3
    )
    again = lifecycle.reprocess(ready, first, WorkReason.REPROCESS, LATER)
    assert (again.status, again.generation, again.attempts) == (DraftStatus.READY, 2, 0)
    assert (again.stage, again.checkpoint, again.pictures) == (stage, checkpoint, SHOWN)


@pytest.mark.parametrize(("attempts", "left"), [(0, False), (1, True)])
def test_reprocess_in_place_of_another_keeps_in_mind_what_its_runs_wrote(attempts, left):
    """The new generation has no attempts yet, but blobs may lie under this draft all the same."""
    ready = make_draft(
        status=DraftStatus.READY,
        work=make_work(reason=WorkReason.REPROCESS),
        pictures=SHOWN,
        attempts=attempts,
    )
    again = lifecycle.reprocess(ready, Stage.SEGMENTED, WorkReason.REPROCESS, LATER)
    assert lifecycle.forget_work(again).leftovers is left


def test_forgotten_work_leaves_the_picture():
    """Accepting while work of a Ready draft is set clears the work."""
    ready = make_draft(
        status=DraftStatus.READY,
        work=make_work(reason=WorkReason.DEGRADED),
        pictures=SHOWN,
        checkpoint=MADE,
        lease_id="run",
        stage=Stage.SEGMENTED,
    )
    calm = lifecycle.forget_work(ready)
    assert (calm.work, calm.lease_id, calm.checkpoint) == (None, None, None)
    assert (calm.pictures, calm.stage) == (SHOWN, Stage.ANALYZED)


def test_mark_is_the_later_of_message_and_lease():
    """Who attended to the work last: its message or its run."""
    queued = make_draft(work=make_work(queued_at=NOW))
    assert queued.mark == NOW
    assert replace(queued, lease_expires_at=LATER).mark == LATER
    assert replace(queued, lease_expires_at=NOW - LEASE).mark == NOW
    assert replace(queued, work=None).mark is None
