"""What a photo costs: CPU, wall and memory per stage, beside the floor, libvips and rembg.

    python -m bench.pipeline [--photos N] [--pixels 12] [--json]
    python -m bench.pipeline --in-a-row 200      # does the worker grow?

Real photos are brought to the given number of megapixels. Every contender works in a process of
its own on one core's worth of threads; the first photo, with all that is loaded for it, stands in
a column of its own. The floor is the same decode, resizes and encodes, called bare. Peers need
bench/requirements.txt.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from bench.peers import rembg_cutter, vips_renditions
from process_image_job import pipeline
from process_image_job.garment_model import GarmentModel
from process_image_job.namers.own_model import OwnModelNamer
from process_image_job.segmenters.local import LocalSegmenter
from process_image_job.steps.encode import QUALITY, webp
from process_image_job.steps.renditions import DISPLAY, THUMB
from process_image_job.steps.scale import area, fitted
from process_image_job.values import ARCHIVE_SIDE, Segmenter
from shared.settings import Settings

PHOTOS = Path(__file__).resolve().parents[1] / "tests" / "photos"
SIDES = [
    (ARCHIVE_SIDE, QUALITY["archive"]),
    (DISPLAY, QUALITY["display"]),
    (THUMB, QUALITY["thumb"]),
]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "VIPS_CONCURRENCY": "1", "OPENBLAS_NUM_THREADS": "1"}

Stages = dict[str, tuple[float, float]]  # name -> CPU ms, wall ms
Contender = Callable[[bytes], Stages]


def enlarge(folder: Path, count: int, megapixels: float) -> None:
    """Writes that many real photos, enlarged, with the grain that a sensor would add."""
    files = sorted(PHOTOS.glob("*.jpg"))
    random = np.random.default_rng(7)
    for number in range(count):
        small = Image.open(files[number % len(files)]).convert("RGB")
        factor = (megapixels * 1e6 / (small.width * small.height)) ** 0.5
        size = round(small.width * factor), round(small.height * factor)
        large = np.asarray(small.resize(size, Image.Resampling.BICUBIC)).astype(np.int16)
        large = large + random.integers(-5, 6, large.shape[:2], np.int16)[..., None]
        whole = Image.fromarray(large.clip(0, 255).astype(np.uint8))
        whole.save(folder / f"{number:03}.jpg", "JPEG", quality=88)


class Clock:
    """Takes the CPU and wall time between one lap and the next."""

    def __init__(self) -> None:
        self.stages: Stages = {}
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def lap(self, name: str) -> None:
        cpu, wall = time.process_time(), time.perf_counter()
        self.stages[name] = ((cpu - self._cpu) * 1000, (wall - self._wall) * 1000)
        self._cpu, self._wall = time.process_time(), time.perf_counter()


def ours(segmenter: Segmenter | None, model: GarmentModel | None = None) -> Contender:
    """The whole pipeline; without a segmenter as for `skipSegmentation`."""
    namer = OwnModelNamer(model, Settings().categories) if model else None

    def run(raw: bytes) -> Stages:
        clock = Clock()
        photo = pipeline.decode(raw)
        clock.lap("decode")
        cut_out = pipeline.cut_out(photo, segmenter) if segmenter else None
        clock.lap("cut out")
        pipeline.render(photo, cut_out)
        clock.lap("render")
        colors = pipeline.analyze(photo, cut_out)
        clock.lap("analyze")
        if namer:
            namer(photo, cut_out, colors, last=True)
            clock.lap("name")
        return clock.stages

    return run


def floor(raw: bytes) -> Stages:
    """The same decode, resizes and encodes with nothing around them."""
    cv2.setNumThreads(1)
    clock = Clock()
    flags = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
    pixels = cv2.imdecode(np.frombuffer(raw, np.uint8), flags)
    clock.lap("decode")
    for side, quality in SIDES:
        pixels = area(pixels, fitted(pixels.shape[1], pixels.shape[0], side))
        webp(pixels, None, quality=quality)
    clock.lap("render")
    return clock.stages


def timed(name: str, work: Callable[[bytes], object]) -> Contender:
    """A contender of one stage."""

    def run(raw: bytes) -> Stages:
        clock = Clock()
        work(raw)
        clock.lap(name)
        return clock.stages

    return run


def _with_model() -> Contender:
    model = GarmentModel()
    return ours(LocalSegmenter(lambda rgb: model.predict(rgb).mask), model)


CONTENDERS: dict[str, Callable[[], Contender]] = {
    "floor": lambda: floor,
    "ours without cut-out": lambda: ours(None),
    "libvips": lambda: timed("render", lambda raw: vips_renditions(raw, SIDES)),
    "ours with cut-out": lambda: ours(LocalSegmenter()),
    "ours with model": _with_model,
    "rembg u2netp": lambda: timed("cut out", rembg_cutter()),
}


def measure(name: str, folder: Path) -> dict[str, object]:
    """Medians over the photos, in this process: CPU and wall in ms, peak memory in MB."""
    begun = time.perf_counter()
    run = CONTENDERS[name]()
    photos = [photo.read_bytes() for photo in sorted(folder.glob("*.jpg"))]
    run(photos[0])
    first_ms = (time.perf_counter() - begun) * 1000
    runs = [run(photo) for photo in photos[1:]]
    stages = {
        stage: {
            "cpuMs": statistics.median(each[stage][0] for each in runs),
            "wallMs": statistics.median(each[stage][1] for each in runs),
        }
        for stage in runs[0]
    }
    return {
        "name": name,
        "cpuMs": statistics.median(sum(cpu for cpu, _ in each.values()) for each in runs),
        "wallMs": statistics.median(sum(wall for _, wall in each.values()) for each in runs),
        "firstMs": first_ms,
        "peakMb": peak_mb(),
        "stages": stages,
    }


def peak_mb() -> float:
    """The most memory this process ever had resident. (getrusage would count its parent's.)"""
    status = Path("/proc/self/status").read_text().splitlines()
    kilobytes = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    return int(kilobytes) * 1024 / 1e6


def resident_mb() -> float:
    """What this process has resident now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def in_a_row(count: int, folder: Path) -> dict[str, float]:
    """Resident memory after 10 photos and at the end, so that a leak shows."""
    run, few = ours(LocalSegmenter()), sorted(folder.glob("*.jpg"))
    early = 0.0
    for number in range(count):
        run(few[number % len(few)].read_bytes())
        if number == 9:
            early = resident_mb()
    late = resident_mb()
    return {"after10Mb": early, "atEndMb": late, "growth": late / early - 1, "peakMb": peak_mb()}


def _elsewhere(arguments: list[str]) -> dict[str, object] | None:
    """The answer of this program in a fresh process; None where a peer is not installed."""
    command = [sys.executable, "-m", "bench.pipeline", *arguments]
    done = subprocess.run(
        command, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(
            f"{arguments[1]}: not measured: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr
        )
        return None
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def _table(rows: list[dict[str, object]]) -> str:
    base = next((float(str(row["cpuMs"])) for row in rows if row["name"] == "floor"), float("nan"))
    columns = ("CPU ms", "wall ms", "first ms", "peak MB", "x floor")
    lines = [" " * 22 + "".join(f"{column:>9}" for column in columns) + "  stages (CPU ms)"]
    for row in rows:
        cpu = float(str(row["cpuMs"]))
        stages = row["stages"]
        assert isinstance(stages, dict)
        text = ", ".join(f"{name} {each['cpuMs']:.0f}" for name, each in stages.items())
        whole = (row[key] for key in ("cpuMs", "wallMs", "firstMs", "peakMb"))
        numbers = "".join(f"{number:9.0f}" for number in whole)
        lines.append(f"{row['name']:22}{numbers}{cpu / base:9.2f}  {text}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=int, default=5)
    parser.add_argument("--pixels", type=float, default=12.0, help="megapixels")
    parser.add_argument("--only", choices=list(CONTENDERS), help="with --folder")
    parser.add_argument("--folder", type=Path, help="of photos made by an earlier step")
    parser.add_argument("--in-a-row", type=int, metavar="N")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.folder and options.in_a_row:
        print(json.dumps(in_a_row(options.in_a_row, options.folder)))
    elif options.folder:
        print(json.dumps(measure(options.only, options.folder)))
    else:
        _all(options)


def _all(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as name:
        enlarge(Path(name), options.photos + 1, options.pixels)
        if options.in_a_row:
            print(_elsewhere(["--in-a-row", str(options.in_a_row), "--folder", name]))
            return
        found = [_elsewhere(["--only", each, "--folder", name]) for each in CONTENDERS]
    rows = [row for row in found if row is not None]
    print(json.dumps(rows, indent=1) if options.json else _table(rows))


if __name__ == "__main__":
    main()
