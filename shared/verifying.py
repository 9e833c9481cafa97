"""Proof that a scheduled job ran once in each of its windows: `python -m shared.jobs verify`.

Reads the records of runs, nothing else. Runs by an operator and the rest of a cleanup that had run
out of time are no runs of a window and are left out.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from shared.domain.errors import IngestError
from shared.records.jobruns import CLEANUP, REPAIR, JobRun, JobRuns, Outcome
from shared.settings import Settings
from shared.windows import occasion_of, window_of, windows_between


class Standing(StrEnum):
    """What the records say of one window."""

    ONCE = "ran once"
    MISSING = "did not run"
    REPEATED = "ran more than once"
    FAILED = "failed"
    OPEN = "was started and has not ended"


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """One planned time and the runs that it had."""

    start: datetime
    runs: tuple[JobRun, ...]

    @property
    def standing(self) -> Standing:
        if not self.runs:
            return Standing.MISSING
        if len(self.runs) > 1:
            return Standing.REPEATED
        [run] = self.runs
        if run.outcome is None:
            return Standing.OPEN
        return Standing.FAILED if run.outcome is Outcome.FAILED else Standing.ONCE


def windows_of(
    runs: Iterable[JobRun], schedule: str, since: datetime, until: datetime
) -> list[Window]:
    """Every window of the schedule from `since` to `until`, oldest first."""
    found: dict[datetime, list[JobRun]] = defaultdict(list)
    for run in runs:
        if run.window is not None:
            found[run.window].append(run)
        elif run.trigger == "timer":
            found[window_of(schedule, occasion_of(run.started_at, run.scheduled_at))].append(run)
    return [
        Window(start=start, runs=tuple(found.get(start, ())))
        for start in windows_between(schedule, since, until)
    ]


def main(arguments: Sequence[str]) -> int:
    """0 where each window ran exactly once, 1 where one did not, 2 where nothing can be said."""
    from shared.bootstrap import dependencies, settings

    options = _parser().parse_args(arguments)
    try:
        deps = dependencies()
        now = deps.clock()
        runs = list(JobRuns(deps.jobruns_table).every(options.job))
        schedule = options.schedule or _schedule_of(options.job, runs, settings())
        windows = windows_of(runs, schedule, options.since, options.until or now)
    except (IngestError, ValueError) as error:
        print(f"Nothing can be said: {error}")
        return 2
    for window in windows:
        print(_line(window))
    bad = [window for window in windows if window.standing is not Standing.ONCE]
    print(f"{options.job}: {len(windows)} windows, {len(windows) - len(bad)} ran exactly once.")
    return 1 if bad else 0


def _schedule_of(job: str, runs: Sequence[JobRun], values: Settings) -> str:
    """As the job itself recorded it, else as the settings say."""
    known = {
        CLEANUP: values.cleanup_schedule,
        REPAIR: values.repair_schedule,
    }
    schedule = next((run.schedule for run in runs if run.schedule), known.get(job))
    if not schedule:
        raise ValueError(f"no run of {job} is recorded, and --schedule is not given")
    return schedule


def _line(window: Window) -> str:
    who = ", ".join(f"{run.trigger} at {run.started_at:%H:%M:%S}" for run in window.runs)
    return f"{window.start:%Y-%m-%d %H:%M:%S}Z  {window.standing}{f' ({who})' if who else ''}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="shared.jobs", description="Records of scheduled jobs.")
    commands = parser.add_subparsers(required=True)
    verify = commands.add_parser("verify", help="prove that each window ran exactly once")
    verify.add_argument("--job", required=True, help="the job's name")
    verify.add_argument("--since", required=True, type=_moment, help="first window, UTC")
    verify.add_argument("--until", type=_moment, help="last window, UTC; now unless given")
    verify.add_argument("--schedule", help="six fields; unless the records or settings say it")
    return parser


def _moment(text: str) -> datetime:
    read = datetime.fromisoformat(text)
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
