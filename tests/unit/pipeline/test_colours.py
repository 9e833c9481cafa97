"""Colours: named as a person in fashion would, from the garment alone."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from process_image_job.pipeline import analyze, cut_out
from process_image_job.segmenters.local import LocalSegmenter
from process_image_job.steps.crop import garment_box, mask_png
from process_image_job.steps.decode import decode
from process_image_job.values import CutOut
from shared.domain.pictures import Color, Segmentation
from tests.unit.pipeline import drawing


def colours_of(picture: np.ndarray, mask: np.ndarray) -> tuple[Color, ...]:
    photo = decode(drawing.saved(picture, quality=92))
    cut_out = CutOut(
        mask_png=mask_png(mask),
        box=garment_box(mask, photo),
        confidence=0.9,
        segmentation=Segmentation.APPLIED,
    )
    return analyze(photo, cut_out)


@pytest.mark.parametrize(
    ("colour", "wall", "name"),
    [
        (drawing.BLUE, (245, 245, 243), "Blue"),
        (drawing.WHITE, (128, 130, 134), "White"),
        (drawing.BLACK, (236, 236, 236), "Black"),
        (drawing.GREY, (245, 240, 230), "Grey"),
        (drawing.RED, (90, 120, 90), "Red"),
        ((211, 193, 163), (60, 70, 90), "Beige"),
        ((28, 37, 65), (230, 230, 230), "Navy"),
        ((79, 108, 145), (230, 230, 230), "Denim"),
    ],
)
def test_colours_of_plain_garment(
    colour: tuple[int, int, int], wall: tuple[int, int, int], name: str
) -> None:
    """The first colour is the garment's, never the wall's."""
    mask = drawing.tee_mask()
    found = colours_of(drawing.on_wall(mask, colour, wall), mask)
    assert found[0].name == name
    assert found[0].share > 0.7


def test_colours_of_stripes() -> None:
    """Two colours are found; no mixture of them is invented."""
    mask = drawing.tee_mask()
    picture = drawing.on_wall(mask, drawing.RED, (90, 120, 150))
    rows = (np.arange(mask.shape[0]) // 24 % 2 == 0)[:, None] & (mask > 127)
    picture[rows] = drawing.WHITE
    found = colours_of(picture, mask)
    assert {color.name for color in found} == {"Red", "White"}


def test_colours_of_a_worn_garment() -> None:
    """Arms that the mask has kept are no larger than the cloth: it comes first."""
    mask = drawing.tee_mask()
    picture = drawing.on_wall(mask, drawing.BLUE)
    skin = np.zeros(mask.shape, bool)
    skin[:, :140], skin[:, -140:] = True, True
    picture[skin & (mask > 127)] = (224, 172, 140)
    assert colours_of(picture, mask)[0].name == "Blue"


def test_colours_of_a_single_colour() -> None:
    """A garment of one colour has one, with the whole share."""
    mask = drawing.tee_mask()
    (found,) = colours_of(drawing.on_wall(mask, (36, 89, 181), grain=0), mask)
    assert found.share == pytest.approx(1, abs=0.01)


def test_colours_are_values() -> None:
    """Hex codes are #rrggbb, shares fall and add up to at most one, five at the most."""
    mask = np.full((300, 400), 255, np.uint8)
    found = colours_of(np.random.default_rng(1).integers(0, 255, (300, 400, 3), np.uint8), mask)
    shares = [color.share for color in found]
    assert 1 <= len(found) <= 5
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 1.001
    assert [color.hex for color in found if not re.fullmatch("#[0-9a-f]{6}", color.hex)] == []


def test_colours_of_transparent_picture() -> None:
    """Hidden pixels have no say."""
    mask = drawing.tee_mask()
    rgba = np.dstack([drawing.on_wall(mask, drawing.RED, (20, 200, 20)), mask])
    found = analyze(decode(drawing.saved(rgba, "PNG")), None)
    assert found[0].name == "Red"
    assert "Green" not in {color.name for color in found}


def test_colours_of_photos_labelled_by_eye(shared_data: Path) -> None:
    """Of 40 real photos the first colour is the labelled one, or one that a person may also say."""
    labels = json.loads((Path(__file__).parent / "colour_labels.json").read_text())
    exact = accepted = 0
    for name, label in labels.items():
        photo = decode((shared_data / "garments-validation" / name).read_bytes())
        first = analyze(photo, cut_out(photo, LocalSegmenter()))[0].name
        exact += first == label["first"]
        accepted += first in [label["first"], *label["also"]]
    assert len(labels) == 40
    assert (exact, accepted) >= (26, 34)
    assert accepted >= 34


@pytest.mark.parametrize("size", [(99, 99), (600, 800)])
def test_colours_of_a_wholly_transparent_picture(size: tuple[int, int]) -> None:
    """Where nothing can be seen there is no colour, and no number that is not one."""
    photo = decode(drawing.saved(np.zeros((*size, 4), np.uint8), "PNG"))
    assert analyze(photo, cut_out(photo, LocalSegmenter())) == ()
    assert analyze(photo, None) == ()
