"""Retry policies as the host keeps them: a run that failed is run again, in memory only.

For timers alone. A queue has its own way to try again, and Azure gives up policies beside it.
"""

import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from devhost.invoker import Call, Retry
from devhost.queues import Backoff
from devhost.worker_process import FunctionFailedError

Invoke = Callable[[Call], Awaitable[object]]
Sleep = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often, and how long after a failure. `fixed` None doubles the wait up to `longest`."""

    most: int  # -1: for ever
    fixed: timedelta | None = None
    shortest: timedelta = timedelta(0)
    longest: timedelta = timedelta(0)

    @classmethod
    def of(cls, described: Mapping[str, Any] | None) -> "RetryPolicy | None":
        """As the worker describes it; None where the function has none."""
        return cls(**described) if described else None

    def delays(self) -> Iterator[timedelta]:
        """One for each retry."""
        numbers = itertools.count() if self.most < 0 else range(self.most)
        backoff = Backoff(self.longest, self.shortest)
        for _ in numbers:
            yield backoff.next_delay(found=False) if self.fixed is None else self.fixed


async def invoke_with_retries(
    invoke: Invoke,
    call: Call,
    policy: RetryPolicy | None,
    *,
    sleep: Sleep,
    say: Callable[[str], None],
) -> None:
    """Until a run succeeds. Raises FunctionFailedError where the last one failed."""
    delays = policy.delays() if policy else iter(())
    most = policy.most if policy else 0
    for number in itertools.count():
        try:
            await invoke(replace(call, retry=Retry(number=number, most=most)))
        except FunctionFailedError:
            delay = next(delays, None)
            if delay is None:
                raise
            say(f"Retry {number + 1} of {most} in {delay.total_seconds():g} s.")
            await sleep(delay.total_seconds())
        else:
            return
