"""HEICs that are made of several pictures, and what they may ask of a decoder."""

import numpy as np
import pytest

from process_image_job.steps.decode import decode
from shared.domain import errors
from shared.image_probe import probe
from tests.unit.pipeline.heic_of_tiles import heic_of_tiles


@pytest.mark.parametrize("own_data", [True, False])
def test_heic_of_tiles_is_a_photo(own_data: bool) -> None:
    """Phones cut their photos into tiles; the last ones stick out of the picture."""
    photo = decode(heic_of_tiles(tile=256, across=2, canvas=400, said=400, own_data=own_data))
    assert photo.rgb.shape == (400, 400, 3)
    assert np.abs(photo.rgb[399, 399].astype(int) - (200, 10, 10)).max() < 12


@pytest.mark.parametrize("own_data", [True, False])
def test_heic_whose_canvas_is_larger_than_it_says(own_data: bool) -> None:
    """The decoder would reserve the canvas before it looks at the header's size."""
    bomb = heic_of_tiles(tile=256, across=100, canvas=25_600, said=100, own_data=own_data)
    with pytest.raises(errors.ImageTooLargeError, match="25600 x 25600"):
        probe(bomb)


def test_heic_with_tiles_beyond_its_canvas() -> None:
    """The decoder would decode each tile as often as it is named, seen or not."""
    bomb = heic_of_tiles(tile=1024, across=15, canvas=1024, said=1024)
    with pytest.raises(errors.ImageTooLargeError, match="more parts"):
        probe(bomb)


def test_heic_that_is_laid_out() -> None:
    """An overlay has a canvas of its own as well, and no phone makes one."""
    with pytest.raises(errors.UnsupportedFormatError):
        probe(heic_of_tiles(tile=64, across=1, canvas=30_000, said=100, kind=b"iovl"))


def test_heic_of_tiles_with_flipped_bits() -> None:
    """Damage anywhere in the boxes ends in a photo or a BadImageError."""
    good, random = heic_of_tiles(tile=64, across=2, canvas=100, said=100), np.random.default_rng(7)
    outcomes = set()
    for _ in range(400):
        damaged = bytearray(good)
        for at in random.integers(0, len(good), 4):
            damaged[at] ^= 1 << int(random.integers(8))
        outcomes.add(outcome(bytes(damaged)))
    assert {"Probe", "CorruptImageError"} <= outcomes


def outcome(data: bytes) -> str:
    try:
        return type(probe(data)).__name__
    except errors.BadImageError as error:
        return type(error).__name__
