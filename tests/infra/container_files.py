"""The container: its Dockerfile is clean, and it holds exactly the files that azd sends."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import pathspec

BASE_IMAGE = "ARG BASE=mcr.microsoft.com/azure-functions/python:4-python3.13"
# Looked at by name only: they are large, or must never be there at all.
NEVER_SENT = (".venv/x", "node_modules/x", ".git/x", "local.settings.json", "tests/x", "devhost/x")
HEAVY = {".venv", "node_modules", ".git"}


def check_dockerfile(root: Path) -> list[str]:
    """hadolint has nothing to say, and the base is Microsoft's image for our Python."""
    tool = Path(sysconfig.get_path("scripts")) / "hadolint"
    run = subprocess.run(
        [tool, "--no-color", root / "Dockerfile"], capture_output=True, text=True, check=False
    )
    found = run.stdout.splitlines() + run.stderr.splitlines()
    if BASE_IMAGE not in (root / "Dockerfile").read_text().splitlines():
        found.append(f"Dockerfile: the base image is not {BASE_IMAGE}")
    return found


def check_sent_files(root: Path) -> list[str]:
    """What .funcignore leaves over is what the image gets, and nothing private is among it."""
    candidates = _files(root)
    sent = sent_files(root)
    copied = _kept(root / ".dockerignore", candidates) & _copied(root, candidates)
    found = [f".funcignore sends {f}, the image lacks it" for f in sorted(sent - copied)]
    found += [f"the image has {f}, .funcignore leaves it out" for f in sorted(copied - sent)]
    found += [f".funcignore would send {f}" for f in _kept(root / ".funcignore", list(NEVER_SENT))]
    for needed in ("function_app.py", "host.json", "requirements.txt", "shared/settings.py"):
        if needed not in sent:
            found.append(f".funcignore leaves {needed} out")
    return found


def sent_files(root: Path) -> set[str]:
    """Every file that azd would send to Azure."""
    return _kept(root / ".funcignore", _files(root))


def _files(root: Path) -> list[str]:
    tops = [path for path in root.iterdir() if path.name not in HEAVY]
    below = [p for top in tops for p in ([top] if top.is_file() else top.rglob("*"))]
    return [str(path.relative_to(root)) for path in below if path.is_file()]


def _kept(ignore_file: Path, files: list[str]) -> set[str]:
    rules = pathspec.GitIgnoreSpec.from_lines(ignore_file.read_text().splitlines())
    return {name for name in files if not rules.match_file(name)}


def _copied(root: Path, files: list[str]) -> set[str]:
    sources: list[str] = []
    for line in (root / "Dockerfile").read_text().splitlines():
        if line.startswith("COPY "):
            sources += line.split()[1:-1]
    return {f for f in files if any(f == s or f.startswith(f"{s}/") for s in sources)}
