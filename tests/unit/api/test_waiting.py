"""The caller waits: the v1 contract, the inline mode, and the one slot they share."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.api import waiting
from shared.domain.draft import DraftError, DraftStatus, Metadata, Stage
from shared.domain.errors import JobTimeLimitError, StorageUnavailableError
from shared.domain.lifecycle import fail, finish
from shared.settings import Settings
from tests.factories import make_world
from tests.invariants import drafts_of
from tests.unit.api.calling import BASE, Caller, make_pictures, never, photo
from tests.unit.api.failing import at

JPEG = photo()


@pytest.fixture
def inline():
    """A world where uploads are finished before they are answered."""
    return Caller(make_world(settings=Settings(auth_mode="local", image_async_enabled=False)))


def finishing(draft, deps):
    """A job that goes well."""
    row = deps.store.find(draft.owner_id, draft.id)
    done = finish(
        replace(
            row,
            stage=Stage.ANALYZED,
            checkpoint=make_pictures(),
            analysis=Metadata(category="Hat", source="model"),
        ),
        deps.clock(),
    )
    deps.store.save(row, done, now=deps.clock())


def failing(code, *, retryable):
    def run(draft, deps):
        row = deps.store.find(draft.owner_id, draft.id)
        error = DraftError(
            code=code, detail="It went wrong.", retryable=retryable, failed_at=deps.clock()
        )
        deps.store.save(row, fail(row, error, deps.clock()), now=deps.clock())

    return run


def unfinished(world):
    """The one draft that is still at work."""
    [found] = [d for d in drafts_of(world) if d.status == "Processing"]
    return found


def raising(draft, deps):
    raise StorageUnavailableError


def exploding(draft, deps):
    raise ZeroDivisionError


class Patience:
    """Lets the clock pass instead of sleeping; may do something at a given second."""

    def __init__(self, world, at=None, act=None):
        self.world, self.at, self.act, self.seconds = world, at, act, 0.0

    def __call__(self, seconds):
        self.seconds += seconds
        self.world.clock.pass_(seconds=seconds)
        if self.act and self.seconds >= self.at:
            self.act()
            self.act = None


@pytest.fixture
def taken():
    """The slot of this process is busy with another photo."""
    with waiting._SLOT:
        yield


def test_v1_answers_with_the_finished_draft(caller):
    """200: the draft, and the address of its picture that lasts."""
    reply = caller.upload(("hat.jpg", JPEG), name="create_image_v1", run=finishing)
    draft = reply.json
    assert (reply.status, draft["status"], draft["metadata"]["category"]) == (200, "Ready", "Hat")
    assert draft["cdnUrl"] == f"{BASE}/wardrobe/drafts/{draft['id']}/image/display"


def test_v1_sends_its_message_as_a_net(caller, world):
    """Should this process die, the queue goes on after two minutes."""
    caller.upload(("hat.jpg", JPEG), name="create_image_v1", run=finishing)
    assert [delay for _, delay in world.jobs.sent] == [timedelta(seconds=120)]


def test_v1_takes_a_raw_body(caller):
    """The bare bytes of one picture, as for drafts."""
    headers = {"content-type": "image/jpeg"}
    reply = caller.ask("create_image_v1", body=JPEG, headers=headers, run=finishing)
    assert reply.status == 200


@pytest.mark.parametrize(
    ("data", "code"), [(b"", "EMPTY_FILE"), (b"%PDF", "UNSUPPORTED_FORMAT"), (b"x" * 10_000_001,
     "FILE_TOO_LARGE")],
)  # fmt: skip
def test_v1_of_a_bad_photo(caller, world, data, code):
    """422 with the code of the picture: installed apps know no other."""
    reply = caller.upload(("a.jpg", data), name="create_image_v1", run=never)
    assert (reply.status, reply.code, world.jobs.sent) == (422, code, [])


@pytest.mark.parametrize(
    ("files", "code"), [([], "NO_FILE_ACCEPTED"), ([("a.jpg", JPEG)] * 2, "TOO_MANY_FILES")]
)
def test_v1_takes_one_file(caller, files, code):
    """Not none, not two."""
    reply = caller.upload(*files, name="create_image_v1", run=never)
    assert (reply.status, reply.code) == (422, code)


@pytest.mark.parametrize(
    ("code", "retryable", "status"),
    [("CORRUPT_IMAGE", False, 422), ("ATTEMPTS_EXHAUSTED", True, 503)],
)
def test_v1_of_a_draft_that_fails(caller, code, retryable, status):
    """The photo's fault is 422, ours 503; the draft is named and stays."""
    run = failing(code, retryable=retryable)
    reply = caller.upload(("a.jpg", JPEG), name="create_image_v1", run=run)
    assert (reply.status, reply.code, reply.json["retryable"]) == (status, code, retryable)
    assert caller.ask("get_draft", reply.json["draftId"]).json["status"] == "Failed"


