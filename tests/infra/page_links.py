"""Links in the pages for operators lead somewhere: to a file of the repository, and to a heading in
it."""

from __future__ import annotations

import re
from pathlib import Path

PAGES = ("docs/runbook.md", "docs/telemetry.md", "infra/README.md")
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.M)
CODE_BLOCK = re.compile(r"^```.*?^```", re.M | re.S)


def check_links(root: Path) -> list[str]:
    """Every relative link of these pages has its file and its heading."""
    found = []
    for page in PAGES:
        written = CODE_BLOCK.sub("", (root / page).read_text())
        for target in LINK.findall(written):
            if not target.startswith(("http://", "https://")) and not _exists(root / page, target):
                found.append(f"{page}: the link to {target} leads nowhere")
    return found


def _exists(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    if not file.exists():
        return False
    return not anchor or anchor in {_anchor(h) for h in HEADING.findall(file.read_text())}


def _anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\s-]", "", heading.lower())
    return kept.strip().replace(" ", "-")
