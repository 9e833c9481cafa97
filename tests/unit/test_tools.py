"""Which segmenter and namer the settings choose."""

import numpy as np
from azure.identity import CredentialUnavailableError

from process_image_job.namers.own_model import OwnModelNamer
from process_image_job.namers.vision_endpoint import VisionEndpointNamer
from process_image_job.segmenters.local import LocalSegmenter
from process_image_job.segmenters.remote import RemoteSegmenter
from process_image_job.steps.decode import decode
from process_image_job.tools import tools_for
from process_image_job.values import Photo
from shared import bootstrap
from shared.domain.pictures import Caution
from shared.settings import Settings
from tests.unit.pipeline import drawing


def test_tools_by_default_are_those_of_the_bundle():
    """Cut out here, named by the own model."""
    tools = tools_for(Settings())
    assert tools.segmenter is tools.local_segmenter
    assert isinstance(tools.name, OwnModelNamer)


def test_tools_with_a_processor_ask_it_and_keep_the_local_one_to_fall_back_to():
    """PROCESSOR_URL decides."""
    tools = tools_for(Settings(processor_url="http://127.0.0.1:1/api/process-image"))
    assert isinstance(tools.segmenter, RemoteSegmenter)
    assert tools.local_segmenter is not tools.segmenter


def test_tools_without_the_model_are_classical():
    """SEGMENTER classical never loads the model for the mask."""
    photo = decode(drawing.saved(drawing.on_wall(drawing.tee_mask(300, 400)), quality=90))
    found = tools_for(Settings(segmenter="classical")).segmenter(photo)
    expected = LocalSegmenter(prior=None)(photo)
    assert np.array_equal(found.alpha, expected.alpha)
    assert (found.confidence, found.cautions) == (expected.confidence, ())


def test_tools_with_an_endpoint_ask_it():
    """METADATA_PROVIDER openai, with a key or the app's identity."""
    chosen = Settings(
        metadata_provider="openai",
        openai_endpoint="http://127.0.0.1:1/v1",
        openai_model="m",
        openai_key="k",
    )
    assert isinstance(tools_for(chosen).name, VisionEndpointNamer)


def test_tools_whose_identity_gives_no_token_leave_the_naming_to_the_person(monkeypatch):
    """An identity that is missing or away costs the name, never the draft."""

    class Away:
        def get_token(self, scope):
            raise CredentialUnavailableError(message=f"no identity for {scope}")

    monkeypatch.setattr(bootstrap, "_identity", Away)
    chosen = Settings(
        metadata_provider="openai", openai_endpoint="http://127.0.0.1:1/v1", openai_model="m"
    )
    photo = Photo(rgb=np.zeros((8, 8, 3), np.uint8), alpha=None, full_width=8, full_height=8)
    named = tools_for(chosen).name(photo, None, (), last=True)
    assert named.cautions == (Caution.METADATA_UNAVAILABLE,)
    assert named.metadata.source == "none"


def test_tools_are_made_once_a_process():
    """The second job finds the models loaded."""
    assert tools_for(Settings()) is tools_for(Settings())
