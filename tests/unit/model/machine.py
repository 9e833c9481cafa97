"""Any interleaving of deliveries, crashes, people and timers, against what must hold of them.

A run is interrupted at one of its storage calls: it dies there, the call fails, or something else
happens in between: time passes its lease and another delivery takes over, or a person or a timer
acts. Then the run goes on, and has to notice.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from cleanup_abandoned_drafts.handler import CLEANUP
from cleanup_abandoned_drafts.repair import REPAIR
from process_image_job.values import Photo, Segmented
from shared.domain.draft import Draft, DraftStatus
from shared.domain.errors import ProcessorUnavailableError, StorageUnavailableError
from shared.domain.lifecycle import TRANSITIONS
from shared.domain.messages import JobMessage
from tests.chaos.gaps import SETTINGS
from tests.factories import OWNER, make_world
from tests.fakehost import FakeHost, Killed
from tests.invariants import check_always, check_settled, drafts_of
from tests.tiny import TINY_TOOLS, box_segmenter, tiny_photo
from tests.unit.api.calling import Caller

CALLS = st.integers(0, 30)
FAILURES = ("refused", "unknown", "answer_lost", "killed_before", "killed_after")
BETWEEN = ("taken_over", "delete_draft", "accept_draft", "reprocess_draft", "patch_draft", "repair")
TRAPS = st.none() | st.tuples(st.sampled_from(FAILURES), CALLS)
SECONDS = st.sampled_from([1, 31, 45, 240, 3_600, 90_000, 700_000])
PHOTOS = ("navy", "corrupt")


def reachable(start: DraftStatus) -> set[DraftStatus]:
    """Statuses that may follow, over any number of steps."""
    seen, open_ = {start}, [start]
    while open_:
        for status in TRANSITIONS[open_.pop()] - seen:
            seen.add(status)
            open_.append(status)
    return seen


@dataclass
class Known:
    """What the outside world has seen of one draft."""

    draft: Draft
    deleted: bool = False
    title: str | None = None


@dataclass
class Trap:
    """Strikes once, at the chosen storage call."""

    at: int
    before: Callable[[], None] = lambda: None
    after: Callable[[], None] = lambda: None
    calls: itertools.count = field(default_factory=itertools.count)
    caught: bool = False


class Wardrobe(RuleBasedStateMachine):
    """The product, a host, an owner, and everything that can go wrong."""

    drafts = Bundle("drafts")

    def __init__(self) -> None:
        super().__init__()
        self.world = make_world(settings=SETTINGS)
        self.caller = Caller(self.world)
        self.trouble: type[Exception] | None = None
        tools = replace(TINY_TOOLS, segmenter=self._segment)
        self.host = FakeHost(self.world, tools=lambda: tools)
        self.known: dict[str, Known] = {}

    def _segment(self, photo: Photo) -> Segmented:
        if self.trouble is not None:
            raise self.trouble
        return box_segmenter(photo)

    # what people do

    @initialize(
        target=drafts,
        count=st.integers(1, 2),
        how=st.sampled_from(["waiting", "ready", "failed", "lost"]),
        at=CALLS,
    )
    def photos_are_there(self, count: int, how: str, at: int) -> object:
        """One or two accepted photos, as far as they have come."""
        reply = self.caller.upload(*[(f"{n}.png", tiny_photo()) for n in range(count)])
        ids = [item["id"] for item in reply.json["drafts"]]
        self.trouble = StorageUnavailableError if how == "failed" else None
        self._set(("killed_after", at) if how == "lost" else None)
        for _ in range({"waiting": 0, "ready": 1, "failed": 6, "lost": 1}[how]):
            self.host.work_off()
            self.world.clock.pass_(seconds=31)
        self.trouble = None
        self._clear()
        for draft_id in ids:
            self._see(draft_id)
        return multiple(*ids)

    @precondition(lambda self: len(self.known) < 3)
    @rule(target=drafts, trap=TRAPS)
    def upload(self, trap: tuple[str, int] | None) -> object:
        self._set(trap)
        answered: list[str] = []
        with suppress(Killed):
            reply = self.caller.upload(("a.png", tiny_photo()))
            if reply.status == 202:
                answered = [item["id"] for item in reply.json["drafts"]]
        self._clear()
        for draft_id in answered:
            self._see(draft_id)
        return multiple(*answered)

    @rule(
        draft_id=drafts,
        what=st.sampled_from(
            ["retry_draft", "accept_draft", "reprocess_draft", "delete_draft", "patch_draft"]
        ),
        trap=TRAPS,
    )
    def ask(self, draft_id: str, what: str, trap: tuple[str, int] | None) -> None:
        self._set(trap)
        with suppress(Killed):
            self._ask(draft_id, what)
        self._clear()

    @rule(draft_id=drafts, generation=st.integers(1, 4))
    def message_comes_twice(self, draft_id: str, generation: int) -> None:
        text = JobMessage(owner_id=OWNER, draft_id=draft_id, generation=generation).encode()
        self.world.jobs.send(text)

    @rule()
    def messages_are_lost(self) -> None:
        self.world.jobs.waiting.clear()

    # what the host does

    @rule(trap=TRAPS, lost=st.booleans())
    def deliver(self, trap: tuple[str, int] | None, lost: bool) -> None:
        self.host.instance_lost = lost
        self._set(trap)
        self.host.deliver()
        self._clear()

    @rule(draft_id=drafts, between=st.sampled_from(BETWEEN), at=CALLS)
    def deliver_interrupted(self, draft_id: str, between: str, at: int) -> None:
        """The run stands still at a call, something happens, and it goes on."""

        def meanwhile() -> None:
            if between == "taken_over":
                self.world.clock.pass_(seconds=45)
                self.host.work_off()
            elif between == "repair":
                self.host.fire(REPAIR)
            else:
                self._ask(draft_id, between)

        for _ in range(2):
            self.message_comes_twice(draft_id, self.known[draft_id].draft.generation)
        self._arm(Trap(at, before=meanwhile))
        self.host.deliver()
        self._clear()

    @rule()
    def deliver_poison(self) -> None:
        self.host.deliver_poison()

    @rule(
        job=st.sampled_from([CLEANUP, REPAIR]),
        trap=TRAPS,
    )
    def timer(self, job: object, trap: tuple[str, int] | None) -> None:
        self._set(trap)
        self.host.fire(job)
        self._clear()

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: int) -> None:
        self.world.clock.pass_(seconds=seconds)

    @rule(how=st.sampled_from([None, ProcessorUnavailableError, StorageUnavailableError]))
    def segmenter_is(self, how: type[Exception] | None) -> None:
        """Well, or away, or failing in every run."""
        self.trouble = how

    @rule(trap=TRAPS)
    def time_passes_in_deliveries(self, trap: tuple[str, int] | None) -> None:
        """Three minutes of a host at work; the first delivery may go wrong."""
        for _ in range(6):
            self._set(trap)
            self.host.deliver()
            self._clear()
            trap = None
            self.world.clock.pass_(seconds=31)

    # what holds

    @invariant()
    def state_is_sound(self) -> None:
        check_always(self.world)

    @invariant()
    def nobody_sees_a_step_back(self) -> None:
        rows = {draft.id: draft for draft in drafts_of(self.world) if draft.deleted_at is None}
        for draft_id, known in self.known.items():
            row = rows.get(draft_id)
            if row is None:
                assert known.deleted or self._past_its_time(known.draft), "a live draft is gone"
                continue
            assert row.status in reachable(known.draft.status)
            assert row.generation >= known.draft.generation
            assert row.revision >= known.draft.revision
            assert known.title is None or (row.metadata and row.metadata.title == known.title)
            known.draft = row

    def teardown(self) -> None:
        self._clear()
        self.trouble = None
        self.host.instance_lost = False
        self.host.settle()
        check_settled(self.world)
        self.nobody_sees_a_step_back()

    # means

    def _ask(self, draft_id: str, what: str) -> None:
        known, more = self.known[draft_id], {}
        if what == "patch_draft":
            rows = [draft for draft in drafts_of(self.world) if draft.id == draft_id]
            tag = f'"{rows[0].revision}"' if rows else '"0"'
            title = f"title {len(self.world.faults.calls)}"
            more = {"json": {"title": title}, "headers": {"If-Match": tag}}
        if what == "delete_draft":
            known.deleted = True  # from now on it may be gone
        reply = self.caller.ask(what, draft_id, **more)
        if what == "patch_draft" and reply.status == 200:
            known.title = title

    def _see(self, draft_id: str) -> None:
        row = self.world.deps.store.find(OWNER, draft_id)
        assert row is not None, "202 promises the draft"
        self.known[draft_id] = Known(row)

    def _past_its_time(self, draft: Draft) -> bool:
        """Failed for seven days, at least when it was last seen or could have become so."""
        limit = self.world.deps.settings.retention.failed
        failed = draft.error.failed_at if draft.error else draft.updated_at
        return failed + limit <= self.world.clock()

    def _set(self, trap: tuple[str, int] | None) -> None:
        if trap is not None:
            how, at = trap
            self._arm(_TRAPS[how](at))

    def _arm(self, trap: Trap) -> None:
        def before(call: str) -> None:
            if not trap.caught and next(trap.calls) == trap.at:
                trap.caught = True
                trap.before()

        def after(call: str) -> None:
            if trap.caught:
                self._clear()
                trap.after()

        self.world.faults.before, self.world.faults.after = before, after

    def _clear(self) -> None:
        self.world.faults.before = self.world.faults.after = lambda call: None


def _raise(error: BaseException) -> Callable[[], None]:
    def strike() -> None:
        raise error

    return strike


_TRAPS: dict[str, Callable[[int], Trap]] = {
    "refused": lambda at: Trap(at, before=_raise(StorageUnavailableError(unknown=False))),
    "unknown": lambda at: Trap(at, before=_raise(StorageUnavailableError())),
    "answer_lost": lambda at: Trap(at, after=_raise(StorageUnavailableError())),
    "killed_before": lambda at: Trap(at, before=_raise(Killed())),
    "killed_after": lambda at: Trap(at, after=_raise(Killed())),
}
