"""What an earlier run has stored can be gone or damaged; the photo is still there."""

import json
from dataclasses import replace

import pytest

from process_image_job.handler import process_image_job
from shared.domain.draft import DraftStatus, Stage, WorkReason
from shared.domain.errors import StorageUnavailableError
from shared.domain.lifecycle import reprocess
from shared.sending import message_for
from tests.invariants import check_settled
from tests.tiny import TINY_TOOLS, tiny_photo

ENDLESS = b"P5 99999 99999 255\n"  # a grey picture's header with sides that OpenCV throws at
SPOILT = {
    "gone": lambda images, mask: images.delete(mask),
    "empty": lambda images, mask: images.put(mask, b"", content_type="image/png"),
    "no picture": lambda images, mask: images.put(mask, b"nothing", content_type="image/png"),
    "too large": lambda images, mask: images.put(mask, ENDLESS, content_type="image/png"),
}


def deliver(world, draft, **tools):
    process_image_job(
        message_for(draft).encode().encode(),
        dequeue_count=1,
        deps=world.deps,
        tools=lambda: replace(TINY_TOOLS, **tools),
    )


def run_to(world, stage):
    """A draft whose first run broke off after that stage."""
    puts = {Stage.SEGMENTED: 2, Stage.RENDERED: 100}[stage]
    seen = iter(range(1, 1000))

    def before(call):
        if call == "images.put" and next(seen) == puts:
            raise StorageUnavailableError

    def unnamed(photo, cut_out, colors, *, last):
        raise StorageUnavailableError

    draft = world.add_photo(tiny_photo())
    world.faults.before = before
    with pytest.raises(StorageUnavailableError):
        deliver(world, draft, name=unnamed)
    world.faults.before = lambda call: None
    assert world.row(draft).stage is stage
    return world.row(draft)


@pytest.mark.parametrize("stage", [Stage.SEGMENTED, Stage.RENDERED])
@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_lost_mask_of_an_earlier_run_is_made_again(world, caplog, spoil, stage):
    """The next run starts over from the photo, and says so; no attempt is spent on it."""
    caplog.set_level("INFO", logger="fitting_room")
    draft = run_to(world, stage)
    spoil(world.images, draft.checkpoint.mask)
    deliver(world, draft)
    row = world.row(draft)
    assert (row.status, row.attempts) == (DraftStatus.READY, 2)
    assert {name.split("/")[2] for name in row.named_blobs()} == {"1-2"}
    lines = [json.loads(record.message) for record in caplog.records]
    [told] = [line for line in lines if line["event"] == "checkpoint_lost"]
    assert (told["draftId"], told["stage"]) == (draft.id, stage)
    check_settled(world)


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_reprocess_of_the_analysis_without_its_mask_makes_the_pictures_again(world, spoil):
    """What is shown stays until the new pictures are there; then all are of one run."""
    draft = world.add_photo(tiny_photo())
    deliver(world, draft)
    shown = world.row(draft)
    spoil(world.images, shown.pictures.mask)
    again = reprocess(shown, Stage.ANALYZED, WorkReason.REPROCESS, world.clock())
    row = world.deps.store.save(shown, again, now=world.clock())

    def name(photo, cut_out, colors, *, last):
        assert world.row(row).pictures == shown.pictures
        return TINY_TOOLS.name(photo, cut_out, colors, last=last)

    deliver(world, row, name=name)
    done = world.row(row)
    assert (done.status, done.work) == (DraftStatus.READY, None)
    assert {name.split("/")[2] for name in done.named_blobs()} == {"2-1"}
    check_settled(world)
