"""Reads what another service answers, where it may come slowly or without end."""

from __future__ import annotations

import time

import requests
import urllib3

_PIECE = 65_536  # bytes


def body_within(response: requests.Response, *, most_bytes: int, deadline: float) -> bytes:
    """The body of a response that was asked for with `stream`; of a longer one the first bytes,
    more than `most_bytes`. Raises requests.RequestException where it is not complete by
    `deadline`, of `time.monotonic`.
    """
    received = bytearray()
    try:
        # read1 gives what is there; iter_content would wait until a whole piece has dripped in.
        while piece := response.raw.read1(_PIECE, decode_content=True):
            received += piece
            if len(received) > most_bytes:
                break
            if time.monotonic() > deadline:
                raise requests.ReadTimeout("the answer is not complete in time")
    except urllib3.exceptions.HTTPError as error:
        raise requests.ConnectionError from error
    return bytes(received)
