"""What training shows the network: the same from the same seed, and always true to its label."""

from dataclasses import fields

import numpy as np
import pytest

from training.augment import Chances, random_example
from training.drawings import draw_nothing
from training.lessons import SIDE, Lessons

RED, BLUE, GREEN = (200, 30, 30), (30, 30, 200), (30, 200, 30)
PLAIN = Chances(**{chance.name: 0 for chance in fields(Chances)})


def changed(**chances: float) -> Chances:
    return Chances(**(vars(PLAIN) | chances))


@pytest.fixture
def lessons() -> Lessons:
    """One red square on blue, a green wall and a cloth of noise."""
    rgbm = np.zeros((1, SIDE, SIDE, 4), np.uint8)
    rgbm[..., :3] = BLUE
    rgbm[:, 100:156, 100:156] = (*RED, 255)
    cloth = np.random.default_rng(1).integers(0, 256, (1, 128, 128, 3), dtype=np.uint8)
    return Lessons(
        rgbm=rgbm,
        labels=np.array([3]),
        trust=np.array([0.5], np.float32),
        backgrounds=np.full((1, 128, 128, 3), GREEN, np.uint8),
        cloths=cloth,
    )


def spreads(example) -> tuple[float, float]:
    """Deviation of the colours well inside the garment, and well outside."""
    half = example.rgb[::2, ::2].astype(float)
    inside, outside = half[example.mask == 255], half[example.mask == 0]
    return float(inside.std(0).max()), float(outside.std(0).max())


@pytest.mark.parametrize("seed", range(8))
def test_the_same_seed_shows_the_same_view(lessons: Lessons, seed: int) -> None:
    first, second, other = (
        random_example(lessons, 0, 128, Chances(), np.random.default_rng(number))
        for number in (seed, seed, seed + 100)
    )
    assert np.array_equal(first.rgb, second.rgb)
    assert np.array_equal(first.mask, second.mask)
    assert not np.array_equal(first.rgb, other.rgb)


def test_a_view_carries_the_label_and_the_trust_of_its_photo(lessons: Lessons) -> None:
    example = random_example(lessons, 0, 128, PLAIN, np.random.default_rng(0))
    assert (example.label, example.mask_weight) == (3, 0.5)
    assert example.rgb.shape == (128, 128, 3)
    assert example.mask.shape == (64, 64)


@pytest.mark.parametrize("seed", range(8))
def test_the_mask_lies_on_the_garment_however_it_is_turned(lessons: Lessons, seed: int) -> None:
    chances = changed(turn=30.0, zoom=0.4, closer=0.5)
    example = random_example(lessons, 0, 128, chances, np.random.default_rng(seed))
    assert (example.mask == 255).any()
    assert max(spreads(example)) < 1


@pytest.mark.parametrize("seed", range(8))
def test_a_closer_view_is_filled_by_the_garment(lessons: Lessons, seed: int) -> None:
    far, close = (
        random_example(lessons, 0, 128, changed(closer=closer), np.random.default_rng(seed))
        for closer in (0, 1)
    )
    assert (far.mask > 127).mean() < 0.08
    assert (close.mask > 127).mean() > 0.3


def test_a_photo_without_a_garment_has_no_closer_view(lessons: Lessons) -> None:
    lessons.rgbm[..., 3] = 0
    example = random_example(lessons, 0, 128, changed(closer=1), np.random.default_rng(0))
    assert not example.mask.any()


def test_a_pattern_is_on_the_garment_or_on_what_it_lies_on_never_on_both(
    lessons: Lessons,
) -> None:
    sides = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        inside, outside = spreads(random_example(lessons, 0, 128, changed(pattern=1), rng))
        assert min(inside, outside) < 1
        sides.add(inside > outside)
    assert sides == {True, False}


@pytest.mark.parametrize("cloth", [0, 1])
def test_another_background_leaves_the_garment_alone(lessons: Lessons, cloth: int) -> None:
    chances = changed(new_background=1, cloth=cloth)
    inside, outside = spreads(random_example(lessons, 0, 128, chances, np.random.default_rng(2)))
    assert inside < 1
    assert (outside > 10) == bool(cloth)


def test_a_picture_of_nothing_has_no_mask_and_no_category(lessons: Lessons) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        example = random_example(lessons, 0, 128, changed(nothing=1), rng)
        assert example.label == -1
        assert not example.mask.any()


def test_drawings_come_again_from_their_seed() -> None:
    drawings = [draw_nothing(96, np.random.default_rng([seed])) for seed in (5, 5, 6)]
    assert drawings[0].shape == (96, 96, 3)
    assert np.array_equal(drawings[0], drawings[1])
    assert not np.array_equal(drawings[0], drawings[2])
