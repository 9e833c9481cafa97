"""What the docs tell people to run, run."""

import re
import shlex
import subprocess
import sys

import pytest

from shared.api.routes import ROUTES
from tests.api.service import PHOTOS, ROOT, Service

TEXT = (ROOT / "docs" / "api.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = [
    line
    for block in BLOCKS
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("curl")
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda text: text.split(" -")[1][:60])
def test_command_of_the_docs_is_answered(service: Service, command, tmp_path):
    """Each curl reaches a route: success, or a problem about the made-up id."""
    draft_id = service.place("local").id
    filled = command.replace("$API", service.host.base_url).replace("01a22c…", draft_id)
    filled = filled.replace("01a22d…", draft_id).replace("5f0c…", draft_id)
    filled = filled.replace("2026-08~fe…", "2026-08~fe")
    words = [
        word if word != "dress.webp" else str(tmp_path / word)
        for word in shlex.split(filled, comments=True)
    ]
    words = [word if word != "cut.webp" else str(tmp_path / word) for word in words]
    done = subprocess.run(
        [*words, "-w", "%{http_code}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    status = int(done.stdout[-3:])
    assert status < 500
    assert status not in (400, 401, 405, 411, 415, 422, 428), done.stdout
    assert (status != 404) or "2026-08~fe" in filled or "/image/" in filled


def test_docs_name_every_route():
    """No route is missing from the page."""
    missing = []
    for route in ROUTES:
        parts = re.split(r"\{[^}]*\}", route.template)
        if not all(part.strip("/") in TEXT for part in parts if part.strip("/")):
            missing.append(route.name)
    assert missing == []


def test_client_of_the_docs_brings_photos_to_the_end(service: Service, tmp_path):
    """The example uploads, waits, and says what became of each file."""
    letter = tmp_path / "letter.txt"
    letter.write_text("no photo")
    done = subprocess.run(
        [
            sys.executable,
            "docs/examples/client.py",
            service.host.base_url,
            str(PHOTOS[0]),
            str(letter),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "letter.txt: This is not a photo we can read." in done.stdout
    assert re.search(r"01-dress.jpg: Ready, \w+", done.stdout)
