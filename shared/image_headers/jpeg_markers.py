"""Refuses a JPEG whose markers alone would keep a decoder busy for minutes.

Every scan visits each block of the picture and may take a dozen bytes; every EXIF segment makes
Pillow copy all those before it. Photos have a dozen scans and some dozen segments.
"""

from __future__ import annotations

import re

from shared.domain.errors import ImageTooLargeError

MAX_SCANS = 100
MAX_SEGMENTS = 1000
# Those with a length, as Pillow and libjpeg see it, and the end; no stuffed byte, no padding.
_MARKER = re.compile(rb"\xff[\x02-\xc7\xc9-\xcf\xd9-\xef\xfe]")
_SCAN, _END = 0xDA, 0xD9


def check_markers(data: bytes) -> None:
    """Raises ImageTooLargeError for over 100 scans, or 1,000 segments, up to the picture's end.

    What lies behind the end is another picture or a film, and no decoder of ours looks at it.
    """
    may_have_many_scans = data.count(bytes((0xFF, _SCAN))) > MAX_SCANS
    at, scans, segments = 2, 0, 0
    while (found := _MARKER.search(data, at)) and not (scans and found[0][1] == _END):
        segments += 1
        scans += found[0][1] == _SCAN
        if scans > MAX_SCANS or segments > MAX_SEGMENTS:
            raise ImageTooLargeError("The photo has more scans or metadata segments than any has.")
        if scans and not may_have_many_scans:
            return
        at = found.end()
        if found[0][1] != _END:  # before the first scan Pillow reads on behind it
            at += int.from_bytes(data[at : at + 2])
