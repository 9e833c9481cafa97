"""Settings: the code, the sample file, the Bicep and the Kubernetes config map name the same ones,
with the same defaults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.infra.app_code import setting_defaults
from tests.infra.bicep_tree import body_of, properties, read_bicep
from tests.infra.bicep_values import Computed, Value, expect_object, value_of

# Read by the host or by Microsoft's libraries, not by our code.
HOST_PREFIXES = ("AzureWebJobs", "AzureFunctions", "APPLICATIONINSIGHTS_", "FUNCTIONS_", "DRAFTS")
HOST_NAMES = {"AZURE_CLIENT_ID", "PYTHON_THREADPOOL_THREAD_COUNT", "AZURE_FUNCTIONS_ENVIRONMENT"}
# Host settings that DESIGN asks for everywhere, because the defaults are wrong for us.
HOST_WANTED = {"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT", "PYTHON_THREADPOOL_THREAD_COUNT"}
# Set by each deployment for itself.
OWN_VALUES = {"AUTH_MODE"}
SECRETS = {"PROCESSOR_KEY", "EVENTS_WEBHOOK_SECRET", "OPENAI_KEY"}
# What Flex Consumption refuses: the platform sets it from the site's own configuration.
FORBIDDEN_ON_FLEX = {
    "ENABLE_ORYX_BUILD",
    "FUNCTIONS_EXTENSION_VERSION",
    "FUNCTIONS_WORKER_PROCESS_COUNT",
    "FUNCTIONS_WORKER_RUNTIME",
    "FUNCTIONS_WORKER_RUNTIME_VERSION",
    "SCM_DO_BUILD_DURING_DEPLOYMENT",
    "WEBSITE_CONTENTAZUREFILECONNECTIONSTRING",
    "WEBSITE_CONTENTSHARE",
    "WEBSITE_RUN_FROM_PACKAGE",
    "WEBSITE_SKIP_CONTENTSHARE_VALIDATION",
    "WEBSITE_VNET_ROUTE_ALL",
    "linuxFxVersion",
}
CONNECTIONS = ("AzureWebJobsStorage", "DRAFTS")


def check_settings(root: Path) -> list[str]:
    """Every setting of the code stands in the sample file and in the Bicep, and nothing else of
    ours does."""
    code = setting_defaults(root)
    found: list[str] = []
    for place, given in (("sample file", sample_settings(root)), ("Bicep", bicep_settings(root))):
        found += _missing(place, given, set(code) | HOST_WANTED)
        found += _unknown(place, given, code)
        found += _other_values(place, given, code)
    config_map = cluster_settings(root)
    found += _unknown("config map", config_map, code)
    found += _other_values("config map", config_map, code)
    return found + list(_overrides(root, code))


def check_app_settings(root: Path) -> list[str]:
    """The function app has nothing that Flex refuses, and each storage connection is by identity
    alone."""
    given = bicep_settings(root)
    found = [f"{name} is refused by Flex Consumption" for name in FORBIDDEN_ON_FLEX & set(given)]
    for prefix in CONNECTIONS:
        if prefix in given:
            found.append(f"{prefix} alone would be a connection string and wins over identity")
        if given.get(f"{prefix}__credential") != "managedidentity":
            found.append(f"{prefix}__credential must be 'managedidentity'")
        if f"{prefix}__clientId" not in given:
            found.append(f"{prefix}__clientId is missing: an identity of our own needs it")
    found += [f"{name} has a value in the template" for name in SECRETS if given.get(name) != ""]
    return found


def bicep_settings(root: Path) -> dict[str, Value]:
    """The whole collection of app settings that function.bicep deploys."""
    file = read_bicep(root / "infra/app/function.bicep")
    body = body_of(file.of_kind("resource")["appSettings"].node)
    if body is None:
        raise TypeError("the app settings have no body")
    return expect_object(value_of(file, properties(body)["properties"][1]), "app settings")


def sample_settings(root: Path) -> dict[str, Value]:
    """`Values` of local.settings.sample.json."""
    return dict(json.loads((root / "local.settings.sample.json").read_text())["Values"])


def cluster_settings(root: Path) -> dict[str, Value]:
    """`data` of the config map that both Deployments read."""
    return dict(yaml.safe_load((root / "infra/kubernetes/settings.yaml").read_text())["data"])


def is_host_setting(name: str) -> bool:
    """Whether the host reads it, and our code does not."""
    return name.startswith(HOST_PREFIXES) or name in HOST_NAMES


def _missing(place: str, given: dict[str, Value], wanted: set[str]) -> Iterator[str]:
    for name in sorted(wanted - set(given)):
        yield f"{place}: {name} is missing"


def _unknown(place: str, given: dict[str, Value], code: dict[str, str]) -> Iterator[str]:
    for name in sorted(set(given) - set(code)):
        if not is_host_setting(name):
            yield f"{place}: the code knows no setting {name}"


def _other_values(place: str, given: dict[str, Value], code: dict[str, str]) -> Iterator[str]:
    """An empty value means "not set", so it is the default as well."""
    for name in sorted(set(given) & set(code) - OWN_VALUES):
        if not isinstance(given[name], Computed) and given[name] not in ("", code[name]):
            yield f"{place}: {name} is {given[name]!r}, the code's default is {code[name]!r}"


def _overrides(root: Path, code: dict[str, str]) -> Iterator[str]:
    for path in sorted((root / "infra").glob("*.parameters.json")):
        parameters = json.loads(path.read_text())["parameters"]
        for group, known in (("settings", set(code) | HOST_WANTED), ("secrets", SECRETS)):
            for name in parameters.get(group, {}).get("value", {}):
                if name not in known:
                    yield f"{path.name}: {name} is no setting for {group!r}"
