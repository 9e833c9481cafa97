"""The colours of the garment, in words: clusters in CIELAB, named from the fashion palette."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np

from process_image_job.steps.crop import mask_from_png
from process_image_job.steps.palette import PALETTE
from process_image_job.steps.scale import area, fitted
from process_image_job.values import CutOut, Floats, Photo, Pixels
from shared.domain.pictures import Color

_SIDE = 400  # fine patterns must not mix into colours that are nowhere on the cloth
_CALM = 0.6  # share of the pixels, the flattest ones, that are looked at
_DARK = 20.0  # lightness at which a fold is half as sharp as in full light
_SAMPLES = 6_000
_CLUSTERS = 8
_SHADE = 0.5  # weight of lightness between clusters of one cloth
_SAME_CLOTH = 9.0  # clusters this close are one cloth in light and in shade
_LEAST_SHARE = 0.05
_MOST = 5
_LIGHT = 0.6  # lightness says less about a name than hue does
_HUE = 1.3
_PAPER = 92.0  # lightness that the brightest part of a photo should have
_MOST_GAIN = 1.1


def garment_colours(photo: Photo, cut_out: CutOut | None) -> tuple[Color, ...]:
    """Up to five named colours, largest share first, from the garment's pixels only.

    Empty where every pixel is transparent.
    """
    size = fitted(photo.width, photo.height, _SIDE)
    lab = _lab(area(_thinned(photo.rgb), size))
    cover = _cover(photo, cut_out, size)
    if not cover.any():
        return ()  # every pixel is transparent: there is nothing to have a colour
    colours, weights = _samples(lab, cover)
    centres, shares = _clusters(colours, weights)
    gain = min(_MOST_GAIN, max(1.0, _PAPER / max(1.0, float(np.percentile(lab[..., 0], 98)))))
    return _named(*_joined(centres, shares), gain)


def _thinned(rgb: Pixels) -> Pixels:
    """Every n-th pixel, still at least twice as many a side as are looked at."""
    step = max(1, max(rgb.shape) // (2 * _SIDE))
    return np.ascontiguousarray(rgb[::step, ::step])


def _cover(photo: Photo, cut_out: CutOut | None, size: tuple[int, int]) -> Floats:
    """How much of each pixel (h, w) is garment, 0..1; everything where nothing was cut out."""
    plane: Pixels | None = photo.alpha
    if cut_out is not None and cut_out.shown:
        plane = mask_from_png(cut_out.mask_png)
    if plane is None:
        return np.ones(size[::-1], np.float32)
    cover: Floats = area(plane, size).astype(np.float32)
    return cover * np.float32(1 / 255)


def _samples(lab: Floats, cover: Floats) -> tuple[Floats, Floats]:
    """CIELAB colours (n, 3) and weights (n,) of the flattest pixels of the garment."""
    kept = cover >= min(0.9, float(cover.max()))
    mixed = _contrast(lab) / (_DARK + lab[..., 0])
    kept &= mixed <= np.quantile(mixed[kept], _CALM)
    colours, weights = lab[kept], cover[kept]
    step = max(1, len(colours) // _SAMPLES)
    return colours[::step], weights[::step].astype(np.float32)


def _contrast(lab: Floats) -> Floats:
    """How much a pixel (H, W) differs from its neighbours: edges hold colours of no cloth."""
    square = np.ones((3, 3), np.uint8)
    planes = [cv2.morphologyEx(plane, cv2.MORPH_GRADIENT, square) for plane in cv2.split(lab)]
    total: Floats = sum(planes[1:], planes[0])
    return total


def _clusters(colours: Floats, weights: Floats) -> tuple[Floats, Floats]:
    count = min(_CLUSTERS, len(np.unique(colours.round(), axis=0)))
    cv2.setRNGSeed(7)
    stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 20, 0.5)
    _, labels, centres = cv2.kmeans(colours, count, None, stop, 1, cv2.KMEANS_PP_CENTERS)
    shares = np.bincount(labels.ravel(), weights=weights, minlength=count)
    return centres, (shares / shares.sum()).astype(np.float32)


def _joined(centres: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """The clusters with the closest pairs made one, until none is the same cloth as another."""
    centres, shares = centres.copy(), shares.copy()
    while len(centres) > 1:
        steps = (centres[:, None] - centres[None]) * np.array([_SHADE, 1, 1], np.float32)
        distance = np.sqrt((steps**2).sum(axis=-1)) + np.eye(len(centres), dtype=np.float32) * 1e3
        one, other = divmod(int(distance.argmin()), len(centres))
        if distance[one, other] > _SAME_CLOTH:
            break
        first, second = float(shares[one]), float(shares[other])
        both = max(first + second, 1e-9)
        centres[one] = (centres[one] * first + centres[other] * second) / both
        shares[one] = first + second
        centres, shares = np.delete(centres, other, axis=0), np.delete(shares, other)
    return centres, shares


def _named(centres: Floats, shares: Floats, gain: float) -> tuple[Color, ...]:
    names = [_name(centre * np.array([gain, 1, 1], np.float32)) for centre in centres]
    found = []
    for name in set(names):
        own = [i for i, each in enumerate(names) if each == name]
        share = float(shares[own].sum())
        main = centres[max(own, key=lambda i: shares[i])]
        found.append(Color(name=name, hex=_hex(main), share=round(share, 3)))
    found.sort(key=lambda color: (-color.share, color.name))
    return tuple(found[:1] + [color for color in found[1:_MOST] if color.share >= _LEAST_SHARE])


def _name(lab: Floats) -> str:
    names, anchors = _anchors()
    away = (anchors - lab) * np.array([_LIGHT, _HUE, _HUE], np.float32)
    return names[int(np.argmin((away**2).sum(axis=1)))]


@cache
def _anchors() -> tuple[tuple[str, ...], Floats]:
    pairs = [(name, code) for name, codes in PALETTE.items() for code in codes]
    raw = b"".join(bytes.fromhex(code[1:]) for _, code in pairs)
    rgb = np.frombuffer(raw, np.uint8).reshape(1, -1, 3)
    return tuple(name for name, _ in pairs), _lab(rgb)[0]


def _lab(rgb: Pixels) -> Floats:
    return cv2.cvtColor(rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)


def _hex(lab: Floats) -> str:
    rgb = cv2.cvtColor(lab.reshape(1, 1, 3).astype(np.float32), cv2.COLOR_LAB2RGB)
    return "#" + (rgb.reshape(3).clip(0, 1) * 255).round().astype(np.uint8).tobytes().hex()
