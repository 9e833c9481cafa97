"""Who names a garment, against a real small server that speaks the vision API."""

import base64
import json
import threading
import traceback
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import cv2
import numpy as np
import pytest

from process_image_job.garment_model import (
    MODELS,
    GarmentModel,
    GarmentPrediction,
    ModelDescription,
)
from process_image_job.namers.own_model import OwnModelNamer
from process_image_job.namers.port import allowed_category, suggested_title
from process_image_job.namers.vision_endpoint import VisionEndpointNamer
from process_image_job.tools import tools_for
from process_image_job.values import CutOut, Photo
from shared.domain.errors import ProviderUnavailableError
from shared.domain.pictures import Box, Caution, Color, Segmentation
from shared.settings import CATEGORIES, Settings

ALLOWED = tuple(CATEGORIES.split(","))
NAVY = (Color(name="Navy", hex="#102040", share=0.8), Color(name="White", hex="#ffffff", share=0.2))
PHOTO = Photo(
    rgb=np.full((1200, 900, 3), 128, np.uint8), alpha=None, full_width=900, full_height=1200
)


def completion(content, status=200):
    body = {
        "choices": [{"message": {"content": content}}],
        "usage": {"prompt_tokens": 321, "completion_tokens": 12},
    }
    return status, json.dumps(body).encode()


def answer(**fields):
    told = {"category": "T-shirt", "confidence": 0.9, "title": "Navy tee"} | fields
    return completion(json.dumps(told))


