"""The colours of the garment, in words: clusters in CIELAB, named from the fashion palette."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from process_image_job.steps.crop import mask_from_png
from process_image_job.steps.palette import PALETTE
from process_image_job.steps.scale import area, fitted
from process_image_job.values import CutOut, Photo
from shared.domain.pictures import Color, Segmentation

_SIDE = 192
_CALM = 0.6  # share of the pixels, the flattest ones, that are looked at
_CLUSTERS = 8
_LEAST_SHARE = 0.05
_MOST = 5

Floats = NDArray[np.float32]


def garment_colours(photo: Photo, cut_out: CutOut | None) -> tuple[Color, ...]:
    """Up to five named colours, largest share first, from the garment's pixels only."""
    colours, weights = _samples(photo, cut_out)
    centres, shares = _clusters(colours, weights)
    return _named(centres, shares)


def _samples(photo: Photo, cut_out: CutOut | None) -> tuple[Floats, Floats]:
    """CIELAB colours (n, 3) and weights (n,) of the pixels that show the garment."""
    size = fitted(photo.width, photo.height, _SIDE)
    lab = _lab(area(photo.rgb, size))
    if cut_out is not None and cut_out.segmentation is Segmentation.APPLIED:
        weight = area(mask_from_png(cut_out.mask_png), size).astype(np.float32) / 255
    elif photo.alpha is not None:
        weight = area(photo.alpha, size).astype(np.float32) / 255
    else:
        weight = np.ones(lab.shape[:2], np.float32)
    kept = weight >= min(0.9, float(weight.max()))
    mixed = _contrast(lab)
    kept &= mixed <= np.quantile(mixed[kept], _CALM)
    return lab[kept], weight[kept].astype(np.float32)


def _contrast(lab: Floats) -> Floats:
    """How much a pixel (H, W) differs from its neighbours: edges hold colours of no cloth."""
    square = np.ones((3, 3), np.uint8)
    planes = [cv2.morphologyEx(plane, cv2.MORPH_GRADIENT, square) for plane in cv2.split(lab)]
    total: Floats = sum(planes[1:], planes[0])
    return total


def _lab(rgb: NDArray[np.uint8]) -> Floats:
    return cv2.cvtColor(rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)


def _clusters(colours: Floats, weights: Floats) -> tuple[Floats, Floats]:
    count = min(_CLUSTERS, len(np.unique(colours.round(), axis=0)))
    cv2.setRNGSeed(7)
    stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 20, 0.5)
    _, labels, centres = cv2.kmeans(colours, count, None, stop, 1, cv2.KMEANS_PP_CENTERS)
    shares = np.bincount(labels.ravel(), weights=weights, minlength=count)
    return centres, (shares / shares.sum()).astype(np.float32)


def _named(centres: Floats, shares: Floats) -> tuple[Color, ...]:
    names = [_name(centre) for centre in centres]
    found = []
    for name in set(names):
        own = [i for i, each in enumerate(names) if each == name]
        share = float(shares[own].sum())
        main = centres[max(own, key=lambda i: shares[i])]
        found.append(Color(name=name, hex=_hex(main), share=round(share, 3)))
    found.sort(key=lambda color: (-color.share, color.name))
    return tuple(found[:1] + [color for color in found[1:_MOST] if color.share >= _LEAST_SHARE])


def _name(lab: Floats) -> str:
    anchors = np.array([_anchor(code) for code in PALETTE.values()])
    return list(PALETTE)[int(np.argmin(((anchors - lab) ** 2).sum(axis=1)))]


def _anchor(code: str) -> Floats:
    rgb = np.frombuffer(bytes.fromhex(code[1:]), np.uint8).reshape(1, 1, 3)
    return _lab(rgb)[0, 0]


def _hex(lab: Floats) -> str:
    rgb = cv2.cvtColor(lab.reshape(1, 1, 3).astype(np.float32), cv2.COLOR_LAB2RGB)
    return "#" + (rgb.reshape(3).clip(0, 1) * 255).round().astype(np.uint8).tobytes().hex()
