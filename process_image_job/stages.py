"""What is left to do from the checkpoint on; each stage ends in one conditional write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from process_image_job import pipeline
from process_image_job.job import Job
from process_image_job.values import CutOut, EncodedPicture, Photo
from shared import telemetry
from shared.domain import lifecycle
from shared.domain.draft import Draft, Pictures, Stage, WorkReason
from shared.domain.errors import (
    CheckpointLostError,
    EncodingError,
    ProcessorUnavailableError,
)
from shared.domain.events import Event, EventType, event_of
from shared.domain.pictures import Caution, Rendition, Segmentation
from shared.leftovers import tidy
from shared.sending import send

DEGRADED_DELAY = timedelta(minutes=15)


def run_stages(job: Job) -> None:
    """Run what the checkpoint says remains; all of it where what was stored is of no use."""
    try:
        _run_from_checkpoint(job)
    except CheckpointLostError as error:
        telemetry.checkpoint_lost(stage=str(job.run.draft.stage), error=str(error))
        job.start_over()
        _run_from_checkpoint(job)


def _run_from_checkpoint(job: Job) -> None:
    """One stage after the other, with the time limit checked in between."""
    for stage, work in STAGES:
        at = job.run.draft.stage
        if at is not None and at.order < stage.order:
            job.check_time()
            start = job.deps.clock()
            work(job)
            telemetry.stage_done(
                stage=stage, duration_ms=telemetry.milliseconds(start, job.deps.clock())
            )


def segment(job: Job) -> None:
    """Store the mask, the crop box and the confidence; never a full cut-out."""
    photo = job.photo()
    draft = job.run.draft
    if draft.skip_segmentation or job.delivery.message.skip_segmentation:
        made, cautions = Pictures(segmentation=Segmentation.SKIPPED), photo.cautions
    else:
        found, cautions = _cut_out(job, photo)
        job.cut_out_made = found
        mask = f"{job.prefix}mask.png"
        job.deps.images.put(mask, found.mask_png, content_type="image/png")
        made = Pictures(
            segmentation=found.segmentation,
            mask=mask,
            box=found.box,
            confidence=found.confidence,
        )
    _checkpoint(job, Stage.SEGMENTED, EventType.SEGMENTED, checkpoint=made, cautions=cautions)


def _cut_out(job: Job, photo: Photo) -> tuple[CutOut, tuple[Caution, ...]]:
    """By the segmenter of the settings; the last run falls back to the local one."""
    tools = job.tools()
    try:
        found = pipeline.cut_out(photo, tools.segmenter, check_time=job.check_time)
    except ProcessorUnavailableError:
        if not job.run.is_last or job.reason is WorkReason.DEGRADED:
            raise
        local = pipeline.cut_out(photo, tools.local_segmenter, check_time=job.check_time)
        found = replace(local, segmentation=Segmentation.DEGRADED)
        return found, (*photo.cautions, *found.cautions, Caution.SEGMENTATION_DEGRADED)
    return found, (*photo.cautions, *found.cautions)


def render(job: Job) -> None:
    """Store the renditions of the cut-out and of the photo as taken."""
    made = job.run.draft.checkpoint
    assert made is not None
    rendered = pipeline.render(
        job.photo(),
        job.cut_out(),
        watermark=job.deps.settings.watermark_text,
        check_time=job.check_time,
    )
    renditions = {picture.name: _store(job, picture) for picture in rendered.pictures}
    full = replace(
        made,
        renditions=renditions,
        blur_hash=rendered.cutout_blur_hash,
        original_blur_hash=rendered.original_blur_hash,
    )
    _checkpoint(job, Stage.RENDERED, EventType.RENDERED, checkpoint=full)


def _store(job: Job, picture: EncodedPicture) -> Rendition:
    job.check_time()
    if not picture.data:
        raise EncodingError(f"the rendition {picture.name} came out empty")
    name = f"{job.prefix}{picture.name}.webp"
    job.deps.images.put(name, picture.data, content_type="image/webp")
    return Rendition(blob=name, width=picture.width, height=picture.height, size=len(picture.data))


def analyze(job: Job) -> None:
    """Colours, category and title on the row, right after the provider's answer."""
    colors = pipeline.analyze(job.photo(), job.cut_out())
    named = job.tools().name(job.photo(), job.cut_out(), colors, last=job.run.is_last)
    cautions = (*job.run.draft.cautions, *named.cautions)
    _checkpoint(job, Stage.ANALYZED, EventType.ANALYZED, analysis=named.metadata, cautions=cautions)


STAGES: tuple[tuple[Stage, Callable[[Job], None]], ...] = (
    (Stage.SEGMENTED, segment),
    (Stage.RENDERED, render),
    (Stage.ANALYZED, analyze),
)


def _checkpoint(job: Job, stage: Stage, event: EventType, **changes: object) -> None:
    def step(draft: Draft, now: datetime) -> tuple[Draft, Iterable[Event]]:
        return lifecycle.reach(draft, stage, now, **changes), [event_of(draft, event, now)]

    job.run.apply(step)


def finish(job: Job) -> None:
    """Ready (or Accepted) with the lease given back, in one write; then tidy up."""
    work, queue_delay = job.work, job.queue_delay_ms
    draft = job.run.apply(_finished)
    telemetry.draft_ready(
        reason=work.reason,
        status=draft.status,
        duration_ms=job.elapsed_ms(),
        total_ms=telemetry.milliseconds(work.started_at, job.deps.clock()),
        queue_delay_ms=queue_delay,
        segmentation=str(draft.segmentation),
        metadata_source=draft.metadata.source if draft.metadata else "none",
        warnings=len(draft.warnings),
    )
    if draft.work is not None:
        send(draft, job.deps, delay=DEGRADED_DELAY)
    tidy(job.deps.outbox.flush(draft, job.deps.clock()), job.deps)


def _finished(draft: Draft, now: datetime) -> tuple[Draft, Iterable[Event]]:
    done = lifecycle.finish(draft, now)
    events = [event_of(draft, EventType.READY, now)]
    if draft.accept_requested:
        return done, [*events, event_of(draft, EventType.ACCEPTED, now)]
    if done.segmentation is Segmentation.DEGRADED:
        again = lifecycle.reprocess(
            done, Stage.SEGMENTED, WorkReason.DEGRADED, now, delay=DEGRADED_DELAY
        )
        return again, events
    return done, events
