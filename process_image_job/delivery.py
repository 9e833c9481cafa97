"""One delivery of a job message: what the queue handed over."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.messages import JobMessage


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """The message, its bytes as they came, and how often the queue has delivered it."""

    message: JobMessage
    body: bytes
    dequeue_count: int  # 0 for a run that no queue delivered
    queue: str
