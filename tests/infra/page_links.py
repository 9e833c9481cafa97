"""The pages for operators: links lead somewhere, the parameter table is the template's own."""

from __future__ import annotations

import re
from pathlib import Path

from tests.infra.bicep_tree import read_bicep

PAGES = ("*.md", "docs/*.md", "infra/*.md", "training/*.md", "process_image_job/models/*.md")
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.M)
TABLE_NAME = re.compile(r"^\| `(\w+)` \|", re.M)
CODE_BLOCK = re.compile(r"^```.*?^```", re.M | re.S)


def check_links(root: Path) -> list[str]:
    """Every relative link of these pages has its file and its heading."""
    found = []
    for page in sorted(path for pattern in PAGES for path in root.glob(pattern)):
        for target in LINK.findall(CODE_BLOCK.sub("", page.read_text())):
            if not target.startswith(("http://", "https://")) and not _exists(page, target):
                found.append(f"{page.relative_to(root)}: the link to {target} leads nowhere")
    return found


def check_parameter_table(root: Path) -> list[str]:
    """infra/README.md lists each parameter of main.bicep, and no other."""
    page = (root / "infra/README.md").read_text()
    section = page.split("## Parameters", 1)[1].split("\n## ", 1)[0]
    listed = set(TABLE_NAME.findall(section))
    real = set(read_bicep(root / "infra/main.bicep").of_kind("param"))
    found = [f"infra/README.md does not list {name}" for name in sorted(real - listed)]
    return found + [f"main.bicep has no parameter {name}" for name in sorted(listed - real)]


def _exists(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    if not file.exists():
        return False
    return not anchor or anchor in {_anchor(h) for h in HEADING.findall(file.read_text())}


def _anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\s-]", "", heading.lower())
    return kept.strip().replace(" ", "-")
