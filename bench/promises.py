"""The table of promises, column 'host alive', measured on the local host and the emulator.

    python -m bench.promises kills        30 workers killed in the middle of a photo
    python -m bench.promises killers      5 photos that kill every worker, queues as deployed
    python -m bench.promises duplicates   1,000 deliveries of the messages of 20 drafts
    python -m bench.promises garbage      500 messages that nobody understands before a photo

Backlogs and lost messages are measured by `python -m bench.sweep --backlog`: there the clock is
moved. Each prints its numbers and exits 0 only if the promise held.
"""

from __future__ import annotations

import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import httpx

from bench.chaos import OUT, draw_photo
from bench.chaos_count import drafts_of
from bench.chaos_rig import Rig, rig
from bench.local_host import ROOT
from shared.dependencies import Dependencies
from shared.domain.draft import Draft, DraftStatus
from shared.domain.events import EventType
from shared.sending import message_for

KILLER_APP = ROOT / "tests" / "chaos" / "killer_app"
MARKER = b"END-THE-WORKER"
AS_DEPLOYED = {
    "AzureFunctionsJobHost__extensions__queues__batchSize": "1",
    "AzureFunctionsJobHost__extensions__queues__newBatchThreshold": "0",
}
_GLANCE = 0.05  # seconds
_FINAL = (DraftStatus.READY, DraftStatus.FAILED)


def kills(count: int = 30, every: float = 20) -> bool:
    """From the kill to Ready, one photo at a time; a new photo every 20 s."""
    waits: list[float] = []
    with rig(OUT / "kills-host.log", seed=1, rate=0) as ground:
        deps, watchers = ground.dependencies(), []
        for number in range(count):
            started = time.monotonic()
            draft = _upload(ground, deps, draw_photo(number))
            _until(partial(_is_held, draft, deps), 30)
            ground.kill_worker()
            watcher = threading.Thread(target=_time_until_final, args=(draft, deps, waits))
            watcher.start()
            watchers.append(watcher)
            threading.Event().wait(max(0.0, every - (time.monotonic() - started)))
        for watcher in watchers:
            watcher.join()
        lost = sum(draft.status is not DraftStatus.READY for draft in drafts_of(ground))
    waits.sort()
    p95 = waits[round(0.95 * len(waits)) - 1]
    print(
        f"{count} kills, {lost} not Ready; from the kill to Ready: median "
        f"{statistics.median(waits):.1f} s, p95 {p95:.1f} s, longest {waits[-1]:.1f} s"
    )
    return lost == 0 and p95 < 60


def killers(count: int = 5) -> bool:
    """Photos whose decoding ends the process: Failed as WORKER_LOST, and nobody else suffers."""
    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder)
        for source in (KILLER_APP / "function_app.py", ROOT / "host.json"):
            shutil.copy(source, app)
        shutil.copy(ROOT / "local.settings.sample.json", app)
        settings = AS_DEPLOYED | {"FITTING_ROOM_ROOT": str(ROOT)}
        with rig(OUT / "killers-host.log", seed=1, rate=0, app=app, settings=settings) as ground:
            deps = ground.dependencies()
            bad = [_upload(ground, deps, _deadly(number)) for number in range(count)]
            good = _upload(ground, deps, draw_photo(99))
            for draft in (*bad, good):
                _until(partial(_is_final, draft, deps), 600)
            rows = [_row(draft, deps) for draft in bad]
            well = _row(good, deps).status
            letters = sum(1 for _ in deps.letters.newest(deps.clock()))
    failed = [(row.updated_at - row.created_at).total_seconds() for row in rows]
    codes = Counter(row.error.code for row in rows if row.error)
    attempts = sorted({row.attempts for row in rows})
    print(
        f"{count} killing photos: {dict(codes)}, attempts {attempts}, {letters} dead letters; from "
        f"202 to Failed: {', '.join(f'{seconds:.0f}' for seconds in sorted(failed))} s; the good "
        f"photo behind them is {well}"
    )
    return codes == {"WORKER_LOST": count} and max(failed) < 300 and well is DraftStatus.READY


