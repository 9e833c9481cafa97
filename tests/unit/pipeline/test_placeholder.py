"""BlurHash: short, right, and of what is seen."""

import blurhash
import numpy as np
import pytest

from process_image_job.steps.placeholder import blur_hash


@pytest.mark.parametrize(("height", "width"), [(48, 64), (64, 64), (20, 64)])
def test_blur_hash_equals_the_reference(height: int, width: int) -> None:
    """Another implementation, written by other people, gives the same text."""
    pixels = np.random.default_rng(1).integers(0, 255, (height, width, 3), np.uint8)
    assert blur_hash(pixels, None) == blurhash.encode(pixels.astype(int), 4, 3)


def test_blur_hash_of_portrait() -> None:
    """More waves go along the longer side."""
    assert blur_hash(np.zeros((80, 60, 3), np.uint8), None).startswith("T")


def test_blur_hash_of_transparent_picture() -> None:
    """What is transparent counts as white paper."""
    hidden = blur_hash(np.zeros((60, 80, 3), np.uint8), np.zeros((60, 80), np.uint8))
    assert hidden == blur_hash(np.full((60, 80, 3), 255, np.uint8), None)


def test_blur_hash_of_gradient() -> None:
    """Light on the left and dark on the right do not give the mirrored hash."""
    ramp = np.linspace(255, 0, 80).astype(np.uint8)
    picture = np.repeat(np.tile(ramp, (60, 1))[..., None], 3, axis=2)
    assert blur_hash(picture, None) != blur_hash(picture[:, ::-1], None)
