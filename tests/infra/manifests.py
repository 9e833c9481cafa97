"""The Kubernetes manifests: valid, each function in exactly one Deployment, numbers in step with
host.json."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate  # type: ignore[import-untyped]  # ships no type information
import yaml

from tests.infra.app_code import functions, setting_defaults
from tests.infra.bicep_tree import read_bicep
from tests.infra.storage_names import scale_triggers

KUBERNETES_VERSION = "1.33"
KEDA_SCHEMA = Path(__file__).parent / "schemas" / "keda.json"
PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
# What the person who applies the manifests adds to the outputs of the deployment.
OWN_PLACEHOLDERS = {"IMAGE"}
SERVED_BY = {
    "http": "fitting-room-web",
    "timer": "fitting-room-web",
    "queue": "fitting-room-worker",
}
TIME_SPAN = re.compile(r"(\d+):(\d+):(\d+)")

type Manifest = dict[str, Any]


def check_manifests(root: Path) -> list[str]:
    """Every document is what the Kubernetes API, or KEDA, takes, and needs only values that the
    deployment gives."""
    found: list[str] = []
    outputs = set(read_bicep(root / "infra/main.bicep").of_kind("output")) | OWN_PLACEHOLDERS
    for name, document in manifests(root):
        found += [f"{name}: {fault}" for fault in _document_faults(document)]
        unknown = set(PLACEHOLDER.findall(json.dumps(document))) - outputs
        found += [f"{name}: nothing gives ${{{one}}}" for one in sorted(unknown)]
    return found


def check_split(root: Path) -> list[str]:
    """Each function runs in exactly the Deployment for its trigger; only the web may not be scaled
    to nothing."""
    deployments = {
        d["metadata"]["name"]: d for _, d in manifests(root) if d["kind"] == "Deployment"
    }
    wanted: dict[str, set[str]] = {name: set() for name in deployments}
    for function in functions(root):
        wanted.setdefault(SERVED_BY[function.trigger], set()).add(function.name)
    found = []
    for name, deployment in deployments.items():
        listed = _listed_functions(deployment)
        found += [f"{name}: {f} is missing" for f in sorted(wanted[name] - set(listed))]
        found += [f"{name}: {f} does not belong here" for f in sorted(set(listed) - wanted[name])]
        if len(listed) != len(set(listed)):
            found.append(f"{name}: a function is listed twice")
        if deployment["spec"].get("replicas") is not None:
            found.append(f"{name}: a fixed replica count fights with its scaler")
    target = scaled_object(root)["spec"]["scaleTargetRef"]["name"]
    if target != SERVED_BY["queue"]:
        found.append(f"scaling.yaml scales {target}, whose timers would then stop")
    return found


def check_numbers(root: Path) -> list[str]:
    """KEDA counts as host.json works, and no pod is taken away under a running job."""
    host = json.loads((root / "host.json").read_text())
    queues = host["extensions"]["queues"]
    at_once = str(queues["batchSize"] + queues["newBatchThreshold"])
    spec = scaled_object(root)["spec"]
    found = []
    for trigger in scale_triggers(root):
        metadata = trigger["metadata"]
        if metadata["queueLength"] != at_once:
            found.append(f"{metadata['queueName']}: queueLength is not host.json's {at_once}")
        if metadata["queueLengthStrategy"] != "all":
            found.append(f"{metadata['queueName']}: messages in work must count")
    longest = _seconds(host["functionTimeout"])
    scale_down = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
    for name, given in (
        ("cooldownPeriod", spec["cooldownPeriod"]),
        ("stabilizationWindowSeconds", scale_down["stabilizationWindowSeconds"]),
    ):
        if given < longest:
            found.append(f"scaling.yaml: {name} {given} is under the function timeout {longest}")
    return found + list(_grace_faults(root))


def manifests(root: Path) -> Iterator[tuple[str, Manifest]]:
    """(file name, document) of every manifest."""
    for path in sorted((root / "infra/kubernetes").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            yield path.name, document


def scaled_object(root: Path) -> Manifest:
    """The one ScaledObject."""
    return next(d for _, d in manifests(root) if d["kind"] == "ScaledObject")


def _document_faults(document: Manifest) -> Iterator[str]:
    schemas = json.loads(KEDA_SCHEMA.read_text())
    kind = document["kind"]
    if kind in schemas:
        schema = {**schemas[kind], "$defs": schemas["$defs"]}
        validator = jsonschema.Draft202012Validator(schema)
        yield from (f"{kind}: {e.json_path}: {e.message}" for e in validator.iter_errors(document))
        return
    try:
        kubernetes_validate.validate(document, KUBERNETES_VERSION, strict=True)
    except kubernetes_validate.ValidationError as error:
        yield f"{kind}: {error.message}"


def _listed_functions(deployment: Manifest) -> list[str]:
    return [
        variable["value"]
        for variable in _container(deployment)["env"]
        if variable["name"].startswith("AzureFunctionsJobHost__functions__")
    ]


def _container(deployment: Manifest) -> Manifest:
    return dict(deployment["spec"]["template"]["spec"]["containers"][0])


def _grace_faults(root: Path) -> Iterator[str]:
    limit = int(setting_defaults(root)["JOB_TIME_LIMIT_SECONDS"])
    for name, document in manifests(root):
        if document["kind"] != "Deployment":
            continue
        pod = document["spec"]["template"]["spec"]
        if pod["terminationGracePeriodSeconds"] <= limit:
            yield f"{name}: the grace period is not over the job time limit of {limit} s"
        labels = document["spec"]["template"]["metadata"]["labels"]
        if labels.get("azure.workload.identity/use") != "true":
            yield f"{name}: the pod does not ask for its Azure identity"


def _seconds(span: str) -> int:
    match = TIME_SPAN.fullmatch(span)
    if match is None:
        raise ValueError(f"not a time span: {span}")
    hours, minutes, seconds = (int(part) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds
