"""Sizes that a HEIC or AVIF names outside its header: of pictures that are made of others.

A grid or an overlay carries its canvas in its own data, and libheif reserves that before it sees
that the header says another size: 500 bytes can ask for gigabytes. It decodes every tile that is
named, as often as it is named, also beyond the canvas: 2 KB can ask for minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shared.domain.errors import ImageTooLargeError, UnsupportedFormatError
from shared.image_headers.iso_boxes import boxes

type Check = Callable[[int, int], None]
type Place = tuple[bytes, int, int]  # kind, start and end of a box's content

_GRID, _OVERLAY = b"grid", b"iovl"
_CANVAS = 12  # bytes of a grid: version, flags, rows, columns, then width and height
_MOST = 2**20  # bytes of one extent that are looked at
MOST_TILE_PIXELS = 200_000_000  # four times what a photo may have; the tiles of one stick out a bit


@dataclass(slots=True)
class _Reader:
    """Big-endian numbers, one after the other; zeros behind the end."""

    data: bytes
    at: int
    end: int

    def number(self, size: int) -> int:
        found = self.data[self.at : min(self.at + size, self.end)]
        self.at += size
        return int.from_bytes(found)


def check_canvases(data: bytes, check: Check) -> None:
    """Calls `check(width, height)` for each grid. Raises what it raises, ImageTooLargeError where
    the tiles are many times the photo, UnsupportedFormatError for an overlay: no phone makes one.
    """
    for kind, start, end in boxes(data, 0, len(data)):
        if kind == b"meta":
            inside = list(boxes(data, start + 4, end))
            _check_grids(data, inside, check)
            _check_tiles(data, inside)


def _check_grids(data: bytes, inside: list[Place], check: Check) -> None:
    items = [item for kind, *at in inside if kind == b"iinf" for item in _items(data, *at)]
    if any(kind == _OVERLAY for _, kind in items):
        raise UnsupportedFormatError("The photo is laid out of several pictures. Export it again.")
    grids = {number for number, kind in items if kind == _GRID}
    inner = next((start for kind, start, _ in inside if kind == b"idat"), 0)
    for kind, start, end in inside:
        if kind == b"iloc" and grids:
            for number, content in _contents(data, _Reader(data, start, end), inner):
                if number in grids:
                    check(*_canvas(content))


def _check_tiles(data: bytes, inside: list[Place]) -> None:
    areas: dict[int, int] = {}
    for kind, start, end in inside:
        if kind == b"iprp":
            areas |= _areas(data, list(boxes(data, start, end)))
    used = [part for kind, *at in inside if kind == b"iref" for part in _parts(data, *at)]
    if sum(areas.get(part, 0) for part in used) > MOST_TILE_PIXELS:
        raise ImageTooLargeError("The photo is made of more parts than any is.")


def _areas(data: bytes, inside: list[Place]) -> dict[int, int]:
    """Pixels of each item, by the largest size that is linked to it."""
    known = [
        _area(data, place)
        for kind, start, end in inside
        if kind == b"ipco"
        for place in boxes(data, start, end)
    ]
    areas: dict[int, int] = {}
    for kind, start, end in inside:
        if kind == b"ipma":
            for number, index in _links(_Reader(data, start, end)):
                area = known[index - 1] if 0 < index <= len(known) else 0
                areas[number] = max(area, areas.get(number, 0))
    return areas


def _area(data: bytes, place: Place) -> int:
    kind, start, end = place
    reader = _Reader(data, start + 4, end)
    return reader.number(4) * reader.number(4) if kind == b"ispe" else 0


def _links(reader: _Reader) -> Iterator[tuple[int, int]]:
    """Number of an item, and of a property from 1 on."""
    head = reader.number(4)
    wide, size = 4 if head >> 24 else 2, 2 if head & 1 else 1
    for _ in range(reader.number(4)):
        if reader.at >= reader.end:
            return
        number = reader.number(wide)
        for _ in range(reader.number(1)):
            yield number, reader.number(size) & (0x7FFF if size == 2 else 0x7F)


def _parts(data: bytes, start: int, end: int) -> Iterator[int]:
    """Each item that another one is made of, as often as it is named."""
    wide = 4 if data[start : start + 1] != b"\0" else 2
    for kind, at, stop in boxes(data, start + 4, end):
        if kind == b"dimg":
            reader = _Reader(data, at + wide, stop)
            for _ in range(min(reader.number(2), stop - at)):
                yield reader.number(wide)


def _items(data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Number and kind of each item that is listed."""
    count_size = 2 if data[start : start + 1] == b"\0" else 4
    for kind, at, stop in boxes(data, start + 4 + count_size, end):
        if kind == b"infe":
            reader = _Reader(data, at, stop)
            version = reader.number(4) >> 24
            number, _ = reader.number(2 if version < 3 else 4), reader.number(2)
            yield number, data[reader.at : reader.at + 4]


def _contents(data: bytes, reader: _Reader, inner: int) -> Iterator[tuple[int, bytes]]:
    """Number and first bytes of each item; `inner` is where the meta box keeps data of its own."""
    version, sizes = reader.number(4) >> 24, reader.number(2)
    offset_size, length_size, base_size = sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15
    index_size = sizes & 15 if version else 0
    wide = 2 if version < 2 else 4
    for _ in range(reader.number(wide)):
        if reader.at >= reader.end:
            return
        number = reader.number(wide)
        origin = inner if version and reader.number(2) & 15 == 1 else 0
        reader.number(2)
        origin += reader.number(base_size)
        content = b""
        for _ in range(min(reader.number(2), reader.end - reader.at)):
            reader.number(index_size)
            at, length = origin + reader.number(offset_size), reader.number(length_size)
            if len(content) < _CANVAS:
                content += data[at : at + min(length or _MOST, _MOST)]
        yield number, content


def _canvas(content: bytes) -> tuple[int, int]:
    """Width and height of a grid; zeros where it is cut off."""
    reader = _Reader(content, 0, len(content))
    size = 4 if reader.number(4) >> 16 & 1 else 2
    return reader.number(size), reader.number(size)
