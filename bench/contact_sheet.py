"""One picture that shows what became of each photo: before, cut-out, category and colours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

CELL = 300  # pixels, before and after
TEXT = 260
GAP = 12
COLUMNS = 2
_CHECKER = (236, 224)  # grey levels behind transparency
_TILE = 12


def contact_sheet(rows: Sequence[tuple[Path, Path, dict[str, Any]]]) -> Image.Image:
    """(photo, cut-out, metadata as in the API) in two columns."""
    width = COLUMNS * (2 * CELL + TEXT + 3 * GAP)
    height = -(-len(rows) // COLUMNS) * (CELL + GAP) + GAP
    sheet = Image.new("RGB", (width, max(height, GAP)), "white")
    for number, (before, after, metadata) in enumerate(rows):
        left = (number % COLUMNS) * (width // COLUMNS) + GAP
        top = (number // COLUMNS) * (CELL + GAP) + GAP
        _paste(sheet, before, left, top)
        _paste(sheet, after, left + CELL + GAP, top)
        _describe(sheet, metadata, left + 2 * (CELL + GAP), top)
    return sheet


def _paste(sheet: Image.Image, path: Path, left: int, top: int) -> None:
    with Image.open(path) as opened:
        picture = opened.convert("RGBA")
    picture.thumbnail((CELL, CELL))
    cell = _checkerboard()
    offset = ((CELL - picture.width) // 2, (CELL - picture.height) // 2)
    cell.paste(picture, offset, picture)
    sheet.paste(cell, (left, top))


def _checkerboard() -> Image.Image:
    board = Image.new("RGB", (CELL, CELL), (_CHECKER[0],) * 3)
    draw = ImageDraw.Draw(board)
    for x in range(0, CELL, _TILE):
        for y in range((x // _TILE % 2) * _TILE, CELL, 2 * _TILE):
            draw.rectangle((x, y, x + _TILE - 1, y + _TILE - 1), fill=(_CHECKER[1],) * 3)
    return board


def _describe(sheet: Image.Image, metadata: dict[str, Any], left: int, top: int) -> None:
    draw = ImageDraw.Draw(sheet)
    title = metadata["title"] or metadata["category"]
    draw.text((left, top + 8), title, fill="black", font=ImageFont.load_default(20))
    for number, color in enumerate(metadata["colors"]):
        y = top + 48 + number * 36
        draw.rectangle((left, y, left + 28, y + 28), fill=color["hex"], outline="grey")
        text = f"{color['name']}  {color['share']:.0%}"
        draw.text((left + 38, y + 4), text, fill="black", font=ImageFont.load_default(16))
