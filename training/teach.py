"""Pseudo-labels for the training photos: a learned mask, and GrabCut seeded by it.

In the first round the learned mask is U2-Net-P's, in later ones the mean of that and of our own
network's after the round before: they seldom fail on the same photo. The label is the mean of the
learned mask and GrabCut's; where these disagree the pixel counts less, and a photo on which they
disagree much counts less as a whole. Reference masks are never read here.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import onnxruntime

from process_image_job.garment_model import GarmentModel
from training.grabcut import seeded_grabcut
from training.photos import TEACHER_SIDE, list_photos, read_rgb, squash

TEACHER_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
TEACHER_STD = np.array([0.229, 0.224, 0.225], np.float32)


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What one photo teaches: arrays of TEACHER_SIDE squared, uint8."""

    rgb: np.ndarray
    teacher: np.ndarray  # the learned mask, 255 = garment
    refined: np.ndarray  # GrabCut seeded by it, 0 or 255


class Teacher:
    """U2-Net-P on one thread."""

    def __init__(self, model: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(model), options)
        self._input = self._session.get_inputs()[0].name
        self._output = self._session.get_outputs()[0].name

    def mask(self, rgb: np.ndarray) -> np.ndarray:
        """Garment probability, float32, for a square picture of TEACHER_SIDE."""
        scaled = rgb.astype(np.float32) / max(int(rgb.max()), 1)
        blob = ((scaled - TEACHER_MEAN) / TEACHER_STD).transpose(2, 0, 1)[None]
        raw = self._session.run([self._output], {self._input: blob.astype(np.float32)})[0][0, 0]
        return (raw - raw.min()) / (raw.max() - raw.min() + 1e-6)


_teacher: Teacher | None = None  # one per worker process


def _start_worker(model: Path) -> None:
    global _teacher
    cv2.setNumThreads(1)
    _teacher = Teacher(model)


def _teach_one(path: Path) -> Lesson:
    if _teacher is None:
        raise RuntimeError("worker not started")
    rgb = squash(read_rgb(path), TEACHER_SIDE)
    return _lesson(rgb, _teacher.mask(rgb))


def _lesson(rgb: np.ndarray, learned: np.ndarray) -> Lesson:
    refined = seeded_grabcut(rgb, learned)
    return Lesson(
        rgb=rgb,
        teacher=np.round(learned * 255).astype(np.uint8),
        refined=refined.astype(np.uint8) * 255,
    )


def teach(photos: Path, model: Path, cache: Path) -> Path:
    """The first round: makes `cache` (npz: rgb, teacher, refined, labels, names) if not there."""
    if cache.exists():
        return cache
    listed = list_photos(photos)
    with ProcessPoolExecutor(os.cpu_count(), None, _start_worker, (model,)) as pool:
        lessons = _told(pool.map(_teach_one, [photo.path for photo in listed], chunksize=8))
    labels = np.array([photo.label for photo in listed])
    _keep(cache, lessons, labels, np.array([photo.path.stem for photo in listed]))
    return cache


_own: GarmentModel | None = None  # one per worker process


def _start_again(own: Path) -> None:
    global _own
    cv2.setNumThreads(1)
    _own = GarmentModel(own)


def _teach_again_one(lesson: tuple[np.ndarray, np.ndarray]) -> Lesson:
    if _own is None:
        raise RuntimeError("worker not started")
    rgb, teacher = lesson
    mask = cv2.resize(_own.predict(rgb).mask, (TEACHER_SIDE, TEACHER_SIDE))
    return _lesson(rgb, (teacher.astype(np.float32) / 255 + mask) / 2)


def teach_again(first: Path, own: Path, cache: Path) -> Path:
    """A later round: `first` with the say of the exported network in the folder `own`."""
    if cache.exists():
        return cache
    with np.load(first) as stored:
        rgb, teacher, labels, names = (stored[k] for k in ("rgb", "teacher", "labels", "names"))
    with ProcessPoolExecutor(os.cpu_count(), None, _start_again, (own,)) as pool:
        lessons = _told(pool.map(_teach_again_one, zip(rgb, teacher, strict=True), chunksize=8))
    _keep(cache, lessons, labels, names)
    return cache


def _told(lessons: Iterator[Lesson]) -> list[Lesson]:
    kept = []
    for lesson in lessons:
        if len(kept) % 256 == 0:
            print(f"teacher masks: {len(kept)}", flush=True)
        kept.append(lesson)
    return kept


def _keep(cache: Path, lessons: list[Lesson], labels: np.ndarray, names: np.ndarray) -> None:
    cache.parent.mkdir(parents=True, exist_ok=True)
    partial = cache.with_suffix(".partial.npz")
    np.savez(
        partial,
        rgb=np.stack([lesson.rgb for lesson in lessons]),
        teacher=np.stack([lesson.teacher for lesson in lessons]),
        refined=np.stack([lesson.refined for lesson in lessons]),
        labels=labels,
        names=names,
    )
    partial.rename(cache)
