"""Refuses a HEIC or AVIF whose tables of items or frames no photo has.

The AVIF decoder goes through all items that it knows for each one that is named, so that two
megabytes of names take it a quarter of a minute.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from shared.domain.errors import ImageTooLargeError

MAX_TABLE_BYTES = 32_000  # some 1,500 items; a photo of 50 megapixels in tiles has some hundred
_TABLES = {b"iinf", b"iloc", b"iref", b"ipma", b"stts", b"stsc", b"stsz", b"stco", b"co64", b"stss"}
_HOLD_BOXES = {b"meta", b"iprp", b"moov", b"trak", b"mdia", b"minf", b"stbl"}
_FULL_BOX = {b"meta"}  # four bytes of version and flags come before what it holds


def check_tables(data: bytes) -> None:
    """Raises ImageTooLargeError for a table of more than 32 KB."""
    waiting = [(0, len(data))]
    while waiting:
        for kind, start, end in boxes(data, *waiting.pop()):
            if kind in _TABLES and end - start > MAX_TABLE_BYTES:
                raise ImageTooLargeError("The photo is made of more parts than any is.")
            if kind in _HOLD_BOXES:
                waiting.append((start + (4 if kind in _FULL_BOX else 0), end))


def boxes(data: bytes, at: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Kind, start and end of what each box holds; ends at what is none."""
    while at + 8 <= end:
        size, kind = struct.unpack_from(">I4s", data, at)
        head = 8
        if size == 0:
            size = end - at
        elif size == 1 and at + 16 <= end:
            (size,), head = struct.unpack_from(">Q", data, at + 8), 16
        if size < head:
            return
        yield kind, at + head, min(at + size, end)
        at += size