def duplicates(drafts: int = 20, deliveries: int = 1000) -> bool:
    """Every message many times over, in any order: one set of renditions each."""
    with rig(OUT / "duplicates-host.log", seed=1, rate=0) as ground:
        deps = ground.dependencies()
        sent = [_upload(ground, deps, draw_photo(number)) for number in range(drafts)]
        texts = [message_for(draft).encode() for draft in sent]
        more = texts * (deliveries // drafts - 1)
        random.Random(1).shuffle(more)
        for text in more:
            deps.jobs.send(text)
        _until(lambda: all(row.status is DraftStatus.READY for row in drafts_of(ground)), 600)
        _until(lambda: deps.jobs.depth() == 0, 900)
        rows = drafts_of(ground)
        blobs = len(list(deps.images.names("")))
        events = [deps.store.events_of(row) for row in rows]
        poisoned = deps.poisoned.depth()
    ready = [sum(event.type is EventType.READY for event in history) for history in events]
    attempts = Counter(row.attempts for row in rows)
    named = sum(len(row.named_blobs()) for row in rows)
    print(
        f"{deliveries:,} deliveries of {drafts} drafts: {len(rows)} Ready, attempts "
        f"{dict(attempts)}, Ready events {sum(ready)}, renditions and masks {blobs} (named "
        f"{named}), poison messages {poisoned}"
    )
    return ready == [1] * drafts and blobs == named and attempts == {1: drafts}


def garbage(count: int = 500) -> bool:
    """What nobody understands is a dead letter each, and a photo behind it hardly waits."""
    with rig(OUT / "garbage-host.log", seed=1, rate=0) as ground:
        deps = ground.dependencies()
        _time_to_ready(ground, deps, 0)  # the worker is warm
        alone = _time_to_ready(ground, deps, 1)
        for number in range(count):
            deps.jobs.send(f"garbage {number}")
        behind = _time_to_ready(ground, deps, 2)
        _until(lambda: deps.jobs.depth() == 0, 600)
        letters = sum(letter.code == "MALFORMED" for letter in deps.letters.newest(deps.clock()))
        poisoned = deps.poisoned.depth()
    print(
        f"{count} messages of garbage: {letters} dead letters, {poisoned} poison messages; a photo "
        f"is Ready in {alone:.1f} s alone and in {behind:.1f} s behind them"
    )
    return (letters, poisoned) == (count, 0) and behind < 60


def _time_to_ready(ground: Rig, deps: Dependencies, number: int) -> float:
    started = time.monotonic()
    draft = _upload(ground, deps, draw_photo(number))
    _until(partial(_is_final, draft, deps), 300)
    return time.monotonic() - started


def _deadly(number: int) -> bytes:
    """A photo with the marker in a comment of its JPEG."""
    photo = draw_photo(number)
    comment = MARKER + b" %d" % number
    return photo[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + photo[2:]


def _upload(ground: Rig, deps: Dependencies, photo: bytes) -> Draft:
    """Accepted by the API; tried again while the worker that would answer is being replaced."""
    owner, pause = f"owner-{hash(photo) % 10**6}", threading.Event()
    headers = {"X-Owner-Id": owner, "Content-Type": "image/jpeg"}
    for _ in range(100):
        try:
            answer = httpx.post(
                f"{ground.base_url}/wardrobe/drafts", headers=headers, content=photo, timeout=30
            )
        except httpx.HTTPError:
            pause.wait(0.2)
            continue
        if answer.status_code == 202:
            draft = deps.store.find(owner, answer.json()["drafts"][0]["id"])
            assert draft is not None
            return draft
        pause.wait(0.2)
    raise TimeoutError("the photo was never accepted")


def _row(draft: Draft, deps: Dependencies) -> Draft:
    row = deps.store.find(draft.owner_id, draft.id)
    assert row is not None
    return row


def _is_held(draft: Draft, deps: Dependencies) -> bool:
    return _row(draft, deps).lease_id is not None


def _is_final(draft: Draft, deps: Dependencies) -> bool:
    return _row(draft, deps).status in _FINAL


def _time_until_final(draft: Draft, deps: Dependencies, waits: list[float]) -> None:
    killed = time.monotonic()
    _until(partial(_is_final, draft, deps), 900)
    waits.append(time.monotonic() - killed)


def _until(is_so: Callable[[], bool], seconds: float) -> None:
    pause, give_up = threading.Event(), time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > give_up:
            raise TimeoutError(f"it was not so within {seconds:.0f} s")
        pause.wait(_GLANCE)


_MEASUREMENTS: dict[str, Callable[[], bool]] = {
    "kills": kills,
    "killers": killers,
    "duplicates": duplicates,
    "garbage": garbage,
}


def main(arguments: Sequence[str]) -> int:
    wanted = arguments or list(_MEASUREMENTS)
    return 0 if all([_MEASUREMENTS[name]() for name in wanted]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
