"""The garment network: which pixels are the garment, and which garment it is.

The weights and their description lie in `models/`; they are read at the first prediction, checked
against the description's SHA-256 and kept for the life of the process.
"""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from process_image_job.values import Floats, Pixels
from shared.domain.errors import IngestError

MODELS = Path(__file__).parent / "models"
_DESCRIPTION = "garment.json"
_OUTPUTS = ("mask", "category")
_STRIDE = 32  # the sides of what the network looks at are multiples of it
_LEAST_GARMENT = 64  # pixels of the model's square; less is no garment to look at more closely
_ROOM = 0.12  # of the garment's height and width, left on each side of it


class ModelUnavailableError(IngestError):
    """The model's files are missing, damaged or not each other's; `reason` says which."""

    code = "MODEL_UNAVAILABLE"
    public_message = "The garment model cannot be used; photos are cut out the classical way."

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


@dataclass(frozen=True, kw_only=True)
class GarmentPrediction:
    """What the network sees in one photo."""

    mask: Floats  # garment probability 0..1, the whole photo on a square of `closer_side`
    category: str  # raw class name, the likeliest even where unlikely
    confidence: float  # calibrated probability of `category`
    probabilities: tuple[float, ...]  # in the order of `ModelDescription.classes`


@dataclass(frozen=True, kw_only=True)
class ModelDescription:
    """What `garment.json` says about the file beside it."""

    file: str
    sha256: str
    input_side: int  # pixels; the photo is squashed to a square
    closer_side: int  # the same for the second look, at the garment alone
    mean: float  # subtracted from every channel value 0..255
    deviation: float  # then divided by
    classes: tuple[str, ...]
    temperature: float  # logits are divided by it
    uncategorised_below: float  # confidence under which no category should be claimed

    @classmethod
    def read(cls, folder: Path) -> ModelDescription:
        """Raises ModelUnavailableError where the description is missing or not as it should be."""
        try:
            told: dict[str, Any] = json.loads((folder / _DESCRIPTION).read_bytes())
            return cls(
                file=str(told["file"]),
                sha256=str(told["sha256"]),
                input_side=_side(told["inputSide"]),
                closer_side=_side(told["closerSide"]),
                mean=_within(told["pixelMean"], 0, 255),
                deviation=_within(told["pixelDeviation"], 1, 255),
                classes=tuple(str(name) for name in told["classes"]),
                temperature=_within(told["temperature"], 0.01, 100),
                uncategorised_below=_within(told["uncategorisedBelow"], 0, 1),
            )
        except OSError as error:
            raise ModelUnavailableError(f"{_DESCRIPTION} cannot be read") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ModelUnavailableError(f"{_DESCRIPTION} is damaged: {error}") from error

    def weights(self, folder: Path) -> bytes:
        """The network's file, checked; raises ModelUnavailableError."""
        try:
            weights = (folder / self.file).read_bytes()
        except OSError as error:
            raise ModelUnavailableError(f"{self.file} cannot be read") from error
        if hashlib.sha256(weights).hexdigest() != self.sha256:
            raise ModelUnavailableError(f"{self.file} does not have the SHA-256 it should have")
        return weights


def _side(told: Any) -> int:
    side = int(told)
    if side <= 0 or side % _STRIDE:
        raise ValueError(f"a side of {side} pixels")
    return side


def _within(told: Any, least: float, most: float) -> float:
    number = float(told)
    if not least <= number <= most:  # nor is NaN
        raise ValueError(f"{number} is not from {least} to {most}")
    return number


class GarmentModel:
    """One loaded network; safe to share between threads, which take turns."""

    def __init__(self, folder: Path = MODELS) -> None:
        self._folder = folder
        self._turn = threading.Lock()
        self._net: Any = None  # cv2 has no types for its nets
        self._description: ModelDescription | None = None

    @property
    def description(self) -> ModelDescription:
        """Loads the model where needed; raises ModelUnavailableError."""
        with self._turn:
            return self._loaded()[1]

    def predict(self, rgb: Pixels) -> GarmentPrediction:
        """Mask and category of an upright RGB photo [H,W,3]; raises ModelUnavailableError."""
        with self._turn:
            net, description = self._loaded()
            mask, logits = _ask_twice(net, rgb, description)
        if len(logits) != len(description.classes):
            raise ModelUnavailableError(f"{_DESCRIPTION} names other classes than the network")
        shares = _softmax(logits / description.temperature)
        best = int(shares.argmax())
        return GarmentPrediction(
            mask=mask,
            category=description.classes[best],
            confidence=float(shares[best]),
            probabilities=tuple(float(share) for share in shares),
        )

    def _loaded(self) -> tuple[Any, ModelDescription]:
        if self._net is None or self._description is None:
            description = ModelDescription.read(self._folder)
            self._net = _read_net(self._folder, description)
            self._description = description
        return self._net, self._description


