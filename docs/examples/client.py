"""Uploads photos and waits until they are done: all that a client of Fitting Room needs.

python client.py http://127.0.0.1:7071/api shirt.jpg hat.heic
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

TRIES = 5
HELD = "IDEMPOTENCY_KEY_IN_FLIGHT"  # by an earlier try, at work or lost on its way
HELD_FOR = 130  # seconds, a little more than the service lets a lost request hold its key


class FittingRoom:
    """One owner's drafts. `headers` say who asks: a function key and `X-Owner-Id`, or a cookie."""

    def __init__(self, base_url: str, headers: dict[str, str] | None = None) -> None:
        self._http = httpx.Client(base_url=base_url, headers=headers, timeout=60)

    def upload(self, *photos: Path) -> list[dict[str, Any]]:
        """One item per photo. Sent again after a lost answer it makes no second draft."""
        files = [("files", (photo.name, photo.read_bytes())) for photo in photos]
        key = {"Idempotency-Key": str(uuid.uuid4())}
        answer = self._again("POST", "/wardrobe/drafts", files=files, headers=key)
        return answer.json()["drafts"]

    def wait(self, ids: list[str]) -> Iterator[dict[str, Any]]:
        """Each draft as soon as it is Ready or Failed, asking no more often than told."""
        while ids:
            status = self._again("GET", "/wardrobe/drafts/status", params={"ids": ",".join(ids)})
            for draft in status.json()["drafts"]:
                if draft["status"] != "Processing":
                    ids = [draft_id for draft_id in ids if draft_id != draft["id"]]
                    yield draft
            time.sleep(status.json()["retryAfterSeconds"] or 0)

    def _again(self, method: str, path: str, **sent: Any) -> httpx.Response:
        """Repeats what a problem calls retryable, and what got no answer of the API."""
        for tried in range(1, TRIES + 1):
            try:
                answer = self._once_free(method, path, **sent)
            except httpx.TransportError:
                if tried == TRIES:
                    raise
                time.sleep(2**tried)
                continue
            if answer.is_success or not _retryable(answer) or tried == TRIES:
                break
            time.sleep(int(answer.headers.get("Retry-After", 2**tried)))
        return answer.raise_for_status()

    def _once_free(self, method: str, path: str, **sent: Any) -> httpx.Response:
        """One try: waiting for a key that an earlier one holds is none of its own."""
        until = time.monotonic() + HELD_FOR
        while True:
            answer = self._http.request(method, path, **sent)
            if _problem(answer).get("code") != HELD or time.monotonic() >= until:
                return answer
            time.sleep(int(answer.headers["Retry-After"]))


def _retryable(answer: httpx.Response) -> bool:
    """The host's own errors do not say: a lost worker, a host that starts or has too much to do."""
    of_the_host = answer.status_code == 429 or answer.status_code >= 500
    return _problem(answer).get("retryable", of_the_host)


def _problem(answer: httpx.Response) -> dict[str, Any]:
    try:
        return answer.json()
    except ValueError:
        return {}


def main(base_url: str, *photos: str) -> None:
    room = FittingRoom(base_url)
    items = room.upload(*map(Path, photos))
    for item in items:
        if item["status"] == "Rejected":
            print(f"{item['fileName']}: {item['error']['detail']}")
    for draft in room.wait([item["id"] for item in items if "id" in item]):
        what = draft["metadata"] or draft["error"]
        print(f"{draft['fileName']}: {draft['status']}, {what.get('category') or what['detail']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
