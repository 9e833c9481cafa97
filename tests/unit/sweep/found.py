"""Drafts and letters in the states that repair and cleanup find them in."""

from dataclasses import replace
from datetime import timedelta

from cleanup_abandoned_drafts.handler import CLEANUP
from shared.domain.draft import DraftError, DraftStatus
from shared.domain.ids import new_draft_id
from shared.failing import end_draft
from shared.records.deadletters import DeadLetter
from shared.records.jobruns import JobRuns
from shared.sending import message_for
from tests.factories import make_draft
from tests.fakes import NOW
from tests.tiny import tiny_photo

ERROR = DraftError(code="ATTEMPTS_EXHAUSTED", detail="x", retryable=True, failed_at=NOW)


def waiting(world, **changes):
    """A draft whose message is in the queue."""
    draft = world.add(make_draft(id=new_draft_id(), **changes))
    world.jobs.send(message_for(draft).encode())
    return draft


def lost(world, **changes):
    """A draft whose message was never sent."""
    return world.add(make_draft(id=new_draft_id(), **changes))


def uploading(world, **changes):
    return world.add(
        make_draft(status=DraftStatus.UPLOADING, work=None, stage=None, raw=None, **changes)
    )


def failed(world, **changes):
    """A draft that failed now, with its photo and a blob of a run."""
    draft = world.add_photo(tiny_photo(), **changes)
    world.images.put(f"{draft.owner_key}/{draft.id}/1-1/mask.png", b"x", content_type="image/png")
    return end_draft(draft, replace(ERROR, failed_at=world.clock()), world.deps)


def many_failed(world, count):
    return [failed(world, id=new_draft_id()) for _ in range(count)]


def many_letters(world, count):
    """Dead letters of one night, in two months."""
    for number in range(count):
        at = NOW - timedelta(days=number % 2)
        letter = DeadLetter(at=at, queue="q", reason="r", code="c", body=b"")
        world.deps.letters.keep(letter, name=str(number))


def started(world):
    """When the cleanups began whose records are kept."""
    return [found.started_at for found in JobRuns(world.deps.jobruns_table).newest(CLEANUP.name)]
