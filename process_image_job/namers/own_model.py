"""`METADATA_PROVIDER` model: the network of the bundle, calibrated, silent when unsure."""

from __future__ import annotations

from process_image_job.garment_model import GarmentModel, ModelUnavailableError
from process_image_job.namers.port import (
    Named,
    allowed_category,
    suggested_title,
    unnamed,
)
from process_image_job.steps.scale import flattened
from process_image_job.values import CutOut, Photo
from shared.domain.draft import UNCATEGORISED, Metadata
from shared.domain.pictures import Caution, Color

# The model's classes in the words that people use; the allow-list may drop or respell them.
_NAMES = {
    "longsleeve": "Long sleeve",
    "outwear": "Outerwear",
    "t-shirt": "T-shirt",
}


class OwnModelNamer:
    """Asks the garment model; below its threshold, or without a garment, the person has to say."""

    def __init__(self, model: GarmentModel, categories: tuple[str, ...]) -> None:
        self._model = model
        self._categories = categories

    def __call__(
        self, photo: Photo, cut_out: CutOut | None, colors: tuple[Color, ...], *, last: bool
    ) -> Named:
        try:
            seen = self._model.predict(flattened(photo.rgb, photo.alpha))
            least = self._model.description.uncategorised_below
        except ModelUnavailableError:
            return unnamed(colors, Caution.MODEL_UNAVAILABLE)
        confidence = round(seen.confidence, 3)
        doubtful = cut_out is not None and not cut_out.shown
        if seen.confidence < least or doubtful:
            return Named(metadata=_uncertain(colors, confidence))
        category = allowed_category(_NAMES.get(seen.category, seen.category), self._categories)
        if category is None:
            return Named(
                metadata=_uncertain(colors, confidence), cautions=(Caution.CATEGORY_NOT_ALLOWED,)
            )
        return Named(
            metadata=Metadata(
                category=category,
                category_confidence=confidence,
                colors=colors,
                title=suggested_title(category, colors),
                needs_review=False,
                source="model",
            )
        )


def _uncertain(colors: tuple[Color, ...], confidence: float) -> Metadata:
    return Metadata(
        category=UNCATEGORISED, category_confidence=confidence, colors=colors, source="model"
    )