@dataclass
class Endpoint:
    """Answers what it was given, and keeps what it was asked."""

    reply: tuple[int, bytes]
    asked: list[dict] = field(default_factory=list)
    headers: list[dict] = field(default_factory=list)
    address: str = ""


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A client that hangs up is part of the tests."""


def dripping(ended, most_seconds):
    """A blank every now and then, until the client has had enough or `ended` is set."""
    patience = threading.Event()
    for _ in range(most_seconds * 50):
        yield b" "
        patience.wait(0.02)
    ended.set()


@contextmanager
def serving(reply):
    endpoint = Endpoint(reply)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            endpoint.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            endpoint.headers.append(dict(self.headers) | {"path": self.path})
            status, body = endpoint.reply
            self.send_response(status)
            if isinstance(body, bytes):
                self.send_header("Content-Length", str(len(body)))
                body = [body]
            self.end_headers()
            for piece in body:
                self.wfile.write(piece)

        def log_message(self, *args):
            """Nothing on the console."""

    server = QuietServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    endpoint.address = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def namer_at(address, **options):
    return VisionEndpointNamer(
        endpoint=address,
        model="tiny-vision",
        bearer=lambda: "secret",
        categories=ALLOWED,
        **options,
    )


def test_vision_endpoint_names_the_garment_in_one_small_call():
    """One call with a picture of at most 512 px, a schema, and the key as bearer."""
    with serving(answer()) as endpoint:
        named = namer_at(endpoint.address)(PHOTO, None, NAVY, last=False)
    assert (named.metadata.category, named.metadata.title) == ("T-shirt", "Navy tee")
    assert (named.metadata.source, named.metadata.needs_review) == ("openai", False)
    [asked] = endpoint.asked
    assert endpoint.headers[0]["path"] == "/v1/chat/completions"
    assert endpoint.headers[0]["Authorization"] == "Bearer secret"
    assert asked["response_format"]["json_schema"]["schema"]["properties"]["category"]["enum"]
    assert len(json.dumps(asked)) < 60_000


def test_vision_endpoint_cost_stands_in_the_telemetry(caplog):
    """The tokens of each call can be added up."""
    caplog.set_level("INFO")
    with serving(answer()) as endpoint:
        namer_at(endpoint.address)(PHOTO, None, NAVY, last=False)
    [line] = [json.loads(r.getMessage()) for r in caplog.records if "provider_called" in r.message]
    assert (line["outcome"], line["inputTokens"], line["outputTokens"]) == ("200", 321, 12)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_vision_endpoint_that_is_busy_is_asked_again_later(status):
    """What may pass raises, so that the next run asks again."""
    with serving((status, b"busy")) as endpoint, pytest.raises(ProviderUnavailableError):
        namer_at(endpoint.address)(PHOTO, None, NAVY, last=False)


def test_vision_endpoint_that_is_away_in_the_last_run_leaves_it_to_the_person():
    """The draft becomes Ready without a category, and says so."""
    with serving((503, b"")) as endpoint:
        named = namer_at(endpoint.address)(PHOTO, None, NAVY, last=True)
    assert (named.metadata.category, named.metadata.source) == ("Uncategorised", "none")
    assert named.metadata.colors == NAVY
    assert named.cautions == (Caution.METADATA_UNAVAILABLE,)


def test_vision_endpoint_that_drips_is_given_up():
    """However slowly an answer comes in, a run does not outlive its time for it."""
    ended = threading.Event()
    with serving((200, dripping(ended, most_seconds=5))) as endpoint:
        with pytest.raises(ProviderUnavailableError):
            namer_at(endpoint.address, total_seconds=0.2)(PHOTO, None, NAVY, last=False)
        assert not ended.is_set()


def test_vision_endpoint_that_does_not_listen_is_unavailable():
    """A refused connection is transient; a key in the address does not come into the log."""
    namer = namer_at("http://127.0.0.1:9/v1?key=hush")
    with pytest.raises(ProviderUnavailableError) as caught:
        namer(PHOTO, None, NAVY, last=False)
    assert "hush" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "reply",
    [
        (401, b"no"),
        (404, b"{}"),
        (302, b""),
        (200, b"not json"),
        (200, b"[]"),
        (200, b'{"choices": []}'),
        completion("not json"),
        completion('{"category": 1}'),
        completion('{"category": "Shirt", "confidence": 0.9, "title": "Tee \\ud83d"}'),
        completion('{"category": "Shirt", "confidence": 0.9, "title": "Tee \ud83d"}'),
        completion('{"category": "Shirt", "confidence": 7}'),
        completion(None),
        (200, b" " * 1_100_000),
        (200, b"[" * 100_000),
    ],
)
def test_vision_endpoint_answer_that_no_repetition_mends_is_not_asked_again(reply):
    """A refused key or a broken answer leaves the naming to the person at once, in one call."""
    with serving(reply) as endpoint:
        named = namer_at(endpoint.address)(PHOTO, None, NAVY, last=False)
    assert named.cautions == (Caution.METADATA_UNAVAILABLE,)
    assert len(endpoint.asked) == 1


def test_vision_endpoint_category_outside_the_list_is_not_stored():
    """An answer outside the allow-list becomes Uncategorised with a warning."""
    with serving(answer(category="Spaceship")) as endpoint:
        named = namer_at(endpoint.address)(PHOTO, None, NAVY, last=False)
    assert named.metadata.category == "Uncategorised"
    assert named.metadata.needs_review
    assert named.cautions == (Caution.CATEGORY_NOT_ALLOWED,)


def test_vision_endpoint_that_sees_no_garment_gives_no_warning():
    """Uncategorised is an answer that we offer."""
    with serving(answer(category="uncategorised")) as endpoint:
        named = namer_at(endpoint.address)(PHOTO, None, NAVY, last=False)
    assert (named.metadata.category, named.cautions) == ("Uncategorised", ())


def test_vision_endpoint_that_is_unsure_needs_review():
    """A guess is never sold as a fact."""
    with serving(answer(confidence=0.3)) as endpoint:
        named = namer_at(endpoint.address)(PHOTO, None, NAVY, last=False)
    assert named.metadata.needs_review


def test_vision_endpoint_sees_nothing_of_what_was_cut_away():
    """A picture without its background is sent as it is seen: on white, not on what lay behind."""
    rgb = np.zeros((60, 60, 3), np.uint8)
    alpha = np.zeros((60, 60), np.uint8)
    cut = Photo(rgb=rgb, alpha=alpha, full_width=60, full_height=60)
    with serving(answer()) as endpoint:
        namer_at(endpoint.address)(cut, None, NAVY, last=False)
    [asked] = endpoint.asked
    address = asked["messages"][0]["content"][1]["image_url"]["url"]
    jpeg = np.frombuffer(base64.b64decode(address.partition(",")[2]), np.uint8)
    assert cv2.imdecode(jpeg, cv2.IMREAD_COLOR).min() > 250


def test_vision_endpoint_without_a_token_is_asked_again_later_and_then_left(caplog):
    """An identity that is away is like an endpoint that is: the run comes again, the last ends."""
    caplog.set_level("INFO")

    def bearer():
        raise ProviderUnavailableError

    namer = VisionEndpointNamer(
        endpoint="http://127.0.0.1:9/v1", model="m", bearer=bearer, categories=ALLOWED
    )
    with pytest.raises(ProviderUnavailableError):
        namer(PHOTO, None, NAVY, last=False)
    assert namer(PHOTO, None, NAVY, last=True).cautions == (Caution.METADATA_UNAVAILABLE,)
    told = [json.loads(record.getMessage()) for record in caplog.records]
    assert [line["outcome"] for line in told] == ["unreachable", "unreachable"]


def test_category_is_found_in_any_spelling():
    """Case and punctuation of an answer do not matter; the list's spelling is stored."""
    assert allowed_category("t shirt", ALLOWED) == "T-shirt"
    assert allowed_category("LONGSLEEVE", ALLOWED) == "Long sleeve"
    assert allowed_category("car", ALLOWED) is None


