"""The same job, brought by a caller who waits instead of by the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.dependencies import Dependencies
from shared.domain.draft import Draft
from shared.sending import message_for

if TYPE_CHECKING:
    from process_image_job.values import Processed


def run_here(draft: Draft, deps: Dependencies) -> None:
    """One run in this process, under the draft's lease. Raises like any delivery.

    The worker is imported only when a run is wanted: most HTTP processes never do.
    """
    from process_image_job.delivery import Delivery
    from process_image_job.handler import run_job
    from process_image_job.tools import current_tools

    message = message_for(draft)
    delivery = Delivery(
        message=message,
        body=message.encode().encode(),
        dequeue_count=0,
        queue=deps.settings.image_jobs_queue,
    )
    run_job(delivery, deps=deps, tools=current_tools)


def cut_out_here(raw: bytes) -> Processed:
    """What the processor endpoint gives: always by the local segmenter. Raises BadImageError."""
    from process_image_job.processor import process_image
    from process_image_job.tools import current_tools

    return process_image(raw, current_tools().local_segmenter)
