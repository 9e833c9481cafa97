"""Idempotency-Key: a request that is sent twice makes its drafts once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from shared.api.forms import Form, SentFile
from shared.api.idempotency_key import fingerprint
from shared.domain.errors import ConflictError
from shared.records.idempotency import IdempotencyKeys
from tests.factories import OWNER
from tests.unit.api.calling import photo
from tests.unit.api.failing import at

KEY = {"Idempotency-Key": "order-66"}
JPEG, OTHER = photo(), photo(colour="maroon")


def ids(reply):
    return [item.get("id") for item in reply.json["drafts"]]


def test_repeated_request_gets_the_same_drafts(caller, world):
    """Same key, same bytes: the same ids and one message."""
    first = caller.upload(("a.jpg", JPEG), ("b.jpg", OTHER), headers=KEY)
    again = caller.upload(("a.jpg", JPEG), ("b.jpg", OTHER), headers=KEY)
    assert (again.status, ids(again)) == (202, ids(first))
    assert again.headers["location"] == first.headers["location"]
    assert len(world.jobs.sent) == 2


def test_repeated_request_shows_the_states_of_now(caller, world):
    """What happened meanwhile is seen, a deletion too."""
    first, second = ids(caller.upload(("a.jpg", JPEG), ("b.jpg", OTHER), headers=KEY))
    caller.ask("delete_draft", first)
    again = caller.upload(("a.jpg", JPEG), ("b.jpg", OTHER), headers=KEY)
    assert again.json["drafts"][0] == {"id": first, "status": "NotFound"}
    assert again.json["drafts"][1]["id"] == second


def test_repeated_request_repeats_its_refusals(caller):
    """Refused files stand in their places again."""
    files = (("x.txt", b"no"), ("a.jpg", JPEG), ("y.txt", b"neither"))
    first = caller.upload(*files, headers=KEY)
    again = caller.upload(*files, headers=KEY)
    assert again.json["drafts"] == first.json["drafts"]


@pytest.mark.parametrize(
    ("files", "fields"),
    [
        ([("a.jpg", OTHER)], {}),
        ([("a.jpg", JPEG), ("a.jpg", JPEG)], {}),
        ([("a.jpg", JPEG)], {"skipSegmentation": "true"}),
    ],
    ids=["bytes", "files", "switch"],
)
def test_key_with_another_request_is_refused(caller, files, fields):
    """A key stands for one request."""
    caller.upload(("a.jpg", JPEG), headers=KEY)
    reply = caller.upload(*files, fields=fields, headers=KEY)
    assert (reply.status, reply.code) == (422, "IDEMPOTENCY_KEY_REUSED")


def test_key_with_another_file_name_is_the_same_request(caller):
    """The bytes make the request, not the name."""
    first = caller.upload(("a.jpg", JPEG), headers=KEY)
    assert ids(caller.upload(("b.jpg", JPEG), headers=KEY)) == ids(first)


def test_key_of_another_owner_means_nothing(caller):
    """The same key of two owners stands for two requests."""
    mine = caller.upload(("a.jpg", JPEG), headers=KEY)
    theirs = caller.as_("owner-2").upload(("a.jpg", OTHER), headers=KEY)
    assert theirs.status == 202
    assert ids(theirs) != ids(mine)


def test_key_in_flight_has_to_wait(caller, world):
    """While the first request is being answered the second is told when to come back."""
    make_in_flight(world)
    reply = caller.upload(("a.jpg", JPEG), headers=KEY)
    assert (reply.status, reply.code) == (409, "IDEMPOTENCY_KEY_IN_FLIGHT")
    assert (reply.json["retryable"], reply.headers["retry-after"]) == (True, "2")


@pytest.mark.parametrize(("seconds", "wait"), [(1, "2"), (10, "10"), (50, "50"), (100, "20")])
def test_key_in_flight_for_a_while_is_asked_for_less_often(caller, world, seconds, wait):
    """A request that was lost on its way must not cost the owner's rate limit."""
    make_in_flight(world)
    world.clock.pass_(seconds=seconds)
    assert caller.upload(("a.jpg", JPEG), headers=KEY).headers["retry-after"] == wait


