"""The garment network's loading, its answers, and what happens when its files are not right."""

import hashlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np
import pytest

from process_image_job.garment_model import (
    MODELS,
    GarmentModel,
    ModelUnavailableError,
    garment_model,
)


def predict(rgb):
    return garment_model().predict(rgb)


@pytest.fixture
def copied_models(tmp_path: Path) -> Path:
    """A copy of the shipped files that a test may damage."""
    return Path(shutil.copytree(MODELS, tmp_path / "models"))


def photo(shared_data: Path, category: str, place: int = 0) -> np.ndarray:
    """A validation photo of a class, RGB."""
    path = sorted((shared_data / "garments-validation" / category).glob("*.jpg"))[place]
    return cv2.imread(str(path))[..., ::-1]


def rewrite(folder: Path, **changes: object) -> None:
    """Changes fields of the description."""
    path = folder / "garment.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_model_file_is_the_one_described() -> None:
    """The shipped description carries the SHA-256 of the shipped weights."""
    described = json.loads((MODELS / "garment.json").read_text())
    weights = (MODELS / described["file"]).read_bytes()
    assert hashlib.sha256(weights).hexdigest() == described["sha256"]


def test_model_file_size() -> None:
    """The weights take at most five megabytes of the bundle."""
    assert (MODELS / "garment.onnx").stat().st_size <= 5_000_000


def test_prediction_of_a_wide_picture() -> None:
    """The mask is a square of probabilities, however the photo is shaped."""
    said = predict(np.full((90, 400, 3), 200, np.uint8))
    assert said.mask.shape[0] == said.mask.shape[1]
    assert said.mask.dtype == np.float32
    assert 0.0 <= said.mask.min() <= said.mask.max() <= 1.0


def test_prediction_of_a_tiny_picture() -> None:
    """Sixteen pixels a side, the smallest photo accepted, get an answer."""
    said = predict(np.full((16, 16, 3), 90, np.uint8))
    assert said.mask.size > 0


def test_prediction_probabilities() -> None:
    """Probabilities add up to one, and the category is the likeliest class."""
    said = predict(np.full((64, 64, 3), 128, np.uint8))
    classes = garment_model().description.classes
    assert len(said.probabilities) == len(classes) == 10
    assert sum(said.probabilities) == pytest.approx(1.0, abs=1e-5)
    assert said.confidence == max(said.probabilities)
    assert said.category == classes[said.probabilities.index(said.confidence)]


def test_prediction_of_a_mirrored_photo(shared_data: Path) -> None:
    """A photo and its mirror image get the same name and masks that mirror each other."""
    rgb = photo(shared_data, "pants")
    said, mirrored = (
        predict(rgb),
        predict(np.ascontiguousarray(rgb[:, ::-1])),
    )
    assert mirrored.category == said.category
    first, second = said.mask > 0.5, mirrored.mask[:, ::-1] > 0.5
    assert (first & second).sum() / (first | second).sum() > 0.9


def test_prediction_of_a_large_photo(shared_data: Path) -> None:
    """The same photo with five times the pixels a side gets the same answer."""
    rgb = photo(shared_data, "shorts")
    large = np.ascontiguousarray(rgb.repeat(5, axis=0).repeat(5, axis=1)[:-3, :-3])
    said, enlarged = predict(rgb), predict(large)
    assert enlarged.category == said.category
    assert np.abs(enlarged.mask - said.mask).mean() < 0.01


def test_mask_of_a_small_garment(shared_data: Path) -> None:
    """A garment in one corner of a large bare floor is looked at closely, and found there."""
    rgb = photo(shared_data, "t-shirt")
    floor = np.full((1200, 1200, 3), np.median(rgb[:20], axis=(0, 1)), np.uint8)
    small = cv2.resize(rgb, (400, 500), interpolation=cv2.INTER_AREA)
    floor[600:1100, 700:1100] = small
    mask = predict(floor).mask > 0.5
    inside = np.zeros_like(mask)
    side = mask.shape[0]
    inside[side * 600 // 1200 : side * 1100 // 1200, side * 700 // 1200 : side * 1100 // 1200] = (
        True
    )
    assert mask.any()
    assert (mask & inside).sum() / mask.sum() > 0.95


@pytest.mark.parametrize("category", ["pants", "shoes", "t-shirt"])
def test_prediction_of_real_photos(shared_data: Path, category: str) -> None:
    """At least four of five real photos of a class get its name."""
    named = [predict(photo(shared_data, category, place)).category for place in range(5)]
    assert named.count(category) >= 4


def test_mask_of_a_real_photo(shared_data: Path) -> None:
    """The mask of a real photo covers what the reference mask covers."""
    reference = sorted((shared_data / "garments-validation" / "masks").glob("*.png"))[0]
    truth = cv2.imread(str(reference), cv2.IMREAD_GRAYSCALE) > 127
    path = next((shared_data / "garments-validation").glob(f"*/{reference.stem}.jpg"))
    mask = predict(cv2.imread(str(path))[..., ::-1]).mask
    found = cv2.resize(mask, truth.shape[::-1]) > 0.5
    assert (found & truth).sum() / (found | truth).sum() > 0.9


def test_prediction_of_a_bare_wall() -> None:
    """A plain grey wall is not claimed to be any garment."""
    wall = np.full((400, 300, 3), 150, np.uint8)
    assert predict(wall).confidence < garment_model().description.uncategorised_below


