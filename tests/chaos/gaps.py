"""Every gap between two writes: one storage call of one operation goes wrong, each in turn.

Afterwards time passes, messages are delivered and the timers run; then the invariants must hold.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from cleanup_abandoned_drafts.handler import CLEANUP
from cleanup_abandoned_drafts.repair import REPAIR
from shared.deleting import bury_draft
from shared.domain.draft import Draft, DraftError, DraftStatus
from shared.domain.errors import ConflictError, StorageUnavailableError
from shared.domain.events import FINAL_EVENTS
from shared.failing import end_draft
from shared.jobs import Tick, run
from shared.sending import message_for
from shared.settings import Settings
from tests.factories import World, make_draft, make_work, make_world
from tests.fakehost import FakeHost, Killed
from tests.fakes import NOW, MemoryQueue
from tests.invariants import check_always, check_settled, drafts_of
from tests.tiny import tiny_photo
from tests.unit.api.calling import Caller

SETTINGS = Settings(auth_mode="local", events_queue_enabled=True)

type Act = Callable[[World], object]


@dataclass(frozen=True)
class Scenario:
    """`prepare` sets the scene undisturbed, `act` is what is disturbed."""

    prepare: Act
    act: Act
    expect: frozenset[DraftStatus]  # how its drafts may end; empty: they are gone, or never were


@dataclass(frozen=True)
class Fault:
    """What goes wrong at the chosen call; conditional ones only where `only` says so."""

    before: Callable[[World], None] = lambda world: None
    after: Callable[[World], None] = lambda world: None
    only: tuple[str, ...] = ("",)

    def fits(self, call: str) -> bool:
        return any(part in call for part in self.only)


def _refused(world: World) -> None:
    raise StorageUnavailableError(unknown=False)


def _unknown(world: World) -> None:
    raise StorageUnavailableError(unknown=True)


def _killed(world: World) -> None:
    raise Killed


def _lost_race(world: World) -> None:
    raise ConflictError


def _late(world: World) -> None:
    world.clock.pass_(seconds=45)


FAULTS = {
    "refused": Fault(before=_refused),
    "outcome_unknown_nothing_done": Fault(before=_unknown),
    "answer_lost": Fault(after=_unknown),
    "killed_before": Fault(before=_killed),
    "killed_after": Fault(after=_killed),
    "precondition_failed": Fault(before=_lost_race, only=("transact", "due.delete")),
    "late_by_more_than_a_lease": Fault(before=_late),
}


def deliver(world: World) -> None:
    host = FakeHost(world)
    host.deliver() or host.deliver_poison()


def send(world: World, draft: Draft) -> None:
    world.jobs.send(message_for(draft).encode())


def queued_photo(world: World, **changes: object) -> Draft:
    draft = world.add_photo(tiny_photo(), **changes)
    send(world, draft)
    return draft


def ready(world: World) -> Draft:
    draft = queued_photo(world)
    FakeHost(world).work_off()
    return world.row(draft)


def lost_run(world: World) -> Draft:
    """A first run died after it had stored its mask and one rendition."""
    draft = queued_photo(world)
    countdown = iter([None] * 3)

    def kill(call: str) -> None:
        if call == "images.put" and next(countdown, "now") == "now":
            raise Killed

    world.faults.before = kill
    deliver(world)
    world.faults.before = lambda call: None
    world.clock.pass_(seconds=31)
    return world.row(draft)


def failed(world: World, code: str = "ATTEMPTS_EXHAUSTED") -> Draft:
    """Failed with a checkpoint left, after runs that wrote more than it names."""
    draft = lost_run(world)
    world.images.put(
        f"{draft.owner_key}/{draft.id}/1-1/thumb.webp", b"x", content_type="image/webp"
    )
    _only_message(world)
    error = DraftError(code=code, detail="x", retryable=True, failed_at=world.clock())
    return end_draft(draft, error, world.deps)


def _only_message(world: World) -> None:
    world.jobs.waiting.clear()


def call(world: World, name: str, **more: object) -> None:
    [draft] = drafts_of(world)
    Caller(world).ask(name, draft, **more)


def upload(world: World, count: int = 1, **more: object) -> None:
    photos = [(f"{number}.png", tiny_photo()) for number in range(count)]
    reply = Caller(world).upload(*photos, **more)
    assert reply.status in (202, 503, 409), reply.body
    told = len(reply.json["drafts"]) if reply.status == 202 else 0
    assert not told or len(drafts_of(world)) == told, "202 promises every draft"


def abandoned(world: World) -> None:
    draft = make_draft(status=DraftStatus.UPLOADING, work=None, stage=None, raw=None)
    world.add(draft)
    world.clock.pass_(hours=25)


def submit_scene(world: World) -> None:
    draft = make_draft(status=DraftStatus.UPLOADING, work=None, stage=None, raw=None)
    world.add(draft)
    world.uploads.put(f"{draft.owner_key}/{draft.id}/raw", tiny_photo(), content_type="image/png")


def old_failed(world: World) -> None:
    failed(world)
    world.clock.pass_(days=8)


def half_deleted(world: World) -> None:
    """A tombstone whose blobs are still there."""
    bury_draft(ready(world), world.deps)
    world.clock.pass_(minutes=16)


def unattended(world: World) -> None:
    world.add_photo(tiny_photo())
    world.clock.pass_(minutes=6)


def stuck(world: World) -> None:
    world.add_photo(tiny_photo(), work=make_work(resends=3))
    world.clock.pass_(hours=3)


def unfinished(world: World) -> None:
    """Ready, but the worker died before it told anybody or removed an earlier run's blobs."""
    draft = lost_run(world)

    def kill(call: str) -> None:
        if call == "drafts.query":
            raise Killed

    world.faults.before = kill
    deliver(world)
    world.faults.before = lambda call: None
    assert world.row(draft).unfinished
    _only_message(world)
    world.clock.pass_(minutes=6)


