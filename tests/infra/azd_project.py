"""azure.yaml, its hooks and the parameter files: what azd and plain az read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.infra.bicep_tree import BicepFile, body_of, named, properties, read_bicep, text

ENVIRONMENT_VALUE = re.compile(r"\$\{(\w+)(=[^}]*)?\}")
_READ = re.compile(r"\$(?:\{|env:)([A-Z][A-Z_]+)")  # of a shell, of PowerShell
_OWN = {"ROLE_WAIT_SECONDS", "ROLE_WAIT_PAUSE_SECONDS"}  # whoever runs a hook may set these
# azd always has these; everything else in a parameter file needs a default of its own.
ALWAYS_THERE = {"AZURE_ENV_NAME", "AZURE_LOCATION"}


def check_azd_project(root: Path) -> list[str]:
    """The one service is the app that carries its tag, the hooks exist for both shells, the Bicep
    is where it says."""
    project = yaml.safe_load((root / "azure.yaml").read_text())
    found = []
    entry = root / project["infra"]["path"] / f"{project['infra']['module']}.bicep"
    if not entry.is_file():
        found.append(f"azure.yaml: no {entry.name}")
    service = project["services"].get(_service_tag(root))
    if service is None:
        found.append("azure.yaml: no service has the name in the app's azd-service-name tag")
    elif (service["host"], service["language"]) != ("function", "python"):
        found.append("azure.yaml: the service is no Python function app")
    for shell, hook in project["hooks"]["postprovision"].items():
        script = root / hook["run"]
        if not script.is_file():
            found.append(f"azure.yaml: no {hook['run']}")
        elif shell == "posix" and not os.access(script, os.X_OK):
            found.append(f"{script.name} is not executable")
    return found


def check_hooks(root: Path) -> list[str]:
    """shellcheck has nothing to say, and the hooks read only what the deployment puts out."""
    tool = Path(sysconfig.get_path("scripts")) / "shellcheck"
    scripts = sorted((root / "infra/hooks").glob("*.sh"))
    run = subprocess.run(
        [tool, "--format=gcc", *scripts], capture_output=True, text=True, check=False
    )
    outputs = read_bicep(root / "infra/main.bicep").of_kind("output")
    found = run.stdout.splitlines() + run.stderr.splitlines()
    for script in sorted((root / "infra/hooks").iterdir()):
        read = set(_READ.findall(script.read_text()))
        if "PACKAGE_CONTAINER_URL" not in read:
            found.append(f"{script.name} does not ask the package container")
        missing = sorted(name for name in read - outputs.keys() if name not in _OWN)
        found += [f"main.bicep does not put out {name} for {script.name}" for name in missing]
    return found


def check_parameter_files(root: Path) -> list[str]:
    """Each file names parameters of main.bicep only, gives all that have no default, and keeps to
    allowed values."""
    main = read_bicep(root / "infra/main.bicep")
    found: list[str] = []
    for path in sorted((root / "infra").glob("*.parameters.json")):
        given = json.loads(path.read_text())["parameters"]
        found += [f"{path.name}: {fault}" for fault in _parameter_faults(main, given)]
        found += [f"{path.name}: {fault}" for fault in _environment_faults(path)]
    return found


def _service_tag(root: Path) -> str:
    app = read_bicep(root / "infra/app/function.bicep").of_kind("resource")["app"]
    body = body_of(app.node)
    tags = text(properties(body)["tags"][1]) if body else ""
    match = re.search(r"'azd-service-name': '(\w+)'", tags)
    return match.group(1) if match else ""


def _parameter_faults(main: BicepFile, given: dict[str, dict[str, object]]) -> Iterator[str]:
    parameters = main.of_kind("param")
    for name in sorted(set(given) - set(parameters)):
        yield f"main.bicep has no parameter {name}"
    for name, parameter in parameters.items():
        if name not in given and len(named(parameter.node)) < 3:
            yield f"{name} is missing"
    for name, holder in given.items():
        if "*" in json.dumps(holder) and "origin" in name.lower():
            yield f"{name}: every origin is allowed"


def _environment_faults(path: Path) -> Iterator[str]:
    for name, default in ENVIRONMENT_VALUE.findall(path.read_text()):
        if path.name != "main.parameters.json":
            yield f"only azd replaces ${{{name}}}"
        elif not default and name not in ALWAYS_THERE:
            yield f"{name} has no default"
