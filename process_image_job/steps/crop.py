"""Where the garment is: the box around a mask, with a margin, and the mask as a checkpoint."""

from __future__ import annotations

import cv2
import numpy as np

from process_image_job.steps.scale import area, fitted
from process_image_job.values import Photo, Pixels
from shared.domain.errors import CheckpointLostError, EncodingError
from shared.domain.pictures import Box

_MARGIN = 0.04  # of the longer side of the garment
_VISIBLE = 24  # alpha below this does not widen the box


def whole(photo: Photo) -> Box:
    """The box of everything."""
    return Box(left=0, top=0, width=photo.full_width, height=photo.full_height)


def garment_box(alpha: Pixels, photo: Photo) -> Box:
    """The box of what `alpha` shows, with a margin, in pixels of the full photo."""
    left, top, width, height = cv2.boundingRect((alpha >= _VISIBLE).astype(np.uint8))
    if width == 0:
        return whole(photo)
    across, down = photo.full_width / alpha.shape[1], photo.full_height / alpha.shape[0]
    margin = _MARGIN * max(width * across, height * down)
    x0 = max(0, int(left * across - margin))
    y0 = max(0, int(top * down - margin))
    x1 = min(photo.full_width, int(np.ceil((left + width) * across + margin)))
    y1 = min(photo.full_height, int(np.ceil((top + height) * down + margin)))
    return Box(left=x0, top=y0, width=x1 - x0, height=y1 - y0)


def mask_png(alpha: Pixels) -> bytes:
    """The mask as an 8-bit grey PNG, packed fast rather than small."""
    done, data = cv2.imencode(".png", alpha, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    if not done:
        raise EncodingError("the mask could not be packed")
    return data.tobytes()


def mask_from_png(data: bytes) -> Pixels:
    """The mask of a checkpoint.

    Raises CheckpointLostError where it is no grey picture: it was one when it was stored, so the
    photo is not to blame.
    """
    try:
        mask = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE) if data else None
    except cv2.error:  # as for sides beyond what OpenCV reads
        mask = None
    if mask is None:
        raise CheckpointLostError("the stored mask of the garment cannot be read")
    return mask


def cropped(photo: Photo, mask: Pixels, box: Box, side: int) -> tuple[Pixels, Pixels]:
    """Colour and alpha of the box alone, longest side at most `side`."""
    rgb = _cut(photo.rgb, photo, box)
    alpha = _cut(mask, photo, box)
    size = fitted(rgb.shape[1], rgb.shape[0], side)
    if size != (rgb.shape[1], rgb.shape[0]):
        rgb = area(rgb, size)
    if size != (alpha.shape[1], alpha.shape[0]):
        alpha = cv2.resize(alpha, size, interpolation=cv2.INTER_LINEAR)
    return rgb, alpha


def _cut(plane: Pixels, photo: Photo, box: Box) -> Pixels:
    across, down = plane.shape[1] / photo.full_width, plane.shape[0] / photo.full_height
    left, top = int(box.left * across), int(box.top * down)
    right = max(left + 1, round((box.left + box.width) * across))
    bottom = max(top + 1, round((box.top + box.height) * down))
    return plane[top:bottom, left:right]