def test_title_is_colour_and_category():
    """Such as a person would write it."""
    assert suggested_title("T-shirt", NAVY) == "Navy T-shirt"
    assert suggested_title("Uncategorised", NAVY) is None
    assert suggested_title("Dress", ()) is None


@dataclass(frozen=True)
class Seeing:
    """A model that sees the same in every photo."""

    category: str = "t-shirt"
    confidence: float = 0.9

    @property
    def description(self):
        return replace(ModelDescription.read(MODELS), uncategorised_below=0.5)

    def predict(self, rgb):
        mask = np.ones((2, 2), np.float32)
        return GarmentPrediction(
            mask=mask, category=self.category, confidence=self.confidence, probabilities=()
        )


def seen_by(model, segmentation=Segmentation.APPLIED, sure=0.9, allowed=ALLOWED):
    box = Box(left=0, top=0, width=1, height=1)
    cut_out = CutOut(mask_png=b"", box=box, confidence=sure, segmentation=segmentation)
    return OwnModelNamer(model, allowed)(PHOTO, cut_out, NAVY, last=False)


def test_own_model_that_is_sure_needs_no_review():
    """The category in the list's words, with how sure the model is."""
    metadata = seen_by(Seeing()).metadata
    assert (metadata.category, metadata.category_confidence) == ("T-shirt", 0.9)
    assert (metadata.title, metadata.needs_review) == ("Navy T-shirt", False)


@pytest.mark.parametrize(
    ("model", "segmentation", "sure"),
    [
        (Seeing(confidence=0.49), Segmentation.APPLIED, 0.9),
        (Seeing(), Segmentation.LOW_CONFIDENCE, 0.4),
        (Seeing(), Segmentation.DEGRADED, 0.4),
    ],
    ids=["unsure", "no-garment", "no-garment-without-the-processor"],
)
def test_own_model_sells_no_guess_as_a_fact(model, segmentation, sure):
    """Below its threshold, or where no garment was found, the person has to say."""
    metadata = seen_by(model, segmentation, sure).metadata
    assert (metadata.category, metadata.title) == ("Uncategorised", None)
    assert metadata.needs_review


def test_own_model_category_outside_the_list_is_not_stored():
    """A deployment that sells no hats gets none."""
    named = seen_by(Seeing(category="hat"), allowed=("Dress",))
    assert named.metadata.category == "Uncategorised"
    assert named.cautions == (Caution.CATEGORY_NOT_ALLOWED,)


def test_own_model_that_is_missing_leaves_it_to_the_person(tmp_path):
    """A missing model is a warning, never a crash."""
    named = OwnModelNamer(GarmentModel(tmp_path), ALLOWED)(PHOTO, None, NAVY, last=False)
    assert named.cautions == (Caution.MODEL_UNAVAILABLE,)
    assert named.metadata.colors == NAVY


def test_no_provider_reads_only_colours():
    """METADATA_PROVIDER none."""
    tools = tools_for(Settings(metadata_provider="none"))
    named = tools.name(PHOTO, None, NAVY, last=True)
    assert (named.metadata.source, named.metadata.colors) == ("none", NAVY)
    assert named.metadata.needs_review
