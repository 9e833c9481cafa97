"""One version of Python everywhere: what is developed on is what is deployed."""

from __future__ import annotations

import re
from pathlib import Path

# Where the version stands, and how.
PLACES = {
    ".python-version": r"^(\d+\.\d+)",
    "pyproject.toml": r'python_version = "(\d+\.\d+)"',
    "infra/app/function.bicep": r"name: 'python'\s+version: '(\d+\.\d+)'",
    "Dockerfile": r"azure-functions/python:4-python(\d+\.\d+)$",
}


def check_python(root: Path) -> list[str]:
    """Every place names the version of .python-version."""
    versions = {}
    for place, pattern in PLACES.items():
        match = re.search(pattern, (root / place).read_text(), re.M)
        versions[place] = match.group(1) if match else "none"
    wanted = versions[".python-version"]
    return [f"{place}: Python {v}, not {wanted}" for place, v in versions.items() if v != wanted]
