"""A HEIC whose picture is a grid of one tile, or an overlay, with any sizes in any place."""

import struct

import numpy as np

from shared.image_headers.iso_boxes import boxes
from tests.unit.pipeline import drawing


def heic_of_tiles(
    *,
    tile: int,
    across: int,
    canvas: int,
    said: int,
    kind: bytes = b"grid",
    own_data: bool = True,
) -> bytes:
    """`across` x `across` times the same tile on a canvas; the header says the side `said`.

    With `own_data` the canvas stands in the meta box, else beside the pixels.
    """
    plain = drawing.heic(np.full((tile, tile, 3), (200, 10, 10), np.uint8))
    config = plain.index(b"hvcC") - 4
    decoder = plain[config : config + int.from_bytes(plain[config : config + 4])]
    [pixels] = [plain[at:end] for name, at, end in boxes(plain, 0, len(plain)) if name == b"mdat"]
    sheet = _sheet(kind, across, canvas)

    def meta(start: int) -> bytes:
        places = (start, len(pixels)), ((0 if own_data else start + len(pixels)), len(sheet))
        return _meta(decoder, (tile, said), across**2, kind, places, own_data, sheet)

    head = drawing.box(b"ftyp", b"heic" + bytes(4) + b"mif1heic")
    start = len(head) + len(meta(0)) + 8
    return head + meta(start) + drawing.box(b"mdat", pixels + sheet)


def _sheet(kind: bytes, across: int, canvas: int) -> bytes:
    if kind == b"iovl":
        return struct.pack(">BB4H2I2i", 0, 1, 65_535, 0, 0, 65_535, canvas, canvas, 0, 0)
    return struct.pack(">BBBBII", 0, 1, across - 1, across - 1, canvas, canvas)


def _full(kind: bytes, content: bytes, version: int = 0) -> bytes:
    return drawing.box(kind, bytes((version, 0, 0, 0)) + content)


def _meta(
    decoder: bytes,
    sides: tuple[int, int],
    tiles: int,
    kind: bytes,
    places: tuple[tuple[int, int], tuple[int, int]],
    own_data: bool,
    sheet: bytes,
) -> bytes:
    """Item 1 is the tile, item 2 the picture."""
    infos = [_full(b"infe", struct.pack(">HH", n, 0) + k + b"\0", 2) for n, k in
             ((1, b"hvc1"), (2, kind))]  # fmt: skip
    sizes = [_full(b"ispe", struct.pack(">II", side, side)) for side in sides]
    links = struct.pack(">I HBBB HBB", 2, 1, 2, 0x81, 2, 2, 1, 3)
    where = [struct.pack(">HHHHII", n, own_data and n == 2, 0, 1, *place)
             for n, place in enumerate(places, 1)]  # fmt: skip
    refs = struct.pack(">HH", 2, tiles) + struct.pack(">H", 1) * tiles
    return _full(
        b"meta",
        _full(b"hdlr", bytes(4) + b"pict" + bytes(13))
        + _full(b"pitm", struct.pack(">H", 2))
        + _full(b"iinf", struct.pack(">H", 2) + b"".join(infos))
        + _full(b"iref", drawing.box(b"dimg", refs))
        + drawing.box(
            b"iprp", drawing.box(b"ipco", decoder + b"".join(sizes)) + _full(b"ipma", links)
        )
        + _full(b"iloc", b"\x44\0" + struct.pack(">H", 2) + b"".join(where), 1)
        + drawing.box(b"idat", sheet),
    )
