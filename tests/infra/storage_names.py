"""Queues, tables and containers: what is created is what the code, the sample and the manifests
name."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.infra.app_code import functions, setting_defaults
from tests.infra.bicep_tree import read_bicep
from tests.infra.bicep_values import expect_object, named_value
from tests.infra.settings_agree import cluster_settings

KINDS = {"queues": "_QUEUE", "tables": "_TABLE", "containers": "_CONTAINER"}


def check_storage_names(root: Path) -> list[str]:
    """Each name that a setting defaults to is created, and each thing created has its setting or is
    a poison queue."""
    code = setting_defaults(root)
    found: list[str] = []
    for kind, ending in KINDS.items():
        created = created_names(root, kind)
        for place, settings in (("code", code), ("config map", cluster_settings(root))):
            wanted = {str(v) for k, v in settings.items() if k.endswith(ending)}
            found += [f"{place}: {name} is in nobody's Bicep" for name in sorted(wanted - created)]
            if place == "code":
                extra = {n for n in created - wanted if n.removesuffix("-poison") not in wanted}
                found += [f"names.bicep: no setting leads to {name}" for name in sorted(extra)]
    return found


def check_triggers(root: Path) -> list[str]:
    """Each queue function reads a queue that exists, has a poison queue unless it is one, and has a
    scaler."""
    code = setting_defaults(root)
    created = created_names(root, "queues")
    scaled = {trigger["metadata"]["queueName"] for trigger in scale_triggers(root)}
    read = {resolve(f.queue or "", code) for f in functions(root) if f.trigger == "queue"}
    found = [f"function_app.py reads {name}, which nobody creates" for name in read - created]
    for name in sorted(read):
        if not name.endswith("-poison") and f"{name}-poison" not in created:
            found.append(f"names.bicep: {name} has no poison queue")
    found += [f"scaling.yaml: nothing scales on {name}" for name in sorted(read - scaled)]
    found += [f"scaling.yaml: no function reads {name}" for name in sorted(scaled - read)]
    return found


def created_names(root: Path, kind: str) -> set[str]:
    """The names that names.bicep gives to `queues`, `tables` or `containers`."""
    file = read_bicep(root / "infra/names.bicep")
    return {str(name) for name in expect_object(named_value(file, kind), kind).values()}


def scale_triggers(root: Path) -> list[dict[str, dict[str, str]]]:
    """The triggers of the one ScaledObject."""
    documents = yaml.safe_load_all((root / "infra/kubernetes/scaling.yaml").read_text())
    scaled = next(d for d in documents if d["kind"] == "ScaledObject")
    return list(scaled["spec"]["triggers"])


def resolve(written: str, settings: dict[str, str]) -> str:
    """A queue name with its %SETTING% replaced by the default."""
    for name, value in settings.items():
        written = written.replace(f"%{name}%", value)
    return written
