"""Pictures drawn in code: garments on walls, and the odd files that cameras and editors write."""

import io
import struct
import zlib
from typing import Any

import cv2
import numpy as np
import pillow_heif
from PIL import Image

BLUE, RED, WHITE, BLACK, GREY = (
    (36, 89, 181), (196, 32, 44), (246, 246, 244), (18, 18, 20), (128, 130, 134)
)  # fmt: skip
WALL = (214, 208, 198)


def tee_mask(width: int = 480, height: int = 640) -> np.ndarray:
    """Where a T-shirt lies in a picture of that size: 255 inside."""
    shape = np.array(
        [(0.34, 0.2), (0.44, 0.2), (0.5, 0.24), (0.56, 0.2), (0.66, 0.2), (0.84, 0.34),
         (0.76, 0.44), (0.69, 0.38), (0.69, 0.82), (0.31, 0.82), (0.31, 0.38), (0.24, 0.44),
         (0.16, 0.34)]
    )  # fmt: skip
    mask = np.zeros((height, width), np.uint8)
    cv2.fillPoly(mask, [(shape * (width, height)).astype(np.int32)], 255, cv2.LINE_AA)
    return mask


def on_wall(
    mask: np.ndarray,
    colour: tuple[int, int, int] = BLUE,
    wall: tuple[int, int, int] = WALL,
    grain: float = 4.0,
) -> np.ndarray:
    """The shape in `colour` before a wall, both with a little grain and light from the left."""
    random = np.random.default_rng(5)
    cover = mask[..., None].astype(np.float32) / 255
    picture = cover * np.array(colour, np.float32) + (1 - cover) * np.array(wall, np.float32)
    light = np.linspace(1.03, 0.95, mask.shape[1])[None, :, None]
    noisy = picture * light + random.normal(0, grain, (*mask.shape, 1))
    return noisy.clip(0, 255).astype(np.uint8)


def asymmetric(width: int = 96, height: int = 64) -> np.ndarray:
    """A picture that looks different in each of the eight orientations."""
    picture = np.full((height, width, 3), 235, np.uint8)
    picture[: height // 2, : width // 3] = (200, 30, 30)
    picture[height // 2 :, : width // 3] = (30, 60, 200)
    picture[height * 3 // 4 :, width // 2 :] = (20, 140, 60)
    return picture


def saved(picture: np.ndarray | Image.Image, form: str = "JPEG", **options: Any) -> bytes:
    """The bytes of the picture in that format."""
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    if form == "JPEG":
        options = {"quality": 95, "subsampling": 0, **options}
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def tiff_block(orientation: int) -> bytes:
    """An EXIF block that holds nothing but the orientation."""
    entry = struct.pack("<HHIHH", 0x0112, 3, 1, orientation, 0)
    return b"II*\0" + struct.pack("<IH", 8, 1) + entry + struct.pack("<I", 0)


def exif(orientation: int) -> bytes:
    return b"Exif\0\0" + tiff_block(orientation)


def with_segment(jpeg: bytes, marker: int, payload: bytes) -> bytes:
    """The JPEG with one more segment right behind its start."""
    return jpeg[:2] + struct.pack(">BBH", 0xFF, marker, len(payload) + 2) + payload + jpeg[2:]


def with_chunk(png: bytes, kind: bytes, payload: bytes) -> bytes:
    """The PNG with one more chunk right behind its header."""
    return png[:33] + chunk(kind, payload) + png[33:]


def chunk(kind: bytes, payload: bytes) -> bytes:
    check = zlib.crc32(kind + payload)
    return struct.pack(">I", len(payload)) + kind + payload + struct.pack(">I", check)


def box(kind: bytes, content: bytes, *, long: bool = False) -> bytes:
    """A box of HEIC or AVIF, with its size in four bytes or in eight."""
    if long:
        return struct.pack(">I4sQ", 1, kind, len(content) + 16) + content
    return struct.pack(">I4s", len(content) + 8, kind) + content


def png_header(width: int, height: int) -> bytes:
    """The head of a PNG that claims a size, with hardly any pixels behind it."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 64))


def cmyk_profile(magenta_is: tuple[int, int, int]) -> bytes:
    """An ICC profile of a printer whose magenta ink gives that Lab colour (8-bit, as ICC has it).

    White is white and black is black. One table of two steps an ink (`mft1`, ICC.1 10.8).
    """
    inks = np.indices((2, 2, 2, 2)).reshape(4, 16).T
    table = [(0, 128, 128) if k else magenta_is if m else (255, 128, 128) for _, m, _, k in inks]
    straight = bytes(range(256))
    lut = struct.pack(">4sIBBBB", b"mft1", 0, 4, 3, 2, 0)
    lut += struct.pack(">9i", *(np.eye(3, dtype=int) * 65_536).ravel())
    lut += straight * 4 + np.array(table, np.uint8).tobytes() + straight * 3
    head = struct.pack(
        ">I4xI4s4s4s12x4s28x3i48x", 144 + len(lut), 0x02400000, b"prtr", b"CMYK", b"Lab ", b"acsp",
        63_190, 65_536, 54_061,
    )  # fmt: skip
    return head + struct.pack(">I4sII", 1, b"A2B0", 144, len(lut)) + lut


def heic(picture: np.ndarray, **options: Any) -> bytes:
    """The bytes of the picture as a HEIC."""
    buffer = io.BytesIO()
    pillow_heif.from_pillow(Image.fromarray(picture)).save(buffer, quality=95, **options)
    return buffer.getvalue()


def frames(count: int, side: int = 64) -> list[Image.Image]:
    """Different colours, one after the other."""
    return [Image.new("RGB", (side, side), (i * 7 % 256, 200, 90)) for i in range(count)]
