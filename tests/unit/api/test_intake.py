"""The order of writes when photos are accepted, and what each failure leaves."""

from datetime import timedelta

import pytest

from shared.api.intake import Photo, UploadOptions, accept
from shared.domain.errors import StorageUnavailableError
from shared.image_probe import Probe
from shared.ports import Row
from shared.records.idempotency import Begun
from tests.factories import OWNER
from tests.unit.api.failing import at

PROBE = Probe(format="JPEG", content_type="image/jpeg", width=60, height=80)
PHOTOS = [Photo(name=f"{n}.jpg", data=b"x" * (n + 1), probe=PROBE) for n in range(2)]
OPTIONS = UploadOptions(owner_id=OWNER)


def visible(world):
    return [key for _, key in world.drafts.rows]


def test_accepting_writes_in_the_order_that_loses_nothing(world):
    """Due entries, blobs, rows in one transaction, messages."""
    accept(PHOTOS, OPTIONS, world.deps)
    assert world.faults.calls == [
        "due.put",
        "due.put",
        "uploads.put",
        "uploads.put",
        "drafts.transact",
        "jobs.send",
        "jobs.send",
    ]


@pytest.mark.parametrize("call", ["due.put", "uploads.put", "drafts.transact"])
@pytest.mark.parametrize("skip", [0, 1])
def test_accepting_that_fails_before_the_rows(world, call, skip):
    """Nothing is visible, no message is sent, and own blobs are removed."""
    world.faults.before = at(call, skip=skip if call != "drafts.transact" else 0, unknown=False)
    with pytest.raises(StorageUnavailableError):
        accept(PHOTOS, OPTIONS, world.deps)
    assert (visible(world), world.uploads.stored, world.jobs.sent) == ([], {}, [])


def test_accepting_whose_rows_are_refused_leaves_nothing(world):
    """Another request has taken the key over: the transaction fails whole, the blobs go."""
    lost = Begun(Row(OWNER, "k~key", {}, "an ETag of before"))
    with pytest.raises(StorageUnavailableError) as caught:
        accept(PHOTOS, OPTIONS, world.deps, key=lost)
    assert caught.value.retryable
    assert (visible(world), world.uploads.stored, world.jobs.sent) == ([], {}, [])


def test_accepting_whose_answer_was_lost_goes_on(world):
    """The rows are there: the messages follow, and the drafts are those of the rows."""
    world.faults.after = at("drafts.transact")
    drafts = accept(PHOTOS, OPTIONS, world.deps)
    assert [draft.etag for draft in drafts] == [world.row(draft).etag for draft in drafts]
    assert len(world.jobs.sent) == 2


def test_accepting_that_did_not_arrive_leaves_the_blobs_to_their_entries(world):
    """An unknown outcome without rows: 503, and the blobs stay for the due entries."""
    world.faults.before = at("drafts.transact")
    with pytest.raises(StorageUnavailableError):
        accept(PHOTOS, OPTIONS, world.deps)
    assert (visible(world), world.jobs.sent) == ([], [])
    assert len(world.uploads.stored) == len(world.due.rows) == 2


def test_accepting_whose_rows_cannot_be_read(world):
    """An unknown outcome that cannot be looked up is a failure, and nothing is removed."""
    world.faults.after = at("drafts.transact")
    world.faults.before = at("drafts.query", times=9)
    with pytest.raises(StorageUnavailableError):
        accept(PHOTOS, OPTIONS, world.deps)
    assert len(world.uploads.stored) == 2


def test_accepting_with_the_queue_away(world):
    """The rows stand: the caller gets them, the repair sends."""
    world.faults.before = at("jobs.send", times=9)
    drafts = accept(PHOTOS, OPTIONS, world.deps)
    assert [world.row(draft).work is not None for draft in drafts] == [True, True]


def test_accepting_whose_blobs_cannot_be_removed(world, caplog):
    """What cannot be cleared up at once is told, and the first error is the answer."""
    faults = [at("uploads.put", skip=1), at("uploads.delete", times=9)]

    def before(call):
        for fault in faults:
            fault(call)

    world.faults.before = before
    with pytest.raises(StorageUnavailableError):
        accept(PHOTOS, OPTIONS, world.deps)
    assert len([r for r in caplog.records if "blob_delete_failed" in r.message]) == 2


def test_accepting_with_a_net_makes_the_message_wait(world):
    """The row knows when its message becomes visible."""
    delay = timedelta(seconds=120)
    [draft, _] = accept(PHOTOS, UploadOptions(owner_id=OWNER, delay=delay), world.deps)
    assert draft.work.queued_at == world.clock() + delay
    assert [sent for _, sent in world.jobs.sent] == [delay, delay]


def test_accepting_for_an_owner_whose_id_is_no_key(world):
    """Any owner id is stored under a safe key and comes back as it is."""
    [draft, _] = accept(PHOTOS, UploadOptions(owner_id="Zoë/№ 1"), world.deps)
    assert draft.owner_key.startswith("h-")
    assert world.row(draft).owner_id == "Zoë/№ 1"
