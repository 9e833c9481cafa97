"""Mask labels: how much each is trusted, and what is cut out of the photos around them."""

from pathlib import Path

import numpy as np
import pytest

from training.grabcut import seeded_grabcut
from training.lessons import SIDE, bare_background, load_lessons, plain_cloth
from training.photos import TEACHER_SIDE


def box(side: int, left: int, right: int) -> np.ndarray:
    mask = np.zeros((side, side), np.uint8)
    mask[40 : side - 40, left:right] = 255
    return mask


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Two photos: on the first both labels agree, on the second they hardly meet."""
    teacher = np.stack([box(TEACHER_SIDE, 60, 260), box(TEACHER_SIDE, 60, 160)])
    refined = np.stack([box(TEACHER_SIDE, 60, 260), box(TEACHER_SIDE, 140, 260)])
    path = tmp_path / "lessons.npz"
    rgb = np.full((2, TEACHER_SIDE, TEACHER_SIDE, 3), 90, np.uint8)
    np.savez(path, rgb=rgb, teacher=teacher, refined=refined, labels=np.array([0, 7]))
    return path


def test_labels_are_the_mean_and_trusted_as_far_as_both_agree(cache: Path) -> None:
    lessons = load_lessons(cache)
    assert lessons.labels.tolist() == [0, 7]
    assert lessons.trust.tolist() == pytest.approx([1.0, 0.1])
    label = lessons.rgbm[1, SIDE // 2, :, 3]
    at = [label[x * SIDE // TEACHER_SIDE] for x in (20, 100, 150, 200)]
    assert at == [0, 128, 255, 128]


def test_labels_that_leave_no_background_are_told(tmp_path: Path) -> None:
    path, full = tmp_path / "lessons.npz", np.full((1, TEACHER_SIDE, TEACHER_SIDE), 255, np.uint8)
    rgb = np.zeros((*full.shape, 3), np.uint8)
    np.savez(path, rgb=rgb, teacher=full, refined=full, labels=np.array([0]))
    with pytest.raises(ValueError, match="no photo has a bare_background"):
        load_lessons(path)


def test_background_and_cloth_keep_to_their_sides_of_the_outline() -> None:
    rgbm = np.zeros((SIDE, SIDE, 4), np.uint8)
    rgbm[..., 0] = 200
    rgbm[80:200, 60:190] = (0, 0, 200, 255)
    bare, cloth = bare_background(rgbm), plain_cloth(rgbm)
    assert bare is not None
    assert cloth is not None
    assert (bare == (200, 0, 0)).all()
    assert (cloth == (0, 0, 200)).all()


@pytest.mark.parametrize("label", [0, 255])
def test_a_side_that_is_not_there_gives_no_crop(label: int) -> None:
    rgbm = np.full((SIDE, SIDE, 4), label, np.uint8)
    crops = {0: plain_cloth(rgbm), 255: bare_background(rgbm)}
    assert crops[label] is None


def test_grabcut_moves_an_unsure_outline_to_the_edge_of_the_picture() -> None:
    rgb = np.full((96, 96, 3), 220, np.uint8)
    rgb[20:76, 30:66] = (20, 40, 160)
    probability = np.zeros((96, 96), np.float32)
    probability[10:86, 20:76] = 0.6  # ten pixels too wide all round
    probability[30:66, 40:56] = 0.95
    found = seeded_grabcut(rgb, probability)
    assert np.array_equal(found, rgb[..., 0] == 20)


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_grabcut_leaves_a_mask_without_two_sides_as_it_is(level: float) -> None:
    probability = np.full((32, 32), level, np.float32)
    found = seeded_grabcut(np.zeros((32, 32, 3), np.uint8), probability)
    assert np.array_equal(found, probability > 0.5)
