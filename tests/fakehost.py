"""The Functions host in memory: it delivers, hides, counts, gives up, and fires the timers.

A worker can be killed at any storage call: `Killed` is no Exception, so that no handler of the
product sees it and nothing of the run happens afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from cleanup_abandoned_drafts.handler import CLEANUP
from cleanup_abandoned_drafts.repair import REPAIR
from process_image_job.handler import process_image_job
from process_image_job.poison import handle_poison
from process_image_job.tools import Tools
from shared.jobs import ScheduledJob, Tick, run
from shared.ports import QueueMessage
from tests.factories import World
from tests.fakes import MemoryQueue
from tests.tiny import tiny_tools

LEASE_OF_A_MESSAGE = timedelta(minutes=10)
VISIBILITY_TIMEOUT = timedelta(seconds=30)
MAX_DEQUEUE_COUNT = 10


class Killed(BaseException):
    """The process is gone, in the middle of whatever it did."""


@dataclass
class FakeHost:
    """One instance with the rules of host.json."""

    world: World
    tools: Callable[[], Tools] = tiny_tools
    instance_lost: bool = False  # a kill takes the whole instance: the message stays hidden

    def deliver(self) -> bool:
        """One visible job message, if there is one."""
        return self._deliver(self.world.jobs, self._job)

    def deliver_poison(self) -> bool:
        return self._deliver(self.world.poisoned, self._poison)

    def work_off(self, most: int = 1000) -> int:
        """Deliver until nothing is visible; how many deliveries that took."""
        for count in range(most):
            if not self.deliver() and not self.deliver_poison():
                return count
        raise AssertionError(f"still busy after {most} deliveries")

    def fire(self, job: ScheduledJob) -> bool:
        """A timer; whether it ended well. An exception is the host's to log."""
        try:
            run(job, Tick(), self.world.deps)
        except Killed:
            return False
        except Exception:  # noqa: BLE001  # the host goes on whatever a function raises
            return False
        return True

    def settle(self, *, hours: float = 3.5) -> None:
        """Let time pass in repair ticks until all work is done, then a while longer."""
        end = self.world.clock() + timedelta(hours=hours)
        while self.world.clock() < end and self._has_work():
            for _ in range(10):
                self.work_off()
                self.world.clock.pass_(seconds=30)
            assert self.fire(REPAIR), "an undisturbed repair ends well"
        self.world.clock.now = max(end, self.world.clock())
        self.clean_up()

    def _has_work(self) -> bool:
        """A message is there, or an entry that the repair looks at."""
        entries = (row.values for row in self.world.due.rows.values())
        wanted = any("queuedAt" in entry or "unfinished" in entry for entry in entries)
        return wanted or bool(self.world.jobs.waiting or self.world.poisoned.waiting)

    def clean_up(self) -> None:
        """Two nights: the second one passes over what the first has deleted."""
        for _ in range(2):
            assert self.fire(CLEANUP), "an undisturbed cleanup ends well"
            self.world.clock.pass_(hours=24)

    def _deliver(self, queue: MemoryQueue, handler: Callable[[QueueMessage], None]) -> bool:
        with self._undisturbed():
            received = queue.receive(1, hide=LEASE_OF_A_MESSAGE)
        if not received:
            return False
        [message] = received
        if message.dequeue_count > MAX_DEQUEUE_COUNT and queue is self.world.jobs:
            self._give_up(queue, message)
            return True
        try:
            handler(message)
        except Killed:
            if not self.instance_lost:
                self._failed(queue, message)
        except Exception:  # noqa: BLE001  # as above
            self._failed(queue, message)
        else:
            with self._undisturbed():
                queue.delete(message)
        return True

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """The host's own calls: faults are for the product."""
        faults = self.world.faults
        before, after = faults.before, faults.after
        faults.before = faults.after = lambda call: None
        try:
            yield
        finally:
            faults.before, faults.after = before, after

    def _job(self, message: QueueMessage) -> None:
        process_image_job(
            message.body,
            dequeue_count=message.dequeue_count,
            deps=self.world.deps,
            tools=self.tools,
        )

    def _poison(self, message: QueueMessage) -> None:
        handle_poison(message.body, dequeue_count=message.dequeue_count, deps=self.world.deps)

    def _failed(self, queue: MemoryQueue, message: QueueMessage) -> None:
        if queue is not self.world.jobs:
            return  # no poison queue of its own: hidden until its ten minutes are over
        if message.dequeue_count >= MAX_DEQUEUE_COUNT:
            self._give_up(queue, message)
            return
        for waiting in queue.waiting:
            if waiting.message.id == message.id:
                waiting.visible_at = self.world.clock() + VISIBILITY_TIMEOUT

    def _give_up(self, queue: MemoryQueue, message: QueueMessage) -> None:
        with self._undisturbed():
            self.world.poisoned.send(message.body.decode())
            queue.delete(message)
