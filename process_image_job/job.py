"""One run at work: the photo it has read, the cut-out it goes on from, the time it has left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from process_image_job import pipeline
from process_image_job.delivery import Delivery
from process_image_job.tools import Tools
from process_image_job.values import CutOut, Photo
from shared import telemetry
from shared.claims import Run
from shared.dependencies import Dependencies
from shared.domain import lifecycle
from shared.domain.draft import Work, WorkReason
from shared.domain.errors import (
    CheckpointLostError,
    ConflictError,
    JobTimeLimitError,
    RawChangedError,
    RawMissingError,
)
from shared.domain.ids import run_prefix


@dataclass(kw_only=True)
class Job:
    """One run at work: what it holds and what it has decoded so far."""

    run: Run
    delivery: Delivery
    deps: Dependencies
    tools: Callable[[], Tools]
    photo_read: Photo | None = field(default=None, init=False)
    cut_out_made: CutOut | None = field(default=None, init=False)

    @property
    def prefix(self) -> str:
        draft = self.run.draft
        return run_prefix(draft.owner_key, draft.id, draft.generation, draft.attempts)

    @property
    def work(self) -> Work:
        """What this run is wanted for; it is set for as long as the lease is held."""
        work = self.run.draft.work
        assert work is not None
        return work

    @property
    def reason(self) -> WorkReason:
        return self.work.reason

    @property
    def queue_delay_ms(self) -> int:
        """Of a run in the HTTP process 0: its message, a net, is not even visible yet."""
        return max(0, telemetry.milliseconds(self.work.queued_at, self.run.started_at))

    def elapsed_ms(self) -> int:
        return telemetry.milliseconds(self.run.started_at, self.deps.clock())

    def check_time(self) -> None:
        """Raises JobTimeLimitError when this run may no longer hold its lease."""
        if self.deps.clock() >= self.run.deadline:
            raise JobTimeLimitError

    def tell_started(self) -> None:
        telemetry.job_started(
            reason=self.reason,
            stage=str(self.run.draft.stage),
            dequeue_count=self.delivery.dequeue_count,
            queue_delay_ms=self.queue_delay_ms,
            lost_runs=self.work.lost_runs,
        )

    def photo(self) -> Photo:
        """The upload, read with If-Match and decoded once a run. Raises a BadImageError."""
        if self.photo_read is None:
            self.photo_read = pipeline.decode(self._raw())
        return self.photo_read

    def _raw(self) -> bytes:
        raw = self.run.draft.raw
        if raw is None:
            raise RawMissingError
        try:
            data = self.deps.uploads.read(raw.blob, etag=raw.etag)
        except ConflictError as error:
            raise RawChangedError from error
        if data is None:
            raise RawMissingError
        return data

    def cut_out(self) -> CutOut | None:
        """This run's cut-out, or the checkpoint's; None where nothing was cut out.

        Raises CheckpointLostError where the stored mask is gone.
        """
        made = self.run.draft.checkpoint
        if self.cut_out_made is None and made is not None and made.mask and made.box:
            mask = self.deps.images.read(made.mask)
            if mask is None:
                raise CheckpointLostError("the stored mask of the garment is gone")
            self.cut_out_made = CutOut(
                mask_png=mask,
                box=made.box,
                confidence=made.confidence or 0.0,
                segmentation=made.segmentation,
            )
        return self.cut_out_made

    def start_over(self) -> None:
        """Forget the checkpoint; the photo itself is still there."""
        self.cut_out_made = None
        self.run.apply(lambda draft, now: (lifecycle.start_over(draft, now), ()))
