"""Whether this deployment can do its jobs as they are set up; no model is loaded to say so."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from shared import telemetry

_WORKER = "process_image_job.handler"


@cache
def worker_usable(*, with_model: bool, folder: Path | None = None, worker: str = _WORKER) -> bool:
    """The worker's libraries load; where it wants the model, the weights are there and those that
    their description names. Neither changes while the process lives; why not is in the log.
    """
    try:
        import_module(worker)
    except ImportError as error:  # a system library that is missing, such as libGL
        telemetry.worker_unusable(reason=str(error))
        return False
    return not with_model or _model_is_whole(folder)


def _model_is_whole(folder: Path | None) -> bool:
    from process_image_job.garment_model import MODELS, ModelDescription, ModelUnavailableError

    place = folder or MODELS
    try:
        ModelDescription.read(place).weights(place)
    except ModelUnavailableError:
        return False
    return True
