"""What a cleanup costs: it follows what is due, not what exists.

    python -m bench.sweep                  in memory: 1,000 due among 10,000 and among 200,000
    python -m bench.sweep --azurite        on the emulator: 1,000 due among 2,000 and among 20,000
    python -m bench.sweep --backlog        10,000 waiting for an hour, 20 messages lost

Prints storage calls and exits 0 only if the larger crowd costs at most 5 % more.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cleanup_abandoned_drafts.handler import CLEANUP
from cleanup_abandoned_drafts.repair import REPAIR
from devhost.azurite import Azurite
from shared.bootstrap import build
from shared.dependencies import Dependencies
from shared.domain.draft import Draft, DraftError, DraftStatus, Stage, Work, WorkReason
from shared.domain.events import EventType, event_of
from shared.domain.ids import draft_row_key, new_draft_id
from shared.domain.messages import JobMessage
from shared.jobs import Tick, run
from shared.ports import Insert, Row, Span
from shared.records.codec import to_values
from shared.records.jobruns import JobRun
from shared.sending import message_for
from shared.settings import Settings
from shared.storage.services import Services
from tests.factories import make_world
from tests.fakes import NOW, FakeClock, MemoryTable
from tests.faults.proxy import FaultProxy

DUE = 1000
OWNERS = 50
TOLERANCE = 0.05
BACKLOG = 10_000
LOST = 20
_AT_ONCE = 100


@dataclass(frozen=True, kw_only=True)
class Ground(ABC):
    """Storage that counts its calls."""

    deps: Dependencies
    clock: FakeClock

    @abstractmethod
    def calls(self) -> int:
        """Storage calls made so far."""


@dataclass(frozen=True, kw_only=True)
class InMemory(Ground):
    """The fakes, with tables that find a partition without looking at every row."""

    calls_made: list[str]

    def calls(self) -> int:
        return len(self.calls_made)


@dataclass(frozen=True, kw_only=True)
class OnAzurite(Ground):
    """The emulator behind a proxy that only counts."""

    proxy: FaultProxy

    def calls(self) -> int:
        return self.proxy.calls


class PartitionedTable(MemoryTable):
    """The same table with its rows by partition as well."""

    def __init__(self, plain: MemoryTable) -> None:
        super().__init__(plain.name, plain.faults)
        self._parts: dict[str, dict[str, Row]] = {}

    def _store(self, row: Row) -> str:
        etag = super()._store(row)
        self._parts.setdefault(row.partition, {})[row.key] = row.with_etag(etag)
        return etag

    def query(self, span: Span, *, page: int = 1000) -> Iterator[Row]:
        if span.partition is None:
            yield from super().query(span, page=page)
            return
        everything = self.rows
        part = self._parts.get(span.partition, {})
        self.rows = {
            (span.partition, key): row
            for key, row in part.items()
            if (span.partition, key) in everything
        }
        try:
            found = list(super().query(span, page=page))
        finally:
            self.rows = everything
        yield from found


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.sweep", description=__doc__)
    parser.add_argument("--azurite", action="store_true")
    parser.add_argument("--backlog", action="store_true")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    if options.backlog:
        return _backlog()
    return _compare((2_000, 20_000) if options.azurite else (10_000, 200_000), options.azurite)


def _compare(crowds: tuple[int, int], on_azurite: bool) -> int:
    costs = []
    for crowd in crowds:
        with azurite_ground() if on_azurite else in_memory_ground() as ground:
            fill(ground, crowd)
            calls, done, seconds = sweep(ground)
        print(
            f"{DUE:,} due among {crowd:,} drafts: {calls:,} storage calls, "
            f"{done.report.purged:,} purged, {done.report.remaining:,} left, {seconds:.1f} s"
        )
        costs.append(calls)
    more = costs[1] / costs[0] - 1
    print(f"difference: {more:+.2%}")
    return 0 if abs(more) <= TOLERANCE else 1


@contextmanager
def in_memory_ground() -> Iterator[InMemory]:
    world = make_world()
    deps = replace(world.deps, drafts_table=PartitionedTable(world.drafts))
    store = type(deps.store)(deps.drafts_table, deps.due, deps.settings.retention)
    yield InMemory(
        deps=replace(deps, store=store), clock=world.clock, calls_made=world.faults.calls
    )


@contextmanager
def azurite_ground() -> Iterator[OnAzurite]:
    with Azurite.start() as azurite, FaultProxy(targets=azurite.ports, rate=0) as proxy:
        services = Services.from_connection_string(proxy.connection_string)
        values = Settings(auth_mode="local")
        services.create_missing(values)
        clock = FakeClock()
        yield OnAzurite(deps=build(values, services, clock=clock), clock=clock, proxy=proxy)


def fill(ground: Ground, crowd: int) -> None:
    """Ready drafts of many owners, and among them the failed ones that will be due."""
    deps = ground.deps
    for owner in range(OWNERS):
        rows = [_ready_row(f"owner-{owner}") for _ in range((crowd - DUE) // OWNERS)]
        for start in range(0, len(rows), _AT_ONCE):
            deps.drafts_table.transact([Insert(row) for row in rows[start : start + _AT_ONCE]])
        for _ in range(DUE // OWNERS):
            _add_failed(f"owner-{owner}", deps)


def sweep(ground: Ground) -> tuple[int, JobRun, float]:
    """Eight days later: storage calls, the run, seconds."""
    ground.clock.now += timedelta(days=8)
    before, started = ground.calls(), time.perf_counter()
    done = run(CLEANUP, Tick(), ground.deps)
    assert done is not None
    return ground.calls() - before, done, time.perf_counter() - started


def _draft(owner: str, status: DraftStatus, **more: object) -> Draft:
    fields: dict[str, object] = {
        "id": new_draft_id(),
        "owner_id": owner,
        "status": status,
        "status_since": NOW,
        "created_at": NOW,
        "updated_at": NOW,
        "stage": Stage.UPLOADED,
    }
    return Draft(**(fields | more))  # type: ignore[arg-type]


def _ready_row(owner: str) -> Row:
    draft = _draft(owner, DraftStatus.READY, stage=Stage.ANALYZED)
    return Row(owner, draft_row_key(draft.id), to_values(draft, leave_out=frozenset({"etag"})))


def _add_failed(owner: str, deps: Dependencies) -> None:
    error = DraftError(code="ATTEMPTS_EXHAUSTED", detail="x", retryable=True, failed_at=NOW)
    draft = _draft(owner, DraftStatus.FAILED, error=error)
    [announced] = deps.store.announce([draft], NOW)
    deps.store.add([(announced, event_of(announced, EventType.CREATED, NOW))])
    deps.uploads.put(f"{owner}/{draft.id}/raw", b"photo", content_type="image/jpeg")


def _backlog() -> int:
    """Nobody works for an hour; then everybody does, message by message."""
    with in_memory_ground() as ground:
        lost = _fill_backlog(ground)
        for _ in range(12):
            ground.clock.now += timedelta(minutes=5)
            run(REPAIR, Tick(), ground.deps)
        early = _resent(ground)
        _work_off(ground)
        ground.clock.now += timedelta(minutes=5)
        before = ground.calls()
        run(REPAIR, Tick(), ground.deps)
        found = sum(1 for draft in lost if _resends(draft, ground))
    print(f"backlog of {BACKLOG:,} for an hour, 12 repair ticks: {early} messages sent again")
    print(f"messages that were lost: {LOST}, found in the first tick after the backlog: {found}")
    print(f"storage calls of that tick: {ground.calls() - before}")
    return 0 if (early, found) == (0, LOST) else 1


def _fill_backlog(ground: Ground) -> list[Draft]:
    """One draft every tenth of a second; of every five hundredth the message is lost."""
    lost, start = [], ground.clock.now
    for number in range(BACKLOG):
        at = start + timedelta(milliseconds=100 * number)
        draft = _add_waiting(f"owner-{number % OWNERS}", at, ground.deps)
        if number % (BACKLOG // LOST) == BACKLOG // LOST // 2:
            lost.append(draft)
        else:
            ground.deps.jobs.send(message_for(draft).encode())
    ground.clock.now = start + timedelta(milliseconds=100 * BACKLOG)
    return lost


def _add_waiting(owner: str, at: datetime, deps: Dependencies) -> Draft:
    work = Work(reason=WorkReason.INITIAL, started_at=at, queued_at=at)
    [announced] = deps.store.announce([_draft(owner, DraftStatus.PROCESSING, work=work)], at)
    [stored] = deps.store.add([(announced, event_of(announced, EventType.CREATED, at))])
    return stored


def _resent(ground: Ground) -> int:
    rows = ground.deps.drafts_table.query(Span())
    return sum('"resends":1' in str(row.values.get("work", "")) for row in rows)


def _resends(draft: Draft, ground: Ground) -> int:
    row = ground.deps.store.find(draft.owner_id, draft.id)
    return row.work.resends if row and row.work else 0


def _work_off(ground: Ground) -> None:
    """Every message that is there is done: its draft is Ready."""
    store, jobs, now = ground.deps.store, ground.deps.jobs, ground.clock.now
    while messages := jobs.receive(32, hide=timedelta(minutes=10)):
        for message in messages:
            wanted = JobMessage.parse(message.body)
            draft = store.find(wanted.owner_id, wanted.draft_id)
            assert draft is not None
            store.save(draft, replace(draft, status=DraftStatus.READY, work=None), now=now)
            jobs.delete(message)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
