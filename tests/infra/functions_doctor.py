"""azure-functions-doctor over what would be sent to Azure, as a Flex Consumption app."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from tests.infra.container_files import sent_files

# What it warns of here, and why that is right.
EXPECTED_WARNINGS = {
    "Native dependency risk": "Azure builds from requirements.txt; the wheels are those of Linux",
    "Application Insights configuration": "set by infra/app/function.bicep, which it does not read",
}


def check_doctor(root: Path) -> list[str]:
    """No failure, and no warning that is not expected."""
    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder)
        _copy_app(root, app)
        report = _diagnose(app)
    items = [item for result in report["results"] for item in result["items"]]
    return [
        f"doctor: {item['label']}: {item['value']}"
        for item in items
        if item["status"] == "fail"
        or (item["status"] == "warn" and item["label"] not in EXPECTED_WARNINGS)
    ]


def _copy_app(root: Path, app: Path) -> None:
    for name in [*sent_files(root), ".funcignore"]:
        if not name.endswith((".npz", ".onnx", ".woff2", ".png")):
            (app / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, app / name)
    shutil.copy(root / "local.settings.sample.json", app / "local.settings.json")


def _diagnose(app: Path) -> dict[str, list[dict[str, list[dict[str, str]]]]]:
    tool = Path(sysconfig.get_path("scripts")) / "azure-functions-doctor"
    options = ["--profile", "deploy", "--hosting-plan", "flex-consumption"]
    run = subprocess.run(
        [tool, "doctor", "--path", app, *options, "--target-python", "3.13", "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    return dict(json.loads(run.stdout))