@lru_cache(maxsize=1)
def garment_model() -> GarmentModel:
    """The model of this process."""
    return GarmentModel()


def _read_net(folder: Path, description: ModelDescription) -> Any:
    """The network of exactly the bytes that were checked."""
    import cv2

    weights = description.weights(folder)
    try:
        return cv2.dnn.readNetFromONNX(np.frombuffer(weights, np.uint8))
    except cv2.error as error:
        raise ModelUnavailableError(f"{description.file} is not a network: {error}") from error


def _squashed(rgb: Pixels, side: int) -> Pixels:
    import cv2

    return cv2.resize(rgb, (side, side), interpolation=cv2.INTER_AREA)


def _reduced(rgb: Pixels, least: int) -> Pixels:
    """A large photo divided by a whole number, which is fast; its shorter side stays `least`."""
    import cv2

    height, width = rgb.shape[:2]
    factor = min(height, width) // least
    if factor < 2:
        return rgb
    size = width // factor, height // factor
    whole = rgb[: size[1] * factor, : size[0] * factor]
    return cv2.resize(whole, size, interpolation=cv2.INTER_AREA)


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def _ask_twice(net: Any, rgb: Pixels, description: ModelDescription) -> tuple[Floats, Floats]:
    """Test-time augmentation: mean mask [S,S] and mean logits [C] of the whole photo and of its
    garment, closer and mirrored.

    S is the side of the closer look, which shows the outline finer.
    """
    import cv2

    side = description.closer_side
    rgb = _reduced(rgb, 4 * side)
    whole, logits = _ask(net, _squashed(rgb, description.input_side), description)
    mask = cv2.resize(whole, (side, side))
    rows, columns = _around(mask)
    closer = rgb[_scaled(rows, side, rgb.shape[0]), _scaled(columns, side, rgb.shape[1])]
    second, second_logits = _ask(net, _squashed(closer[:, ::-1], side), description)
    size = (columns.stop - columns.start, rows.stop - rows.start)
    mask *= 0.5
    mask[rows, columns] += 0.5 * cv2.resize(second[:, ::-1], size)
    return mask, (logits + second_logits) * np.float32(0.5)


def _around(mask: Floats) -> tuple[slice, slice]:
    """Rows and columns of the garment with some room; all of them where there is hardly any."""
    found = mask > 0.5
    if int(found.sum()) < _LEAST_GARMENT:
        return slice(0, mask.shape[0]), slice(0, mask.shape[1])
    return _with_room(found.any(axis=1)), _with_room(found.any(axis=0))


def _with_room(taken: NDArray[np.bool_]) -> slice:
    places = np.flatnonzero(taken)
    first, end = int(places[0]), int(places[-1]) + 1
    room = round(_ROOM * (end - first)) + 1
    return slice(max(0, first - room), min(len(taken), end + room))


def _scaled(part: slice, side: int, length: int) -> slice:
    """The same part of a picture with `length` pixels where the model's square has `side`."""
    first = part.start * length // side
    return slice(first, max(first + 1, -(-part.stop * length // side)))


def _ask(net: Any, rgb: Pixels, description: ModelDescription) -> tuple[Floats, Floats]:
    """Mask [S/2,S/2] and logits [C] for a square RGB picture [S,S,3]."""
    scaled = (rgb.astype(np.float32) - description.mean) / description.deviation
    net.setInput(np.ascontiguousarray(scaled.transpose(2, 0, 1)[None]))
    mask, logits = net.forward(_OUTPUTS)
    return mask[0, 0].copy(), logits[0].copy()
