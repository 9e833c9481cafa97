"""A job that must not run twice, as an app built on this frame would have one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from shared.jobs import JobContext, Policy, ScheduledJob
from shared.records.jobruns import JobReport


@dataclass
class Newsletter:
    """Writes to every customer at three in the morning; `sent` is what they got."""

    sent: list[str] = field(default_factory=list)
    trouble: BaseException | None = None
    meanwhile: Callable[[], object] = lambda: None  # while it works

    @property
    def job(self) -> ScheduledJob:
        return ScheduledJob(
            name="newsletter",
            work=self._send,
            policy=Policy.AT_MOST_ONCE,
            schedule="0 0 3 * * *",
        )

    def _send(self, context: JobContext) -> JobReport:
        self.meanwhile()
        self.sent.append(f"{context.deps.clock():%Y-%m-%d}")
        if self.trouble is not None:
            raise self.trouble
        return JobReport(examined=1)
