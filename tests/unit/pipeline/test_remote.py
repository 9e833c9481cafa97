"""The remote processor, tried against a small real HTTP server that can misbehave."""

import io
import json
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from PIL import Image

from process_image_job.pipeline import cut_out
from process_image_job.segmenters.remote import RemoteSegmenter
from process_image_job.steps.crop import mask_from_png
from process_image_job.steps.decode import decode
from process_image_job.values import Photo
from shared.domain import errors
from shared.domain.pictures import Segmentation
from tests.unit.pipeline import drawing

Answer = tuple[int, dict[str, str], bytes | Iterator[bytes]]
MASK = drawing.tee_mask(300, 400)


class QuietServer(ThreadingHTTPServer):
    """Clients that hang up are part of the tests."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing."""


@contextmanager
def processor(answer: Callable[[bytes, dict[str, str]], Answer]) -> Iterator[str]:
    """A server that answers every POST by the function."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, headers, data = answer(body, dict(self.headers))
            self.send_response(status)
            if isinstance(data, bytes):
                headers = {"Content-Length": str(len(data)), **headers}
                data = iter([data])
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in data:
                self.wfile.write(piece)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = QuietServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/api/process-image"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def photo() -> Photo:
    return decode(drawing.saved(drawing.on_wall(MASK), quality=90))


def cut(body: bytes, form: str = "WEBP") -> bytes:
    """What an honest processor makes of the picture it was sent."""
    rgb = np.asarray(Image.open(io.BytesIO(body)).convert("RGB"))
    return drawing.saved(np.dstack([rgb, MASK]), form)


def ask(answer: Answer | Callable[[bytes, dict[str, str]], Answer], **options: float) -> object:
    """The answer the client raises or returns."""
    reply = answer if callable(answer) else lambda body, headers: answer
    with processor(reply) as url:
        return RemoteSegmenter(url=url, key="secret", **options)(photo())


def test_remote_that_is_well() -> None:
    """Its mask and its confidence are taken over."""
    seen: dict[str, str] = {}

    def answer(body: bytes, headers: dict[str, str]) -> Answer:
        seen.update(headers)
        return 200, {"X-Segmentation": "Applied", "X-Confidence": "0.87"}, cut(body)

    with processor(answer) as url:
        found = cut_out(photo(), RemoteSegmenter(url=url, key="secret"))
    assert seen["x-functions-key"] == "secret"
    assert seen["Content-Type"] == "image/webp"
    assert (found.segmentation, found.confidence) == (Segmentation.APPLIED, 0.87)
    assert np.array_equal(mask_from_png(found.mask_png), MASK)


def test_remote_in_doubt() -> None:
    """A processor that doubts its mask is believed."""

    def answer(body: bytes, headers: dict[str, str]) -> Answer:
        return 200, {"X-Segmentation": "LowConfidence", "X-Confidence": "0.3"}, body

    with processor(answer) as url:
        found = cut_out(photo(), RemoteSegmenter(url=url))
    assert found.segmentation is Segmentation.LOW_CONFIDENCE


def test_remote_with_empty_mask() -> None:
    """An empty mask is no cut-out, whatever the processor says."""

    def answer(body: bytes, headers: dict[str, str]) -> Answer:
        rgb = np.asarray(Image.open(io.BytesIO(body)).convert("RGB"))
        empty = np.zeros(rgb.shape[:2], np.uint8)
        return 200, {"X-Confidence": "1"}, drawing.saved(np.dstack([rgb, empty]), "WEBP")

    with processor(answer) as url:
        found = cut_out(photo(), RemoteSegmenter(url=url))
    assert found.segmentation is Segmentation.LOW_CONFIDENCE


OPAQUE = drawing.saved(Image.new("RGB", (300, 400)), "WEBP")
OTHER_SIZE = drawing.saved(Image.new("RGBA", (30, 40), (1, 2, 3, 4)), "WEBP")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param((500, {}, b""), id="500"),
        pytest.param((503, {"Retry-After": "5"}, b"{}"), id="503"),
        pytest.param((429, {}, b""), id="429"),
        pytest.param((401, {}, b""), id="401"),
        pytest.param((404, {}, b""), id="404"),
        pytest.param((302, {"Location": "http://127.0.0.1:1/"}, b""), id="redirect"),
        pytest.param((204, {}, b""), id="nothing"),
        pytest.param((200, {}, b""), id="empty"),
        pytest.param((200, {}, b"<html>sign in</html>"), id="html"),
        pytest.param((200, {}, OPAQUE), id="no-alpha"),
        pytest.param((200, {}, OTHER_SIZE), id="other-size"),
        pytest.param((200, {}, OTHER_SIZE[:60]), id="truncated"),
        pytest.param((200, {"Content-Length": "99999"}, OTHER_SIZE), id="cut-off"),
    ],
)
def test_remote_that_is_not_well(answer: Answer) -> None:
    """Whatever goes wrong on its side is transient: the photo is not to blame."""
    with pytest.raises(errors.ProcessorUnavailableError):
        ask(answer)


def test_remote_with_png() -> None:
    """The contract is WebP; another format is garbage."""
    with pytest.raises(errors.ProcessorUnavailableError):
        ask(lambda body, headers: (200, {}, cut(body, "PNG")))


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (413, {"code": "IMAGE_TOO_LARGE"}, errors.ImageTooLargeError),
        (400, {"code": "IMAGE_TOO_SMALL"}, errors.ImageTooSmallError),
        (415, {}, errors.ProcessorUnavailableError),  # it may not take WebP
        (413, "<html>413 Request Entity Too Large</html>", errors.ProcessorUnavailableError),
        (422, ["not a problem"], errors.ProcessorUnavailableError),
        (400, {"code": "RAW_MISSING"}, errors.ProcessorUnavailableError),  # not its to say
        (500, {"code": "CORRUPT_IMAGE"}, errors.ProcessorUnavailableError),
    ],
)
def test_remote_that_refuses_the_photo(
    status: int, body: object, error: type[errors.IngestError]
) -> None:
    """Only a problem with the code of a bad photo blames it: what was sent is our own WebP."""
    with pytest.raises(error):
        ask((status, {}, json.dumps(body).encode()))


def test_remote_that_is_silent() -> None:
    """A processor that never answers is given up after the read time."""
    release = threading.Event()

    def answer(body: bytes, headers: dict[str, str]) -> Answer:
        release.wait(20)
        return 200, {"X-Confidence": "0.9"}, cut(body)  # whoever waits for it gets a good answer

    try:
        with processor(answer) as url, pytest.raises(errors.ProcessorUnavailableError):
            RemoteSegmenter(url=url, read_seconds=0.2)(photo())
    finally:
        release.set()


def dripping(ended: threading.Event, seconds: float) -> Iterator[bytes]:
    """A byte every now and then until the client hangs up, or `ended` is set."""
    patience = threading.Event()
    for _ in range(int(seconds * 50)):
        yield b"R"
        patience.wait(0.02)
    ended.set()


def test_remote_that_drips() -> None:
    """However slowly an answer comes in, it is given up once the whole time is over."""
    ended = threading.Event()
    with processor(lambda body, headers: (200, {}, dripping(ended, 10))) as url:
        with pytest.raises(errors.ProcessorUnavailableError):
            RemoteSegmenter(url=url, total_seconds=0.2)(photo())
        assert not ended.is_set()


def test_remote_that_is_late_with_its_first_byte_too() -> None:
    """The whole time counts from the question on, not from the first line of the answer."""
    late = threading.Event()

    def answer(body: bytes, headers: dict[str, str]) -> Answer:
        late.wait(0.3)
        return 200, {"X-Confidence": "0.9"}, cut(body)

    with processor(answer) as url, pytest.raises(errors.ProcessorUnavailableError):
        RemoteSegmenter(url=url, total_seconds=0.2)(photo())


def test_remote_that_is_not_there() -> None:
    """A refused connection is transient; the key in the address does not come into the log."""
    segmenter = RemoteSegmenter(url="http://127.0.0.1:9/?code=hush")
    with pytest.raises(errors.ProcessorUnavailableError) as caught:
        segmenter(photo())
    assert "hush" not in "".join(traceback.format_exception(caught.value))


def test_remote_is_not_asked_about_a_strip() -> None:
    """A photo of a few pixels in width shows no garment, whoever looks."""
    strip = decode(drawing.saved(np.full((40, 4000, 3), 200, np.uint8), "PNG"))
    found = cut_out(strip, RemoteSegmenter(url="http://127.0.0.1:9/"))
    assert found.segmentation is Segmentation.LOW_CONFIDENCE
    assert (found.box.width, found.box.height) == (4000, 40)
