"""What is left of a chaos run: counted in storage, past the fault proxy and past every cache."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from bench.chaos_rig import Rig
from cleanup_abandoned_drafts.audit import audit
from cleanup_abandoned_drafts.handler import CLEANUP
from cleanup_abandoned_drafts.repair import REPAIR
from shared.domain.draft import Draft, DraftStatus
from shared.domain.events import EventType
from shared.jobs import Tick, run
from shared.ports import Span
from shared.records.codec import from_values

READY_SHARE = 0.98
ENDS = ("WORKER_LOST", "ATTEMPTS_EXHAUSTED")


@dataclass(frozen=True, kw_only=True)
class Result:
    """What was found when all was over."""

    seconds: float
    statuses: Counter[str]
    codes: Counter[str]
    attempts: Counter[int]
    lost: int  # promised, and not there
    strays: int  # there, and promised to nobody
    left: int  # not final
    unfinished: int  # final, with subscribers to tell or leftovers to remove: before the timers
    forgotten: int  # the same, after them
    ready_twice: int
    short_ends: int  # exhausted or lost with attempts left
    unexplained: list[str]  # findings of the audit before the timers have cleared up
    orphans: list[str]  # and after

    def broken(self, photos: int, *, share: float = READY_SHARE) -> list[str]:
        """The promises that did not hold; `share` of the photos has to be Ready."""
        good = self.statuses[DraftStatus.READY]
        odd = set(self.codes) - set(ENDS)
        checks = {
            f"only {good} of {photos} are Ready": good < share * photos,
            f"{self.left} are not final": self.left > 0,
            f"{self.forgotten} are never finished": self.forgotten > 0,
            f"{self.lost} drafts are lost": self.lost > 0,
            f"{self.strays} drafts were promised to nobody": self.strays > 0,
            f"{self.ready_twice} drafts were Ready twice": self.ready_twice > 0,
            f"{self.short_ends} ended before their last attempt": self.short_ends > 0,
            f"failed as {', '.join(sorted(odd))}": bool(odd),
            f"the audit found {len(self.orphans)}": bool(self.orphans),
        }
        return [text for text, is_so in checks.items() if is_so]


def drafts_of(ground: Rig) -> list[Draft]:
    """Every draft there is. Raises StorageUnavailableError."""
    rows = ground.dependencies().drafts_table.query(Span())
    return [from_values(Draft, row.values) for row in rows if row.key.startswith("d~")]


def count(ground: Rig, promised: Iterable[str], seconds: float) -> Result:
    """Read everything, let the timers clear up, and read again; `promised` are ids of 202s."""
    deps = ground.dependencies()
    drafts, before = drafts_of(ground), audit(deps)
    _clear_up(ground)
    ready = [
        sum(event.type is EventType.READY for event in deps.store.events_of(draft))
        for draft in drafts
    ]
    there, known = {draft.id for draft in drafts}, set(promised)
    errors = [draft.error.code for draft in drafts if draft.error]
    return Result(
        seconds=seconds,
        statuses=Counter(str(draft.status) for draft in drafts),
        codes=Counter(errors),
        attempts=Counter(draft.attempts for draft in drafts),
        lost=len(known - there),
        strays=len(there - known),
        left=sum(draft.work is not None for draft in drafts),
        unfinished=sum(draft.unfinished for draft in drafts),
        forgotten=sum(draft.unfinished for draft in drafts_of(ground)),
        ready_twice=sum(count > 1 for count in ready),
        short_ends=sum(
            draft.attempts < deps.settings.max_attempts
            for draft in drafts
            if draft.error and draft.error.code in ENDS
        ),
        unexplained=[f"{found.kind}: {found.what}" for found in before],
        orphans=[f"{found.kind}: {found.what}" for found in audit(deps)],
    )


def _clear_up(ground: Rig) -> None:
    """The timers, as they would run in the next half hour: the clock is moved, not slept."""
    for minutes in (10, 20, 40):
        deps = ground.dependencies(ahead=timedelta(minutes=minutes))
        run(REPAIR, Tick(), deps)
        run(CLEANUP, Tick(), deps)


def table(title: str, ground: Rig, result: Result, answers: Counter[str]) -> str:
    """What happened, for people."""
    proxy, deaths = ground.proxy, ground.deaths
    photos = result.statuses.total() + result.lost
    share = 100 * result.statuses[DraftStatus.READY] / photos
    rows = [
        ("photos", title),
        ("duration", f"{result.seconds:.0f} s"),
        ("workers killed", str(deaths.workers)),
        ("hosts killed", str(deaths.hosts)),
        ("hosts that gave up and were replaced", str(deaths.host_gave_up)),
        ("storage restarts", str(deaths.storage)),
        ("storage calls", str(proxy.calls)),
        (
            "of them went wrong",
            f"{proxy.faults.total()} ({proxy.faults.total() / proxy.calls:.1%})",
        ),
        *((f"  {fault}", str(count)) for fault, count in sorted(proxy.faults.items())),
        ("answers to uploads", _counted(answers)),
        ("statuses", f"{_counted(result.statuses)} ({share:.1f} % Ready)"),
        ("failed as", _counted(result.codes) or "-"),
        ("attempts", _counted(result.attempts)),
        ("not final", str(result.left)),
        ("to be told or tidied, before the timers", str(result.unfinished)),
        ("and after", str(result.forgotten)),
        ("lost", str(result.lost)),
        ("promised to nobody", str(result.strays)),
        ("Ready twice", str(result.ready_twice)),
        ("audit before the timers cleared up", "; ".join(result.unexplained) or "0 findings"),
        ("audit afterwards", "; ".join(result.orphans) or "0 findings"),
    ]
    return "\n".join(f"{name:40} {value}" for name, value in rows)


def _counted(counter: Counter[str] | Counter[int]) -> str:
    return ", ".join(f"{key}: {count}" for key, count in sorted(counter.items(), key=str))