@pytest.mark.parametrize("run", [raising, exploding])
def test_v1_whose_run_breaks_off_is_finished_by_the_queue(caller, world, run):
    """Its message goes out without delay, and the row is watched until a worker has finished."""
    patience = Patience(world, at=7, act=lambda: finishing(unfinished(world), world.deps))
    reply = caller.upload(("a.jpg", JPEG), name="create_image_v1", run=run, pause=patience)
    assert (reply.status, reply.json["status"]) == (200, "Ready")
    assert [delay for _, delay in world.jobs.sent] == [timedelta(seconds=120), timedelta(0)]


@pytest.mark.parametrize("run", [raising, exploding])
def test_v1_whose_run_breaks_off_for_good_is_told_after_60_seconds(caller, world, run):
    """504 no sooner, with where to ask: the draft goes on."""
    patience = Patience(world)
    reply = caller.upload(("a.jpg", JPEG), name="create_image_v1", run=run, pause=patience)
    assert (reply.status, reply.code) == (504, "STILL_PROCESSING")
    assert reply.json["statusUrl"] == (f"{BASE}/wardrobe/drafts/status?ids={reply.json['draftId']}")
    assert patience.seconds == pytest.approx(60, abs=1)


def test_v1_whose_run_breaks_off_tells_of_which_draft(caller, world, caplog):
    """The line of the failure names the draft and the request."""
    headers = {"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01"}
    asked = {"name": "create_image_v1", "run": exploding, "pause": Patience(world)}
    reply = caller.upload(("a.jpg", JPEG), headers=headers, **asked)
    lines = [json.loads(record.getMessage()) for record in caplog.records]
    [line] = [line for line in lines if line.get("during") == "run"]
    assert (line["draftId"], line["traceId"]) == (reply.json["draftId"], "a" * 32)


def test_v1_whose_run_breaks_off_with_the_queue_away_is_left_to_its_net(caller, world):
    """Nobody can be asked to go on at once; the first message comes in two minutes."""
    world.faults.before = at("jobs.send", skip=1)
    reply = caller.upload(
        ("a.jpg", JPEG), name="create_image_v1", run=raising, pause=Patience(world)
    )
    assert (reply.status, len(world.jobs.sent)) == (504, 1)


@pytest.mark.usefixtures("taken")
def test_v1_with_the_slot_taken_waits_for_the_worker(caller, world):
    """The message goes out at once, and the row is watched until a worker has finished."""

    patience = Patience(world, at=7, act=lambda: finishing(unfinished(world), world.deps))
    reply = caller.upload(("a.jpg", JPEG), name="create_image_v1", run=never, pause=patience)
    assert (reply.status, [delay for _, delay in world.jobs.sent]) == (200, [timedelta(0)])
    assert patience.seconds == pytest.approx(7, abs=1)


@pytest.mark.usefixtures("taken")
def test_v1_that_waits_in_vain(caller, world):
    """504 after 60 seconds, with where to ask."""
    patience = Patience(world)
    reply = caller.upload(("a.jpg", JPEG), name="create_image_v1", run=never, pause=patience)
    assert (reply.status, reply.code, reply.headers["retry-after"]) == (
        504,
        "STILL_PROCESSING",
        "2",
    )
    assert patience.seconds == pytest.approx(60, abs=1)


def test_v1_gives_the_slot_back(caller, world):
    """Whatever happens in it."""
    patience = Patience(world)
    caller.upload(("a.jpg", JPEG), name="create_image_v1", run=exploding, pause=patience)
    caller.upload(("a.jpg", JPEG), name="create_image_v1", run=finishing)
    assert not waiting._SLOT.locked()


def test_v1_gives_the_slot_back_where_nothing_was_accepted(caller, world):
    """Storage away before the rows: 503, and the next caller finds the slot free."""

    def away(call):
        if call == "uploads.put":
            raise StorageUnavailableError

    world.faults.before = away
    reply = caller.upload(("a.jpg", JPEG), name="create_image_v1", run=never)
    assert (reply.status, waiting._SLOT.locked()) == (503, False)


def test_v1_with_a_key_makes_its_draft_once(caller, world):
    """An app that sends again after a lost answer gets the same draft."""
    key = {"Idempotency-Key": "k"}
    one = caller.upload(("a.jpg", JPEG), headers=key, name="create_image_v1", run=finishing)
    two = caller.upload(("a.jpg", JPEG), headers=key, name="create_image_v1", run=never)
    assert (two.status, two.json["id"]) == (200, one.json["id"])
    caller.ask("delete_draft", one.json["id"])
    gone = caller.upload(("a.jpg", JPEG), headers=key, name="create_image_v1", run=never)
    assert (gone.status, gone.code) == (404, "NOT_FOUND")


