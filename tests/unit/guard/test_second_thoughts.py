"""The worker where something is away, late, or decided meanwhile: what still becomes of a draft."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from cleanup_abandoned_drafts.repair import REPAIR
from process_image_job.handler import process_image_job
from process_image_job.namers.port import unnamed
from shared.domain.draft import DraftStatus, Stage, WorkReason
from shared.domain.edits import ask_acceptance
from shared.domain.errors import JobTimeLimitError, ProcessorUnavailableError
from shared.domain.events import EventType
from shared.domain.lifecycle import reprocess
from shared.domain.pictures import Caution, Segmentation
from shared.failing import exhausted_error
from shared.jobs import Tick, run
from shared.sending import message_for
from shared.settings import Settings
from tests.factories import make_draft, make_work, make_world
from tests.fakehost import FakeHost, Killed
from tests.fakes import NOW
from tests.invariants import check_settled
from tests.tiny import TINY_TOOLS, box_segmenter, tiny_photo, tiny_tools
from tests.unit.api.calling import Caller
from tests.unit.api.failing import at

QUARTER = timedelta(minutes=15)


def deliver(world, draft, *, tools=tiny_tools, **message):
    body = replace(message_for(draft), **message).encode().encode()
    process_image_job(body, dequeue_count=1, deps=world.deps, tools=tools)


def away():
    """Tools whose remote processor does not answer."""

    def segmenter(photo):
        raise ProcessorUnavailableError

    return replace(TINY_TOOLS, segmenter=segmenter)


def degraded(world):
    """A draft that is Ready with the local cut-out, and wants another try by the processor."""
    draft = world.add_photo(tiny_photo(), attempts=4, lease_expires_at=world.clock())
    deliver(world, draft, tools=away)
    return world.row(draft)


def types(world, draft):
    return [event.type for event in world.deps.store.events_of(draft)]


def test_degraded_draft_is_tried_three_times_a_quarter_of_an_hour_apart(world):
    """Each message is done with its try; after the last the draft stays as it is."""
    shown = degraded(world)
    for tries in (1, 2):
        world.clock.pass_(minutes=15)
        deliver(world, shown, tools=away)
        row = world.row(shown)
        assert (row.attempts, row.lease_id) == (tries, None)
        assert row.work.queued_at == world.clock() + QUARTER
    world.clock.pass_(minutes=15)
    deliver(world, shown, tools=away)
    row = world.row(shown)
    assert [delay for _, delay in world.jobs.sent] == [QUARTER] * 3
    assert (row.status, row.work, row.pictures) == (DraftStatus.READY, None, shown.pictures)
    assert row.pictures.segmentation is Segmentation.DEGRADED
    assert Caution.REPROCESS_FAILED not in row.warnings
    check_settled(world)


def test_degraded_draft_is_mended_when_the_processor_is_back(world):
    """The picture is replaced, the warning goes, and no further try is wanted."""
    shown = degraded(world)
    world.clock.pass_(minutes=15)
    deliver(world, shown)
    row = world.row(shown)
    assert (row.pictures.segmentation, row.work) == (Segmentation.APPLIED, None)
    assert Caution.SEGMENTATION_DEGRADED in shown.warnings
    assert Caution.SEGMENTATION_DEGRADED not in row.warnings
    check_settled(world)


def test_acceptance_asked_for_of_a_degraded_draft_wants_no_later_run(world):
    """Ready and Accepted in one write; the picture of an accepted draft is never replaced."""
    draft = world.add_photo(tiny_photo(), attempts=4, lease_expires_at=world.clock())
    asked = world.deps.store.save(draft, ask_acceptance(draft, NOW), now=NOW)
    deliver(world, asked, tools=away)
    row = world.row(draft)
    assert (row.status, row.work, world.jobs.sent) == (DraftStatus.ACCEPTED, None, [])
    assert types(world, draft)[-2:] == [EventType.READY, EventType.ACCEPTED]


def test_acceptance_asked_for_while_the_run_works_ends_in_accepted(world):
    """The write that would set Ready sees the wish that came meanwhile."""
    draft = world.add_photo(tiny_photo())

    def segmenter(photo):
        row = world.row(draft)
        world.deps.store.save(row, ask_acceptance(row, NOW), now=NOW)
        return box_segmenter(photo)

    deliver(world, draft, tools=lambda: replace(TINY_TOOLS, segmenter=segmenter))
    assert world.row(draft).status is DraftStatus.ACCEPTED
    assert types(world, draft)[-2:] == [EventType.READY, EventType.ACCEPTED]


def test_reprocess_that_is_done_leaves_no_blob_of_before(world):
    """The writer of Ready deletes what the row no longer names."""
    draft = world.add_photo(tiny_photo())
    deliver(world, draft)
    row = world.row(draft)
    again = reprocess(row, Stage.SEGMENTED, WorkReason.REPROCESS, NOW)
    deliver(world, world.deps.store.save(row, again, now=NOW))
    assert world.images.stored.keys() == world.row(draft).named_blobs()
    assert {name.split("/")[2] for name in world.images.stored} == {"2-1"}


@pytest.mark.parametrize(("photo", "told"), [(tiny_photo(), "ready"), (b"no photo", "failed")])
def test_outcome_is_told_to_subscribers_at_once(photo, told):
    """By the run itself, not only by the next repair."""
    world = make_world(settings=Settings(auth_mode="local", events_queue_enabled=True))
    draft = world.add_photo(photo)
    deliver(world, draft)
    assert [json.loads(text)["type"] for text, _ in world.deps.events.sent] == [
        f"fitting-room.draft.{told}"
    ]
    assert world.row(draft).unsent_since is None


def test_run_past_its_time_limit_gives_the_lease_back(world):
    """It ends at its next checkpoint, and another run may start at once."""
    draft = world.add_photo(tiny_photo())

    def slow(photo):
        world.clock.pass_(seconds=120)
        return box_segmenter(photo)

    with pytest.raises(JobTimeLimitError):
        deliver(world, draft, tools=lambda: replace(TINY_TOOLS, segmenter=slow))
    row = world.row(draft)
    assert (row.stage, row.attempts, row.lease_id) == (Stage.UPLOADED, 1, None)
    assert row.lease_expires_at == world.clock()


def test_reprocess_of_the_analysis_takes_back_what_it_has_mended(world):
    """The provider is back: its warning goes, and so does that of a reprocess that failed."""

    def unreachable(photo, cut_out, colors, *, last):
        return unnamed(colors, Caution.METADATA_UNAVAILABLE)

    draft = world.add_photo(tiny_photo())
    deliver(world, draft, tools=lambda: replace(TINY_TOOLS, name=unreachable))
    row = world.row(draft)
    assert Caution.METADATA_UNAVAILABLE in row.warnings
    warned = replace(row, warnings=(*row.warnings, Caution.REPROCESS_FAILED))
    again = reprocess(warned, Stage.ANALYZED, WorkReason.REPROCESS, NOW)
    deliver(world, world.deps.store.save(row, again, now=NOW))
    row = world.row(draft)
    assert row.metadata.category == "Shirt"
    assert row.warnings == (Caution.SMALL_SOURCE,)


def test_message_that_asks_for_no_cut_out_gets_none(world):
    """Another producer's wish stands in its message, not on the row."""
    draft = world.add_photo(tiny_photo())
    deliver(world, draft, tools=away, skip_segmentation=True)
    row = world.row(draft)
    assert (row.pictures.segmentation, row.pictures.mask) == (Segmentation.SKIPPED, None)