def test_prediction_from_many_threads() -> None:
    """Threads that share the model all get the answer that one alone gets."""
    model = GarmentModel()
    pictures = [np.full((50, 50, 3), shade, np.uint8) for shade in (0, 60, 120, 180)]
    alone = [GarmentModel().predict(picture).probabilities for picture in pictures]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(model.predict, pictures))
    assert [said.probabilities for said in together] == alone


def test_model_without_weights(copied_models: Path) -> None:
    """Missing weights are told by name."""
    (copied_models / "garment.onnx").unlink()
    with pytest.raises(ModelUnavailableError) as caught:
        GarmentModel(copied_models).predict(np.zeros((20, 20, 3), np.uint8))
    assert caught.value.reason == "garment.onnx cannot be read"


def test_model_without_description(copied_models: Path) -> None:
    """A missing description is told by name."""
    (copied_models / "garment.json").unlink()
    with pytest.raises(ModelUnavailableError) as caught:
        GarmentModel(copied_models).predict(np.zeros((20, 20, 3), np.uint8))
    assert caught.value.reason == "garment.json cannot be read"


@pytest.mark.parametrize("text", ["{", "[]", '{"file": "garment.onnx"}', '"text"'])
def test_model_with_damaged_description(copied_models: Path, text: str) -> None:
    """A description that is no JSON object, or lacks fields, makes the model unavailable."""
    (copied_models / "garment.json").write_text(text)
    with pytest.raises(ModelUnavailableError) as caught:
        GarmentModel(copied_models).predict(np.zeros((20, 20, 3), np.uint8))
    assert caught.value.reason.startswith("garment.json is damaged")


@pytest.mark.parametrize("field", ["inputSide", "closerSide"])
@pytest.mark.parametrize("side", [0, -32, 100, "wide"])
def test_model_with_a_side_it_cannot_look_at(copied_models: Path, field: str, side: object) -> None:
    """A side that the network's strides do not divide makes the model unavailable."""
    rewrite(copied_models, **{field: side})
    with pytest.raises(ModelUnavailableError) as caught:
        GarmentModel(copied_models).predict(np.zeros((20, 20, 3), np.uint8))
    assert caught.value.reason.startswith("garment.json is damaged")


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": 0},
        {"temperature": float("nan")},
        {"pixelDeviation": 0},
        {"pixelMean": float("inf")},
        {"uncategorisedBelow": 1.5},
        {"uncategorisedBelow": -0.1},
    ],
    ids=str,
)
def test_model_with_a_number_that_makes_no_sense(
    copied_models: Path, change: dict[str, object]
) -> None:
    """A number that would end in NaN, or in a doubt that never speaks, is told at once."""
    rewrite(copied_models, **change)
    with pytest.raises(ModelUnavailableError) as caught:
        GarmentModel(copied_models).predict(np.zeros((20, 20, 3), np.uint8))
    assert caught.value.reason.startswith("garment.json is damaged")


@pytest.mark.parametrize("classes", [[], ["dress"], ["dress"] * 11])
def test_model_whose_classes_are_not_the_networks(copied_models: Path, classes: list[str]) -> None:
    """A name for each answer, or none can be trusted."""
    rewrite(copied_models, classes=classes)
    with pytest.raises(ModelUnavailableError) as caught:
        GarmentModel(copied_models).predict(np.zeros((20, 20, 3), np.uint8))
    assert "classes" in caught.value.reason


def test_mask_is_as_fine_as_the_second_look(copied_models: Path) -> None:
    """A second look at another size than the first one's decides the size of the mask."""
    rewrite(copied_models, inputSide=160, closerSide=192)
    assert GarmentModel(copied_models).predict(np.zeros((90, 60, 3), np.uint8)).mask.shape[0] == 192


def test_model_with_one_byte_changed(copied_models: Path) -> None:
    """Weights that differ in a single byte are refused by their SHA-256."""
    path = copied_models / "garment.onnx"
    weights = bytearray(path.read_bytes())
    weights[len(weights) // 2] ^= 1
    path.write_bytes(weights)
    with pytest.raises(ModelUnavailableError) as caught:
        GarmentModel(copied_models).predict(np.zeros((20, 20, 3), np.uint8))
    assert "SHA-256" in caught.value.reason


def test_model_that_is_no_network(copied_models: Path) -> None:
    """A file with the right hash that is no network makes the model unavailable, not a crash."""
    (copied_models / "garment.onnx").write_bytes(b"not a network")
    rewrite(copied_models, sha256=hashlib.sha256(b"not a network").hexdigest())
    with pytest.raises(ModelUnavailableError) as caught:
        GarmentModel(copied_models).predict(np.zeros((20, 20, 3), np.uint8))
    assert caught.value.reason.startswith("garment.onnx is not a network")


def test_model_repaired_after_a_failure(copied_models: Path) -> None:
    """A model that could not be loaded is tried again at the next photo."""
    model = GarmentModel(copied_models)
    weights = (copied_models / "garment.onnx").read_bytes()
    (copied_models / "garment.onnx").unlink()
    with pytest.raises(ModelUnavailableError):
        model.predict(np.zeros((20, 20, 3), np.uint8))
    (copied_models / "garment.onnx").write_bytes(weights)
    assert model.predict(np.zeros((20, 20, 3), np.uint8)).probabilities
