"""What others use for the same work, called as they would call it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np

from process_image_job.segmenters.local import Prior
from process_image_job.steps.encode import METHOD
from process_image_job.steps.scale import area, fitted
from process_image_job.values import Floats, Pixels

MODELS = Path(__file__).resolve().parents[2] / "shared" / "data" / "models"
U2NETP = MODELS / "u2netp.onnx"
_SIDE = 320
_GRABCUT_SIDE = 300
_FRAME = 0.03  # of the shorter side
_MEAN, _SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def u2netp_prior() -> Prior:
    """U2-Net-P as a prior of our segmenter."""
    net = cv2.dnn.readNetFromONNX(str(U2NETP))
    first_output = net.getUnconnectedOutLayersNames()[0]

    def prior(rgb: Pixels) -> Floats:
        picture = cv2.resize(rgb, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
        picture = (picture / max(1.0, float(picture.max())) - _MEAN) / _SPREAD
        net.setInput(picture.transpose(2, 0, 1)[None].astype(np.float32))
        found = net.forward(first_output)[0, 0]
        stretched: Floats = (found - found.min()) / max(float(np.ptp(found)), 1e-6)
        return stretched

    return prior


def frame_grabcut(rgb: Pixels) -> Floats:
    """GrabCut as its manuals show it: the garment is inside a frame; five rounds at 300 px."""
    small = area(rgb, fitted(rgb.shape[1], rgb.shape[0], _GRABCUT_SIDE))
    height, width = small.shape[:2]
    edge = max(1, round(_FRAME * min(height, width)))
    inside = (edge, edge, width - 2 * edge, height - 2 * edge)
    mask = np.zeros((height, width), np.uint8)
    models = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.setRNGSeed(1)
    cv2.grabCut(small, mask, inside, *models, 5, cv2.GC_INIT_WITH_RECT)
    return (mask & 1).astype(np.float32)


def vips_renditions(raw: bytes, sides: Sequence[tuple[int, int]]) -> list[bytes]:
    """(longest side, quality) of each rendition, the next made from the one before, by libvips."""
    import pyvips

    picture = pyvips.Image.thumbnail_buffer(raw, sides[0][0], height=sides[0][0], size="down")
    made = []
    for side, quality in sides:
        picture = picture.thumbnail_image(side, height=side, size="down").copy_memory()
        made.append(picture.webpsave_buffer(Q=quality, effort=METHOD, keep="none"))
    return made


def rembg_cutter() -> Callable[[bytes], bytes]:
    """rembg with U2-Net-P, bytes in and bytes out, its session kept."""
    os.environ["U2NET_HOME"] = str(MODELS)  # rembg takes models from this folder alone
    from rembg import new_session, remove

    session = new_session("u2net_custom", model_path=str(U2NETP))
    return lambda raw: bytes(remove(raw, session=session))
