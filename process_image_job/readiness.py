"""Whether this deployment carries a model that can be used; nothing is loaded to say so."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from process_image_job.garment_model import MODELS, ModelDescription, ModelUnavailableError


@cache
def model_usable(folder: Path = MODELS) -> bool:
    """The weights are there and are those that their description names. Files never change."""
    try:
        description = ModelDescription.read(folder)
        weights = (folder / description.file).read_bytes()
    except (ModelUnavailableError, OSError):
        return False
    return hashlib.sha256(weights).hexdigest() == description.sha256