def test_key_whose_row_is_damaged_is_free(caller, world):
    """It does not say until when it is taken, so it is not."""
    row = make_in_flight(world).row
    world.drafts.put(replace(row, values={"state": "Done"}))
    assert caller.upload(("a.jpg", JPEG), headers=KEY).status == 202


def make_in_flight(world):
    """The key's row as a request has it that is still at work."""
    keys = IdempotencyKeys(world.deps.drafts_table, world.deps.due)
    return keys.begin(OWNER, KEY["Idempotency-Key"], mark(JPEG), world.clock())


def mark(data):
    return fingerprint(Form(files=(SentFile(name="a.jpg", data=data),)), skip_segmentation=False)


def test_key_of_a_request_that_failed_is_free_again(caller, world):
    """503 accepted nothing: the same key works at once."""
    world.faults.before = at("uploads.put")
    failed = caller.upload(("a.jpg", JPEG), headers=KEY)
    again = caller.upload(("a.jpg", JPEG), headers=KEY)
    assert (failed.status, failed.code, failed.json["retryable"]) == (
        503,
        "STORAGE_UNAVAILABLE",
        True,
    )
    assert again.status == 202


@pytest.mark.parametrize("expired", [False, True], ids=["new", "taken over"])
def test_key_whose_answer_was_lost_is_held_all_the_same(caller, world, expired):
    """The row says that the key is this request's: it goes on instead of waiting for itself."""
    if expired:
        make_in_flight(world)
        world.clock.pass_(minutes=2, seconds=1)
    world.faults.after = at("drafts.transact", skip=1)  # the first one is the rate limit's
    assert caller.upload(("a.jpg", JPEG), headers=KEY).status == 202


def test_key_that_was_not_written_is_not_held(caller, world):
    """Nothing was accepted, and the next request takes the key."""
    world.faults.before = at("drafts.transact", skip=1)
    replies = [caller.upload(("a.jpg", JPEG), headers=KEY) for _ in range(2)]
    assert [reply.status for reply in replies] == [503, 202]


def test_key_that_is_in_flight_too_long_is_taken_over(caller, world):
    """After two minutes a new request owns the key; the old one's transaction fails whole."""
    old = make_in_flight(world)
    world.clock.pass_(minutes=2, seconds=1)
    reply = caller.upload(("a.jpg", JPEG), headers=KEY)
    assert reply.status == 202
    with pytest.raises(ConflictError):
        world.drafts.transact([old.finish(["x"], world.clock())])


def test_key_is_kept_for_a_day(caller, world):
    """After 24 hours a key is new again."""
    first = caller.upload(("a.jpg", JPEG), headers=KEY)
    world.clock.pass_(hours=24, seconds=1)
    assert ids(caller.upload(("a.jpg", JPEG), headers=KEY)) != ids(first)


def test_key_is_announced_before_it_is_written(caller, world):
    """The due entry of the key comes first, so that no row can outlive its time."""
    caller.upload(("a.jpg", JPEG), headers=KEY)
    assert world.faults.calls[2:5] == ["drafts.get", "due.put", "drafts.transact"]
    assert len([key for _, key in world.due.rows if "k~" in key]) == 1


@pytest.mark.parametrize("key", ["", " ", "é", "a b", "x" * 256, "a\tb"])
def test_key_that_cannot_be_one(caller, world, key):
    """A key is visible ASCII."""
    reply = caller.upload(("a.jpg", JPEG), headers={"Idempotency-Key": key})
    assert (reply.status, reply.code) == (400, "VALIDATION")
    assert world.jobs.sent == []


def test_key_sent_five_times_at_once_makes_one_draft(caller, world):
    """Whoever comes second waits or gets the same draft; never a second one."""
    with ThreadPoolExecutor(5) as pool:
        replies = list(pool.map(lambda _: caller.upload(("a.jpg", JPEG), headers=KEY), range(5)))
    assert {reply.status for reply in replies} <= {202, 409}
    assert len({tuple(ids(reply)) for reply in replies if reply.status == 202}) == 1
    assert len([key for _, key in world.drafts.rows if key.startswith("d~")]) == 1
