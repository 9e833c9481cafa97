"""Teacher masks for the training photos: U2-Net-P, and GrabCut seeded by it.

The label is the mean of both; where they disagree the pixel counts less, and a photo on which
they disagree much counts less as a whole. Reference masks are never read here.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import onnxruntime

from training.grabcut import seeded_grabcut
from training.photos import TEACHER_SIDE, list_photos, read_rgb, squash

TEACHER_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
TEACHER_STD = np.array([0.229, 0.224, 0.225], np.float32)


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What one photo teaches: arrays of TEACHER_SIDE squared, uint8."""

    rgb: np.ndarray
    teacher: np.ndarray  # U2-Net-P, 255 = garment
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
    soft = _teacher.mask(rgb)
    refined = seeded_grabcut(rgb, soft)
    return Lesson(
        rgb=rgb,
        teacher=np.round(soft * 255).astype(np.uint8),
        refined=refined.astype(np.uint8) * 255,
    )


def teach(photos: Path, model: Path, cache: Path) -> Path:
    """Makes `cache` (npz: rgb, teacher, refined, labels, names) unless it is there."""
    if cache.exists():
        return cache
    listed = list_photos(photos)
    with ProcessPoolExecutor(os.cpu_count(), None, _start_worker, (model,)) as pool:
        lessons = []
        for done, lesson in enumerate(pool.map(_teach_one, [p.path for p in listed], chunksize=8)):
            lessons.append(lesson)
            if done % 256 == 0:
                print(f"teacher masks: {done} of {len(listed)}", flush=True)
    cache.parent.mkdir(parents=True, exist_ok=True)
    partial = cache.with_suffix(".partial.npz")
    np.savez(
        partial,
        rgb=np.stack([lesson.rgb for lesson in lessons]),
        teacher=np.stack([lesson.teacher for lesson in lessons]),
        refined=np.stack([lesson.refined for lesson in lessons]),
        labels=np.array([photo.label for photo in listed]),
        names=np.array([photo.path.stem for photo in listed]),
    )
    partial.rename(cache)
    return cache
