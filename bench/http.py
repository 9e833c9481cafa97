"""How fast the API answers while the worker is busy: `python -m bench.http`.

Requests of a rate are sent on their schedule, whether earlier ones were answered or not, and timed
from when they should have gone out: a slow answer cannot hide the ones behind it.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
from PIL import Image

from bench.local_host import ROOT, local_host

OUT = ROOT / "bench" / "out"
PHOTOS = sorted((ROOT / "tests" / "photos").glob("*.jpg"))
SETTINGS = {"UPLOADS_PER_MINUTE": "5000", "STATUS_CALLS_PER_MINUTE": "1000000"}
BATCH = 10  # ids in one status call
MEGAPIXELS = (4000, 3000)
BYTES = 3_000_000
FULL_QUEUE = 6  # photos waiting or in work, so that the worker never rests


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One measurement; times in milliseconds."""

    what: str
    requests: int
    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    slowest_ms: float
    failed: int


def main() -> None:
    wanted = _arguments()
    OUT.mkdir(parents=True, exist_ok=True)
    with (
        local_host(OUT / "http-host.log", settings=SETTINGS) as base_url,
        httpx.Client(base_url=base_url, timeout=60) as api,
    ):
        figures = list(_measure(api, wanted))
    print(f"load average at the end: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    for figure in figures:
        print(_line(figure))
    report = OUT / "http.json"
    report.write_text(json.dumps([asdict(figure) for figure in figures], indent=2))
    print(f"written to {report.relative_to(ROOT)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=20, help="status calls a second")
    parser.add_argument("--seconds", type=float, default=30, help="for each measurement")
    parser.add_argument("--uploads", type=int, default=2, help="clients that upload at once")
    return parser.parse_args()


def _measure(api: httpx.Client, wanted: argparse.Namespace) -> Iterator[Figure]:
    large = large_photo()
    ids = ",".join(_upload(api, "reader", PHOTOS[:BATCH]))
    status = _status_call(api, "reader", ids)
    status(0)  # the first call of a process loads what later ones have
    quiet = at_rate(status, wanted.rate, wanted.seconds)
    yield figure_of(f"status of {BATCH} ids at {wanted.rate:g}/s, worker idle", quiet)
    with busy_worker(api, large):
        calls = at_rate(status, wanted.rate, wanted.seconds)
        yield figure_of(f"status of {BATCH} ids at {wanted.rate:g}/s, worker busy", calls)
        calls = in_parallel(status, 4, wanted.seconds / 2)
        yield figure_of(f"status of {BATCH} ids, 4 clients without pause, worker busy", calls)
        calls = in_parallel(_upload_call(api, large), wanted.uploads, wanted.seconds)
        name = f"POST of a {len(large) / 1e6:.1f}-MB photo, {wanted.uploads} clients, worker busy"
        yield figure_of(name, calls)


@dataclass(frozen=True, slots=True)
class Call:
    """How long one request took, from when it was due, and when it was over."""

    seconds: float
    ended: float
    good: bool


def at_rate(request: Callable[[int], bool], rate: float, seconds: float) -> list[Call]:
    """Requests on a fixed schedule."""
    start = time.perf_counter() + 0.1
    due = [start + n / rate for n in range(int(rate * seconds))]

    def one(number: int) -> Call:
        time.sleep(max(0.0, due[number] - time.perf_counter()))
        good = request(number)
        now = time.perf_counter()
        return Call(now - due[number], now, good)

    with ThreadPoolExecutor(max_workers=64) as pool:
        return list(pool.map(one, range(len(due))))


def in_parallel(request: Callable[[int], bool], clients: int, seconds: float) -> list[Call]:
    """As many requests as that many clients get answered, one after the other."""
    numbers, end = itertools.count(), time.perf_counter() + seconds

    def client(_: int) -> list[Call]:
        calls = []
        while (start := time.perf_counter()) < end:
            good = request(next(numbers))
            now = time.perf_counter()
            calls.append(Call(now - start, now, good))
        return calls

    with ThreadPoolExecutor(max_workers=clients) as pool:
        return [call for calls in pool.map(client, range(clients)) for call in calls]


def figure_of(what: str, calls: list[Call]) -> Figure:
    """The numbers of one measurement."""
    times = sorted(call.seconds * 1000 for call in calls)
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    started = min(call.ended - call.seconds for call in calls)
    return Figure(
        what=what,
        requests=len(calls),
        per_second=round(len(calls) / (max(call.ended for call in calls) - started), 1),
        p50_ms=round(cuts[49], 1),
        p95_ms=round(cuts[94], 1),
        p99_ms=round(cuts[98], 1),
        slowest_ms=round(times[-1], 1),
        failed=sum(not call.good for call in calls),
    )


@contextmanager
def busy_worker(api: httpx.Client, photo: bytes) -> Iterator[None]:
    """Keeps photos waiting, so that every core has its share of work."""
    over = threading.Event()

    def feed() -> None:
        waiting: list[str] = []
        while not over.is_set():
            while len(waiting) < FULL_QUEUE:
                waiting += _post(api, "feeder", [("large.jpg", photo)])
            asked = api.get(
                "/wardrobe/drafts/status",
                params={"ids": ",".join(waiting)},
                headers={"X-Owner-Id": "feeder"},
            )
            drafts = asked.json()["drafts"]
            waiting = [draft["id"] for draft in drafts if draft["status"] == "Processing"]
            over.wait(1)

    feeder = threading.Thread(target=feed, name="feeder")
    feeder.start()
    try:
        time.sleep(2)
        yield
    finally:
        over.set()
        feeder.join()


def large_photo() -> bytes:
    """A 12-megapixel JPEG of about 3 MB, made of one of the real photos."""
    with Image.open(PHOTOS[0]) as small:
        large = small.convert("RGB").resize(MEGAPIXELS, Image.Resampling.BICUBIC)
    noise = Image.effect_noise(MEGAPIXELS, 18).convert("RGB")
    grainy = Image.blend(large, noise, 0.12)
    for quality in range(95, 40, -3):
        out = io.BytesIO()
        grainy.save(out, "JPEG", quality=quality)
        if out.tell() <= BYTES * 1.05:
            break
    return out.getvalue()


def _status_call(api: httpx.Client, owner: str, ids: str) -> Callable[[int], bool]:
    def call(_: int) -> bool:
        answer = api.get(
            "/wardrobe/drafts/status", params={"ids": ids}, headers={"X-Owner-Id": owner}
        )
        return answer.status_code == httpx.codes.OK

    return call


def _upload_call(api: httpx.Client, photo: bytes) -> Callable[[int], bool]:
    def call(number: int) -> bool:
        return bool(_post(api, f"uploader-{number % 50}", [("large.jpg", photo)]))

    return call


def _upload(api: httpx.Client, owner: str, photos: list[Path]) -> list[str]:
    return _post(api, owner, [(photo.name, photo.read_bytes()) for photo in photos])


def _post(api: httpx.Client, owner: str, photos: list[tuple[str, bytes]]) -> list[str]:
    answer = api.post(
        "/wardrobe/drafts",
        files=[("files", photo) for photo in photos],
        headers={"X-Owner-Id": owner},
    )
    if answer.status_code != httpx.codes.ACCEPTED:
        return []
    return [draft["id"] for draft in answer.json()["drafts"]]


def _line(figure: Figure) -> str:
    return (
        f"{figure.what}: {figure.requests} requests, {figure.per_second}/s, "
        f"p50 {figure.p50_ms} ms, p95 {figure.p95_ms} ms, p99 {figure.p99_ms} ms, "
        f"slowest {figure.slowest_ms} ms, failed {figure.failed}"
    )


if __name__ == "__main__":
    main()
