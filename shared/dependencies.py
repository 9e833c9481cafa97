"""Everything a function may act through, in one value. Built once a process by `bootstrap`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from shared.outbox import Outbox
from shared.ports import Blobs, Queue, Table
from shared.records.deadletters import DeadLetters
from shared.records.drafts import DraftStore
from shared.records.due import DueIndex
from shared.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Dependencies:
    """The ports and the stores on top of them; `clock` gives aware UTC."""

    settings: Settings
    clock: Callable[[], datetime]
    drafts_table: Table  # drafts, events, idempotency rows and windows of one owner a partition
    jobruns_table: Table
    store: DraftStore
    due: DueIndex
    letters: DeadLetters
    outbox: Outbox
    uploads: Blobs
    images: Blobs
    jobs: Queue
    poisoned: Queue
    webhooks: Queue
    webhooks_poisoned: Queue
    events: Queue
