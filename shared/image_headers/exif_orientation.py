"""The one EXIF value we use, read by hand so that no broken block can raise or warn."""

from __future__ import annotations

import struct

_MARK = b"Exif\0\0"
_ORIENTATION = 0x0112
_SHORT = 3
_ENTRY_SIZE = 12


class ExifUnreadableError(ValueError):
    """The EXIF block does not say which way is up. The picture is taken as it lies."""


def orientation(exif: bytes | None) -> int:
    """The EXIF orientation 1..8; 1 where the block has none or an undefined value.

    Raises ExifUnreadableError when a block is there but cannot be followed to its first directory.
    """
    if exif is None:
        return 1
    tiff = exif.removeprefix(_MARK)
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(bytes(tiff[:4]))
    if order is None:
        raise ExifUnreadableError("no TIFF header")
    try:
        return _from_first_directory(tiff, order)
    except struct.error as error:
        raise ExifUnreadableError("directory ends outside the block") from error


def _from_first_directory(tiff: bytes, order: str) -> int:
    (start,) = struct.unpack_from(order + "I", tiff, 4)
    (count,) = struct.unpack_from(order + "H", tiff, start)
    for index in range(count):
        entry = start + 2 + index * _ENTRY_SIZE
        tag, kind, values, value = struct.unpack_from(order + "HHIH", tiff, entry)
        if tag == _ORIENTATION:
            known = kind == _SHORT and values == 1 and 1 <= value <= 8
            return int(value) if known else 1
    return 1