@pytest.mark.parametrize(
    ("attempts", "lost", "code"), [(4, 2, "ATTEMPTS_EXHAUSTED"), (4, 3, "WORKER_LOST")]
)
def test_worker_counts_as_lost_where_more_than_half_of_the_runs_were(attempts, lost, code):
    """Half of them is not more than half."""
    draft = make_draft(attempts=attempts, work=make_work(lost_runs=lost))
    assert exhausted_error(draft, NOW).code == code


def shown(world):
    """A Ready draft whose picture a run is to replace; its message waits."""
    draft = world.add_photo(tiny_photo())
    deliver(world, draft)
    Caller(world).ask("reprocess_draft", draft)
    return draft


def test_acceptance_after_two_reprocesses_leaves_no_blob_of_either(world):
    """The first one's run broke off between two blobs, the second one's never began."""
    draft = shown(world)
    world.faults.before = at("images.put", skip=1)
    FakeHost(world).deliver()
    world.faults.before = lambda call: None
    Caller(world).ask("reprocess_draft", draft)
    Caller(world).ask("accept_draft", draft)
    world.clock.pass_(minutes=5)
    run(REPAIR, Tick(), world.deps)
    check_settled(world)


def test_acceptance_that_meets_a_run_leaves_no_blob_of_it(world):
    """It stores one more, and is killed before it can learn that nobody wants it."""
    draft = shown(world)

    def accepted(call):
        if call == "images.put":
            world.faults.before = lambda call: None
            assert Caller(world).ask("accept_draft", draft).status == 200
            world.faults.after = killed

    def killed(call):
        world.faults.after = lambda call: None
        raise Killed

    world.faults.before = accepted
    host = FakeHost(world)
    host.deliver()
    world.clock.pass_(minutes=5)
    host.work_off()
    run(REPAIR, Tick(), world.deps)
    assert world.row(draft).status is DraftStatus.ACCEPTED
    check_settled(world)
