"""How long a person waits at most when workers die, whatever the phase of the repair's ticks.

The real host is killed by `python -m bench.promises`; here its clock is turned by hand.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from cleanup_abandoned_drafts.repair import REPAIR
from shared.domain.draft import DraftStatus
from shared.sending import message_for
from tests.fakehost import FakeHost, Killed
from tests.tiny import TINY_TOOLS, box_segmenter, tiny_photo

MINUTE = timedelta(minutes=1)
TICK = 5 * MINUTE
STEP = timedelta(seconds=5)

phases = pytest.mark.parametrize("phase", [n * MINUTE for n in range(5)], ids=str)
run_lengths = pytest.mark.parametrize("seconds", [5, 25])
hosts = pytest.mark.parametrize("instance_lost", [False, True], ids=["worker", "instance"])


def host_of(world, *, deaths, seconds, instance_lost):
    """A host on which the first runs die after some seconds, with or without their instance."""
    left = iter([True] * deaths)

    def segmenter(photo):
        if next(left, False):
            world.clock.pass_(seconds=seconds)
            raise Killed
        return box_segmenter(photo)

    tools = replace(TINY_TOOLS, segmenter=segmenter)
    return FakeHost(world, tools=lambda: tools, instance_lost=instance_lost)


def wait_until_final(world, host, draft, phase):
    """The draft's row, and how long that took."""
    start, tick = world.clock(), world.clock() + phase
    while world.row(draft).status is DraftStatus.PROCESSING and world.clock() < start + 60 * MINUTE:
        host.work_off()
        if world.clock() >= tick:
            host.fire(REPAIR)
            tick += TICK
        world.clock.pass_(seconds=STEP.total_seconds())
    return world.row(draft), world.clock() - start


def sent_photo(world):
    draft = world.add_photo(tiny_photo())
    world.jobs.send(message_for(draft).encode())
    return draft


@phases
@run_lengths
@hosts
def test_draft_of_one_lost_worker_is_ready_again_in_time(world, phase, seconds, instance_lost):
    """A dead worker's message comes back with the lease's end, a dead instance's ten minutes on."""
    host = host_of(world, deaths=1, seconds=seconds, instance_lost=instance_lost)
    row, waited = wait_until_final(world, host, sent_photo(world), phase)
    assert (row.status, row.attempts) == (DraftStatus.READY, 2)
    assert waited <= (10 if instance_lost else 2) * MINUTE


@phases
@run_lengths
@hosts
def test_photo_that_kills_every_worker_is_failed_in_time(world, phase, seconds, instance_lost):
    """Its lost runs are counted, and it goes to nobody a sixth time."""
    host = host_of(world, deaths=100, seconds=seconds, instance_lost=instance_lost)
    row, waited = wait_until_final(world, host, sent_photo(world), phase)
    assert (row.status, row.error.code) == (DraftStatus.FAILED, "WORKER_LOST")
    assert waited <= (30 if instance_lost else 5) * MINUTE


@phases
def test_draft_whose_message_was_never_sent_is_processed_in_time(world, phase):
    """The row wants a run, and the repair finds that no message speaks for it."""
    host = host_of(world, deaths=0, seconds=0, instance_lost=False)
    row, waited = wait_until_final(world, host, world.add_photo(tiny_photo()), phase)
    assert row.status is DraftStatus.READY
    assert waited <= 10 * MINUTE
