"""`make chaos`: photos go in while workers, host and storage die and calls fail; nothing is lost.

    python -m bench.chaos --seed 1 --photos 200

Prints a table and exits 0 only if every promise held.
"""

from __future__ import annotations

import argparse
import io
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx
from PIL import Image, ImageDraw

from bench.chaos_count import Result, count, drafts_of, table
from bench.chaos_rig import Rig, rig
from bench.local_host import ROOT
from shared.domain.errors import IngestError

OUT = ROOT / "bench" / "out"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What happens, and when."""

    photos: int = 200
    a_request: int = 10  # photos that are sent together
    seed: int = 1
    fault_rate: float = 0.05
    kill_every: float = 20  # seconds between deaths of a worker
    host_kills: int = 2
    storage_restarts: int = 2
    upload_pause: float = 8  # seconds between requests
    patience: float = 3600  # seconds until every draft has to be final


@dataclass
class Load:
    """The clients: who sent what, and what they were promised."""

    promised: dict[str, str] = field(default_factory=dict)  # draft id -> owner
    answers: Counter[str] = field(default_factory=Counter)
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def count(self, answer: str) -> None:
        with self._counting:
            self.answers[answer] += 1


def main(arguments: list[str]) -> int:
    plan = _plan(arguments)
    with rig(OUT / "chaos-host.log", seed=plan.seed, rate=plan.fault_rate) as ground:
        result, load = go_through(plan, ground, tell=print)
        print(table(f"{plan.photos} (seed {plan.seed})", ground, result, load.answers))
    broken = result.broken(plan.photos)
    for text in broken:
        print(f"BROKEN: {text}")
    return 1 if broken else 0


def go_through(
    plan: Plan, ground: Rig, *, tell: Callable[[str], None] = lambda text: None
) -> tuple[Result, Load]:
    """The whole run: load, deaths, waiting, counting. A death that fails ends it."""
    load, started, over = Load(), time.monotonic(), threading.Event()
    with ThreadPoolExecutor() as killers:
        deaths = [
            killers.submit(_kill_workers, plan, ground, over),
            killers.submit(_kill_the_rest, plan, ground, load, over),
        ]
        for death in deaths:
            death.add_done_callback(lambda ended: over.set() if ended.exception() else None)
        try:
            _send_all(plan, ground, load, over, tell)
            ground.kill_worker()  # however fast all went: one death, and over no upload
            tell(f"all {len(load.promised)} photos are accepted; waiting for them to be final")
            _wait_until_final(plan, ground, over, tell)
        finally:
            over.set()
            for death in deaths:
                death.result()
    seconds = time.monotonic() - started
    ground.stop()
    return count(ground, load.promised, seconds), load


def draw_photo(number: int) -> bytes:
    """A shirt of some colour before a wall; no two alike."""
    chance = random.Random(number)
    colour = tuple(chance.randrange(20, 200) for _ in range(3))
    picture = Image.new("RGB", (480, 640), (214, 208, 198))
    pen = ImageDraw.Draw(picture)
    pen.polygon([(160, 130), (320, 130), (400, 220), (360, 280), (330, 250), (330, 520),
                 (150, 520), (150, 250), (120, 280), (80, 220)], fill=colour)  # fmt: skip
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=90)
    return out.getvalue()


def _send_all(
    plan: Plan, ground: Rig, load: Load, over: threading.Event, tell: Callable[[str], None]
) -> None:
    """One client after the other begins; one that has to wait holds up no other."""
    firsts = range(0, plan.photos, plan.a_request)
    with ThreadPoolExecutor(len(firsts)) as clients:
        sent = []
        try:
            for first in firsts:
                photos = range(first, min(first + plan.a_request, plan.photos))
                sent.append(clients.submit(_send, photos, plan.seed, ground, load, over))
                sent[-1].add_done_callback(
                    lambda _: tell(f"{len(load.promised)} accepted, {ground.deaths}")
                )
                over.wait(plan.upload_pause)
            for request in sent:
                request.result()
        except BaseException:
            over.set()  # the other clients stop too
            raise


def _send(numbers: range, seed: int, ground: Rig, load: Load, over: threading.Event) -> None:
    """As a client should: the same request with the same key until it is answered."""
    owner, key = f"owner-{numbers[0]}", f"request-{numbers[0]}"
    photos = [draw_photo(seed * 10_000 + number) for number in numbers]
    headers = {"X-Owner-Id": owner, "Idempotency-Key": key}
    files = [("files", (f"{n}.jpg", photo, "image/jpeg")) for n, photo in enumerate(photos)]
    for _ in range(600):
        ground.watch_host()
        wait = 1.0
        try:
            answer = httpx.post(
                f"{ground.base_url}/wardrobe/drafts", headers=headers, files=files, timeout=120
            )
        except httpx.HTTPError as error:
            load.count(type(error).__name__)
        else:
            load.count(str(answer.status_code))
            if answer.status_code == 202:
                load.promised.update({item["id"]: owner for item in answer.json()["drafts"]})
                return
            wait = float(answer.headers.get("Retry-After", 1))
        if over.wait(wait):
            break
    raise TimeoutError(f"{key} was never accepted")


def _kill_workers(plan: Plan, ground: Rig, over: threading.Event) -> None:
    """A little off the beat, so that it is not in step with a timer for the whole run."""
    chance = random.Random(plan.seed)
    while not over.wait(plan.kill_every * chance.uniform(0.8, 1.2)):
        ground.watch_host()
        ground.kill_worker()


def _kill_the_rest(plan: Plan, ground: Rig, load: Load, over: threading.Event) -> None:
    """Spread over the uploads, at moments and in an order that the seed draws."""
    chance = random.Random(plan.seed)
    acts: list[Callable[[], None]] = [ground.kill_host] * plan.host_kills
    acts += [ground.restart_storage] * plan.storage_restarts
    chance.shuffle(acts)
    for number, act in enumerate(acts, 1):
        accepted = plan.photos * (number + chance.uniform(-0.3, 0.3)) / (len(acts) + 1)
        while len(load.promised) < accepted:
            if over.wait(0.5):
                return
        if over.wait(plan.upload_pause * chance.random()):
            return
        act()


def _wait_until_final(
    plan: Plan, ground: Rig, over: threading.Event, tell: Callable[[str], None]
) -> None:
    give_up = time.monotonic() + plan.patience
    while time.monotonic() < give_up and not over.wait(2):
        ground.watch_host()
        try:
            waiting = [draft for draft in drafts_of(ground) if draft.work]
        except IngestError:  # storage is being restarted
            continue
        if not waiting:
            return
        if int(time.monotonic()) % 30 < 2:
            tell(f"{len(waiting)} are not final yet, {ground.deaths}")


def _plan(arguments: list[str]) -> Plan:
    parser = argparse.ArgumentParser(prog="bench.chaos", description=__doc__)
    parser.add_argument("--photos", type=int, default=Plan.photos)
    parser.add_argument("--seed", type=int, default=Plan.seed)
    parser.add_argument("--kill-every", type=float, default=Plan.kill_every)
    parser.add_argument("--fault-rate", type=float, default=Plan.fault_rate)
    options = parser.parse_args(arguments)
    return Plan(
        photos=options.photos,
        seed=options.seed,
        kill_every=options.kill_every,
        fault_rate=options.fault_rate,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
