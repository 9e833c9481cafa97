"""Drawn pictures without garments: gradients, noise, shapes, grids and lines of text."""

import cv2
import numpy as np


def draw_nothing(side: int, rng: np.random.Generator) -> np.ndarray:
    """One random drawing, uint8 RGB."""
    kinds = (_gradient, _noise, _shapes, _grid, _text)
    return kinds[rng.integers(len(kinds))](side, rng)


def _colour(rng: np.random.Generator) -> tuple[int, int, int]:
    red, green, blue = rng.integers(0, 256, 3)
    return int(red), int(green), int(blue)


def _gradient(side: int, rng: np.random.Generator) -> np.ndarray:
    corners = rng.integers(0, 256, (2, 2, 3)).astype(np.uint8)
    return cv2.resize(corners, (side, side), interpolation=cv2.INTER_LINEAR)


def _noise(side: int, rng: np.random.Generator) -> np.ndarray:
    cells = int(rng.integers(4, side))
    coarse = rng.integers(0, 256, (cells, cells, 3)).astype(np.uint8)
    return cv2.resize(coarse, (side, side), interpolation=cv2.INTER_CUBIC)


def _shapes(side: int, rng: np.random.Generator) -> np.ndarray:
    canvas = _gradient(side, rng)
    for _ in range(int(rng.integers(1, 9))):
        first, second = rng.integers(0, side, (2, 2)).tolist()
        if rng.random() < 0.5:
            cv2.rectangle(canvas, first, second, _colour(rng), -1)
        else:
            axes = np.abs(np.subtract(first, second)).tolist()
            cv2.ellipse(canvas, first, axes, float(rng.uniform(0, 180)), 0, 360, _colour(rng), -1)
    return canvas


def _grid(side: int, rng: np.random.Generator) -> np.ndarray:
    canvas = np.full((side, side, 3), _colour(rng), np.uint8)
    step, colour = int(rng.integers(6, side // 3)), _colour(rng)
    thickness = int(rng.integers(1, 4))
    for place in range(0, side, step):
        cv2.line(canvas, (place, 0), (place, side), colour, thickness)
        cv2.line(canvas, (0, place), (side, place), colour, thickness)
    return canvas


def _text(side: int, rng: np.random.Generator) -> np.ndarray:
    paper = int(rng.integers(180, 256))
    canvas = np.full((side, side, 3), paper, np.uint8)
    height = int(rng.integers(6, 18))
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz    "))
    for line in range(height, side, int(height * 1.6)):
        words = "".join(rng.choice(letters, 40))
        ink = (int(rng.integers(0, 100)),) * 3
        cv2.putText(canvas, words, (4, line), cv2.FONT_HERSHEY_SIMPLEX, height / 30, ink, 1)
    return canvas