@pytest.mark.parametrize(("second", "status"), [(7, 200), (999, 504)])
def test_v1_repeated_with_a_key_waits_like_the_first(caller, world, second, status):
    """An app that lost its patience sends again while the draft is still at work."""
    asked = {"headers": {"Idempotency-Key": "k"}, "name": "create_image_v1"}
    caller.upload(("a.jpg", JPEG), **asked, run=raising, pause=Patience(world))
    patience = Patience(world, at=second, act=lambda: finishing(unfinished(world), world.deps))
    reply = caller.upload(("a.jpg", JPEG), **asked, run=never, pause=patience)
    assert reply.status == status
    assert patience.seconds == pytest.approx(min(second, 60), abs=1)


def test_inline_mode_answers_with_finished_items(inline):
    """The same 202, its items already Ready, a refused one among them."""
    reply = inline.upload(("a.jpg", JPEG), ("b.jpg", b"no"), ("c.jpg", JPEG), run=finishing)
    assert reply.status == 202
    assert [item["status"] for item in reply.json["drafts"]] == ["Ready", "Rejected", "Ready"]
    assert [delay for _, delay in inline.world.jobs.sent] == [timedelta(seconds=120)] * 2


def test_inline_mode_leaves_what_takes_too_long_to_the_queue(inline):
    """After 60 seconds no further photo is begun here."""

    def slow(draft, deps):
        inline.world.clock.pass_(seconds=45)
        finishing(draft, deps)

    reply = inline.upload(*[("a.jpg", JPEG)] * 3, run=slow)
    assert [item["status"] for item in reply.json["drafts"]] == ["Ready", "Ready", "Processing"]


def test_inline_mode_gives_a_run_no_more_time_than_its_caller_has(inline):
    """The job's own limit is twice as long; what is left undone is the queue's."""
    limits = []

    def slow(draft, deps):
        limits.append(deps.settings.job_time_limit_seconds)
        inline.world.clock.pass_(seconds=45.5)
        raise JobTimeLimitError

    reply = inline.upload(*[("a.jpg", JPEG)] * 3, run=slow, pause=Patience(inline.world))
    assert limits == [60, 15]
    assert [item["status"] for item in reply.json["drafts"]] == ["Processing"] * 3
    assert [delay.seconds for _, delay in inline.world.jobs.sent] == [120, 120, 120, 0, 0]


@pytest.mark.usefixtures("taken")
def test_inline_mode_with_the_slot_taken(inline):
    """It waits as v1 does, and answers 202 with the states of then."""
    reply = inline.upload(("a.jpg", JPEG), run=never, pause=Patience(inline.world))
    assert (reply.status, reply.json["drafts"][0]["status"]) == (202, "Processing")


def test_async_mode_never_runs_anything_here(caller):
    """The default: 202 at once."""
    reply = caller.upload(("a.jpg", JPEG), run=never)
    assert reply.json["drafts"][0]["status"] == DraftStatus.PROCESSING


def test_inline_mode_whose_drafts_cannot_be_read_again_tells_their_ids(inline):
    """What is accepted is answered with 202, however the reading after it goes."""
    inline.world.faults.before = at("drafts.get", skip=2, times=999)
    patience = Patience(inline.world)
    reply = inline.upload(("a.jpg", JPEG), run=lambda draft, deps: None, pause=patience)
    [item] = reply.json["drafts"]
    assert (reply.status, item["status"]) == (202, "Processing")


def test_inline_mode_goes_on_past_a_run_that_breaks_off(inline):
    """The other photos are finished here, the broken one by the queue."""
    world = inline.world
    runs = iter([raising, finishing])
    late = Patience(world, at=7, act=lambda: finishing(unfinished(world), world.deps))
    reply = inline.upload(
        *[("a.jpg", JPEG)] * 2, run=lambda draft, deps: next(runs)(draft, deps), pause=late
    )
    assert [item["status"] for item in reply.json["drafts"]] == ["Ready", "Ready"]
    assert [delay.seconds for _, delay in world.jobs.sent] == [120, 120, 0]


def test_submit_does_not_wait_where_uploads_do(inline):
    """The photo of a direct upload is not at hand: 202 Processing, and its message goes at once."""
    wish = {"fileName": "shirt.jpg", "contentType": "image/jpeg", "size": len(JPEG)}
    draft_id = inline.ask("create_upload", json=wish).json["draftId"]
    world = inline.world
    world.uploads.put(f"owner-1/{draft_id}/raw", JPEG, content_type="image/jpeg")
    reply = inline.ask("submit_upload", draft_id)
    assert (reply.status, reply.json["status"]) == (202, "Processing")
    assert [delay for _, delay in world.jobs.sent] == [timedelta(0)]
