"""The faults of planted_faults.toml, and the copy of the repository that they are planted in."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def planted(fault: Fault, root: Path) -> Iterator[None]:
    """The fault in a copy, while the block runs. Raises ValueError where it has no place."""
    path = root / fault.path
    before = path.read_bytes() if path.exists() else None
    _write(path, _faulty(fault, before))
    try:
        yield
    finally:
        _write(path, before)


def _faulty(fault: Fault, before: bytes | None) -> bytes | None:
    if fault.new is None or not fault.old:
        return fault.new.encode() if fault.new is not None else None
    text = (before or b"").decode()
    if fault.old not in text:
        raise ValueError(f"{fault.path} has no {fault.old!r}")
    return text.replace(fault.old, fault.new, 1).encode()


def _write(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