def last_attempt(world: World) -> None:
    queued_photo(world, attempts=5, work=make_work(lost_runs=4), lease_id="x", lease_expires_at=NOW)
    world.clock.pass_(seconds=1)


def poisoned(world: World) -> None:
    draft = world.add_photo(
        tiny_photo(), attempts=5, work=make_work(resends=3), lease_expires_at=NOW
    )
    world.poisoned.send(message_for(draft).encode())


def corrupt(world: World) -> None:
    send(world, world.add_photo(tiny_photo()[:40]))


def reprocess_scene(world: World) -> None:
    call_on = ready(world)
    Caller(world).ask("reprocess_draft", call_on)


def fire(job: object) -> Act:
    def act(world: World) -> None:
        run(job, Tick(), world.deps)  # type: ignore[arg-type]

    return act


def asks(name: str, **more: object) -> Act:
    return lambda world: call(world, name, **more)


NOTHING: Act = lambda world: None  # noqa: E731  # reads as a value beside the others
READY = frozenset({DraftStatus.READY})
FAILED = frozenset({DraftStatus.FAILED})
GONE: frozenset[DraftStatus] = frozenset()
KEY = {"Idempotency-Key": "once"}

SCENARIOS = {
    "accept": Scenario(NOTHING, upload, READY),
    "accept_with_key": Scenario(NOTHING, lambda world: upload(world, headers=KEY), READY),
    "accept_three": Scenario(NOTHING, lambda world: upload(world, 3), READY),
    "submit": Scenario(submit_scene, asks("submit_upload"), READY | FAILED),
    "process": Scenario(queued_photo, deliver, READY),
    "process_after_a_lost_run": Scenario(lost_run, deliver, READY),
    "process_a_corrupt_photo": Scenario(corrupt, deliver, FAILED),
    "process_again": Scenario(reprocess_scene, deliver, READY),
    "give_up": Scenario(last_attempt, deliver, FAILED),
    "poison": Scenario(poisoned, deliver, FAILED),
    "retry": Scenario(failed, asks("retry_draft"), READY | FAILED),
    "reprocess": Scenario(ready, asks("reprocess_draft"), READY),
    "accept_for_good": Scenario(ready, asks("accept_draft"), READY | {DraftStatus.ACCEPTED}),
    "withdraw_ready": Scenario(ready, asks("delete_draft"), READY),
    "withdraw_processing": Scenario(lost_run, asks("delete_draft"), READY),
    "purge": Scenario(old_failed, fire(CLEANUP), GONE),
    "abandon": Scenario(abandoned, fire(CLEANUP), FAILED),
    "erase": Scenario(half_deleted, fire(CLEANUP), GONE),
    "end_stuck": Scenario(stuck, fire(CLEANUP), FAILED),
    "send_again": Scenario(unattended, fire(REPAIR), READY),
    "finish": Scenario(unfinished, fire(REPAIR), READY),
}


def walk(scenario: Scenario, fault: Fault) -> int:
    """Break every storage call of the scenario in turn; how many there were."""
    points, number = 0, 0
    while _break(scenario, fault, number):
        points, number = points + 1, number + 1
    return points


def _break(scenario: Scenario, fault: Fault, number: int) -> bool:
    """Break the call with this number among those that the fault fits; False when none is left."""
    world = make_world(settings=SETTINGS)
    scenario.prepare(world)
    broken = _arm(world, fault, number)
    # The caller is told, or gone; what counts is the state.
    with suppress(Killed, ConflictError, StorageUnavailableError):
        scenario.act(world)
    world.faults.before = world.faults.after = lambda call: None
    check_always(world)
    FakeHost(world).settle()
    _check_end(world, scenario, broken())
    return broken() != ""


def _arm(world: World, fault: Fault, number: int) -> Callable[[], str]:
    """Set the trap; the result tells which call was caught, if any."""
    seen = {"before": 0, "after": 0}
    caught: list[str] = []

    def trap(side: str, strike: Callable[[World], None]) -> Callable[[str], None]:
        def hook(call: str) -> None:
            if not fault.fits(call):
                return
            seen[side] += 1
            if seen[side] == number + 1:
                caught.append(call)
                strike(world)

        return hook

    world.faults.before = trap("before", fault.before)
    world.faults.after = trap("after", fault.after)
    return lambda: caught[0] if caught else ""


def _check_end(world: World, scenario: Scenario, where: str) -> None:
    check_settled(world)
    for draft in drafts_of(world):
        assert draft.status in scenario.expect, f"{draft.status} after a fault at {where}"
        _subscribers_know(world, draft)
    FakeHost(world).clean_up()
    check_settled(world)
    assert not [key for _, key in world.drafts.rows if key.startswith("k~")]


def _subscribers_know(world: World, draft: Draft) -> None:
    """Each final event went out at least once."""
    queue = world.deps.events
    assert isinstance(queue, MemoryQueue)
    sent = queue.sent
    out = " ".join(text for text, _ in sent)
    for event in world.deps.store.events_of(draft):
        if event.type in FINAL_EVENTS:
            assert f'"{draft.id}/{event.seq}"' in out, f"nobody was told of {event.type}"
