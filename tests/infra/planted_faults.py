"""The faults of planted_faults.toml, and the copy of the repository that they are planted in."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

COPIED_FOLDERS = ("infra", "docs", "shared", "process_image_job", "cleanup_abandoned_drafts")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "models", "*.npz")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is changed where, which check must see it, and what it must say."""

    check: str
    what: str
    path: str
    old: str = ""
    new: str | None = None
    told: str


def planted_faults() -> list[Fault]:
    """Every fault, in file order."""
    written = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    return [Fault(**fault) for fault in written["fault"]]


def copy_repository(root: Path, target: Path) -> None:
    """The files that checks look at, as they stand."""
    for folder in COPIED_FOLDERS:
        shutil.copytree(root / folder, target / folder, ignore=NOT_COPIED)
    for path in root.iterdir():
        if path.is_file():
            shutil.copy(path, target / path.name)


def plant(fault: Fault, root: Path) -> None:
    """Make the fault in a copy. Raises ValueError where its place is not there."""
    path = root / fault.path
    if fault.new is None:
        path.unlink()
    elif not fault.old:
        path.write_text(fault.new)
    else:
        text = path.read_text()
        if fault.old not in text:
            raise ValueError(f"{fault.path} has no {fault.old!r}")
        path.write_text(text.replace(fault.old, fault.new, 1))
