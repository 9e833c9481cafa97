"""What the fuzzer cannot guess: bytes that are a picture."""

import io

import schemathesis
from hypothesis import strategies as st
from PIL import Image


def _picture(kind: str, width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "navy").save(out, kind)
    return out.getvalue()


PICTURES = st.builds(_picture, st.sampled_from(["JPEG", "PNG", "WEBP"]), st.just(40), st.just(50))

schemathesis.openapi.media_type("image/*", PICTURES)
schemathesis.openapi.format("binary", PICTURES)
