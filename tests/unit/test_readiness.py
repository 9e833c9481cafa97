"""Whether a deployment can cut photos out, as the health check asks."""

import json
import shutil

from process_image_job.garment_model import MODELS
from process_image_job.readiness import worker_usable


def test_model_of_the_bundle_is_usable():
    """What is shipped works."""
    assert worker_usable(with_model=True)


def test_model_that_is_not_there_is_not_usable(tmp_path):
    """The health check says so before a photo meets it."""
    assert not worker_usable(with_model=True, folder=tmp_path)


def test_model_that_was_changed_is_not_usable(tmp_path):
    """Weights that are not the described ones count as none."""
    shutil.copytree(MODELS, tmp_path, dirs_exist_ok=True)
    weights = tmp_path / "garment.onnx"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    assert not worker_usable(with_model=True, folder=tmp_path)


def test_worker_that_wants_no_model_does_without(tmp_path):
    """Nobody is told of a model that nothing here would use."""
    assert worker_usable(with_model=False, folder=tmp_path)


def test_worker_that_cannot_be_imported_is_told_with_its_reason(caplog):
    """A library that does not load ends every job, with the model or without."""
    assert not worker_usable(with_model=False, worker="a_library_that_is_missing")
    [line] = [json.loads(record.message) for record in caplog.records]
    assert (line["event"], line["level"]) == ("worker_unusable", "error")
    assert "a_library_that_is_missing" in line["reason"]
