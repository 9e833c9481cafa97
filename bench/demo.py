"""`make demo`: real photos go in through HTTP, and every draft's way is shown until it is final.

Exits 0 only if the ten photos are Ready, the truncated one is Failed as CORRUPT_IMAGE, and what is
no image is Rejected as UNSUPPORTED_FORMAT at the upload.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.live import Live
from rich.table import Table

from bench.contact_sheet import contact_sheet
from bench.local_host import ROOT, local_host

PHOTOS = ROOT / "tests" / "photos"
OUT = ROOT / "demo-out"
TRUNCATED = "truncated.jpg"
NO_IMAGE = "shopping-list.jpg"
FINAL = ("Ready", "Failed", "Accepted", "Rejected")
VARIANTS = ("archive", "display", "thumb", "original-display", "original-thumb")
_PATIENCE_SECONDS = 150


@dataclass
class Track:
    """One file on its way, as the API tells it."""

    file: str
    draft_id: str | None
    status: str
    stage: str = ""
    attempts: int = 0
    note: str = ""
    milliseconds: int = 0

    @property
    def final(self) -> bool:
        return self.status in FINAL


def main() -> int:
    started = time.monotonic()
    photos = sorted(PHOTOS.glob("*.jpg"))
    OUT.mkdir(exist_ok=True)
    console = Console()
    console.print("Starting the local host, Azurite and the app ...")
    with (
        local_host(OUT / "host.log") as base_url,
        httpx.Client(base_url=base_url, timeout=30) as api,
    ):
        tracks = upload(api, photos)
        watch(api, tracks, console)
        drafts = [api.get(f"/wardrobe/drafts/{t.draft_id}").json() for t in tracks if t.draft_id]
        sheet = keep_pictures(api, drafts, photos)
    wrong = surprises(tracks, [photo.name for photo in photos])
    console.print(
        f"Renditions: {OUT.relative_to(ROOT)}/   contact sheet: {sheet.relative_to(ROOT)}"
    )
    console.print(f"{len(tracks)} files in {time.monotonic() - started:.1f} s")
    for line in wrong:
        console.print(f"[red]{line}")
    return 1 if wrong else 0


def upload(api: httpx.Client, photos: list[Path]) -> list[Track]:
    """Ten good photos in one request, the two bad files in another."""
    first = photos[0].read_bytes()
    good = [(photo.name, photo.read_bytes()) for photo in photos]
    bad = [(TRUNCATED, first[: len(first) // 2]), (NO_IMAGE, b"milk, bread, a red scarf\n")]
    return [track for files in (good, bad) for track in _send(api, files)]


def _send(api: httpx.Client, files: list[tuple[str, bytes]]) -> Iterator[Track]:
    parts = [("files", (name, data, "image/jpeg")) for name, data in files]
    answer = api.post("/wardrobe/drafts", files=parts)
    if answer.status_code != httpx.codes.ACCEPTED:
        raise SystemExit(f"the upload was answered with {answer.status_code}: {answer.text}")
    for item in answer.json()["drafts"]:
        yield Track(
            file=item["fileName"],
            draft_id=item.get("id"),
            status=item["status"],
            note=(item.get("error") or {}).get("code", ""),
        )


def watch(api: httpx.Client, tracks: list[Track], console: Console) -> None:
    """Poll as the API asks to, until every draft is final."""
    start = time.monotonic()
    with Live(_table(tracks), console=console, refresh_per_second=4) as live:
        while not all(track.final for track in tracks):
            if time.monotonic() - start > _PATIENCE_SECONDS:
                return
            time.sleep(0.5)
            _poll(api, tracks, round((time.monotonic() - start) * 1000))
            live.update(_table(tracks))


def _poll(api: httpx.Client, tracks: list[Track], elapsed_ms: int) -> None:
    waiting = {track.draft_id: track for track in tracks if track.draft_id and not track.final}
    answer = api.get("/wardrobe/drafts/status", params={"ids": ",".join(map(str, waiting))})
    for draft in answer.raise_for_status().json()["drafts"]:
        track = waiting[draft["id"]]
        track.status, track.stage = draft["status"], draft["stage"] or ""
        track.attempts = draft["attempts"]
        track.milliseconds = elapsed_ms
        track.note = _note(draft)


def _note(draft: dict[str, Any]) -> str:
    if draft["error"]:
        return str(draft["error"]["code"])
    found = draft["metadata"] or {}
    colors = " ".join(color["name"] for color in found.get("colors", []))
    return f"{found.get('category', '')} {colors}".strip()


def _table(tracks: list[Track]) -> Table:
    table = Table("file", "status", "stage", "attempts", "ms", "what it says")
    for track in tracks:
        colour = {"Ready": "green", "Failed": "red", "Rejected": "red"}.get(track.status, "yellow")
        table.add_row(
            track.file,
            f"[{colour}]{track.status}",
            track.stage,
            str(track.attempts),
            str(track.milliseconds or ""),
            track.note,
        )
    return table


def keep_pictures(api: httpx.Client, drafts: list[dict[str, Any]], photos: list[Path]) -> Path:
    """Download every rendition by its lasting address and lay them out on one sheet."""
    originals = {photo.name: photo for photo in photos}
    rows = []
    for draft in drafts:
        if draft["status"] != "Ready":
            continue
        folder = OUT / Path(draft["fileName"]).stem
        folder.mkdir(exist_ok=True)
        for variant in VARIANTS:
            picture = api.get(
                f"/wardrobe/drafts/{draft['id']}/image/{variant}", follow_redirects=True
            ).raise_for_status()
            (folder / f"{variant}.webp").write_bytes(picture.content)
        rows.append((originals[draft["fileName"]], folder / "display.webp", draft["metadata"]))
    sheet = OUT / "contact-sheet.jpg"
    contact_sheet(rows).save(sheet, quality=90)
    return sheet


def surprises(tracks: list[Track], photos: list[str]) -> list[str]:
    """What did not end as it should."""
    wanted = {name: ("Ready", "") for name in photos}
    wanted |= {
        TRUNCATED: ("Failed", "CORRUPT_IMAGE"),
        NO_IMAGE: ("Rejected", "UNSUPPORTED_FORMAT"),
    }
    wrong = [
        f"{track.file}: {track.status} {track.note}, expected {' '.join(wanted[track.file])}"
        for track in tracks
        if track.status != wanted[track.file][0] or not track.note.startswith(wanted[track.file][1])
    ]
    missing = set(wanted) - {track.file for track in tracks}
    return wrong + [f"{name}: no answer" for name in sorted(missing)]


if __name__ == "__main__":
    sys.exit(main())
