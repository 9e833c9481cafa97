"""What the house asks of every deployment: no keys, nothing public, TLS, least roles, nothing that
deletes photos."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tree_sitter import Node

from tests.infra.arm_shapes import resource_type
from tests.infra.bicep_tree import (
    BicepFile,
    Declaration,
    bicep_files,
    body_of,
    literal,
    properties,
    text,
    walk,
)
from tests.infra.bicep_values import Computed, Value, value_of

# Property path -> the only value allowed, for each type. Where only a deployment knows the value,
# the source must be this.
DEMANDS: dict[str, dict[str, Value]] = {
    "Microsoft.Storage/storageAccounts": {
        "properties.allowBlobPublicAccess": False,
        "properties.allowCrossTenantReplication": False,
        "properties.allowSharedKeyAccess": False,
        "properties.defaultToOAuthAuthentication": True,
        "properties.isLocalUserEnabled": False,
        "properties.minimumTlsVersion": "TLS1_2",
        "properties.supportsHttpsTrafficOnly": True,
    },
    "Microsoft.Storage/storageAccounts/blobServices/containers": {
        "properties.publicAccess": "None",
    },
    "Microsoft.Web/sites": {
        "identity.type": "UserAssigned",
        "properties.httpsOnly": True,
        "properties.siteConfig.ftpsState": "Disabled",
        "properties.siteConfig.minTlsVersion": "1.2",
        "properties.siteConfig.cors.supportCredentials": False,
        "properties.functionAppConfig.deployment.storage.authentication.type": (
            "UserAssignedIdentity"
        ),
    },
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": {"properties.allow": False},
    "Microsoft.Web/sites/config:authsettingsV2": {
        "properties.globalValidation.requireAuthentication": False,
        "properties.globalValidation.unauthenticatedClientAction": "AllowAnonymous",
    },
    "Microsoft.Insights/components": {
        "properties.DisableLocalAuth": Computed("!anonymousTelemetry"),
    },
}
# Of the account with the photos only.
PHOTO_DEMANDS: dict[str, Value] = {
    "properties.deleteRetentionPolicy.enabled": True,
    "properties.containerDeleteRetentionPolicy.enabled": True,
}
KEY_WORDS = re.compile(r"listKeys|listAccountSas|AccountKey|SharedAccessKey|list\w*Keys?\(", re.I)
SECRET_NAME = re.compile(r"secret|password|token|(?<!to)key", re.I)


def check_policy(root: Path) -> list[str]:
    """No key, no public blob, no old TLS, no star for an origin, no rule that deletes photos."""
    found: list[str] = []
    for file in bicep_files(root):
        found += _key_faults(file)
        found += _secret_faults(file)
        found += _origin_faults(file)
        for resource in file.of_kind("resource").values():
            found += _resource_faults(file, resource)
    return found


def _key_faults(file: BicepFile) -> Iterator[str]:
    for number, line in enumerate(file.path.read_text().splitlines(), start=1):
        if KEY_WORDS.search(line.split("//")[0]):
            yield f"{file.path.name}:{number}: a key is read or written: {line.strip()}"


def _secret_faults(file: BicepFile) -> Iterator[str]:
    for parameter in file.of_kind("param").values():
        if SECRET_NAME.search(parameter.name) and "secure" not in parameter.decorators:
            yield f"{file.at(parameter.node)}: {parameter.name} is not @secure()"


def _origin_faults(file: BicepFile) -> Iterator[str]:
    for node in walk(file.root):
        is_origins = node.type == "object_property" and "rigins" in text(node.children[0])
        if is_origins and any("*" in (literal(one) or "") for one in walk(node)):
            yield f"{file.at(node)}: every origin is allowed"


def _resource_faults(file: BicepFile, resource: Declaration) -> Iterator[str]:
    kind, _ = resource_type(resource)
    if kind.endswith("/managementPolicies"):
        yield f"{file.at(resource.node)}: a lifecycle rule would delete accepted wardrobes"
    body = body_of(resource.node)
    if body is None or any(child.type == "existing" for child in resource.node.children):
        return
    name = literal(properties(body)["name"][1]) if "name" in properties(body) else None
    demands = DEMANDS.get(f"{kind}:{name}") or DEMANDS.get(kind, {})
    if kind.endswith("/blobServices") and file.path.name == "wardrobe-storage.bicep":
        demands = PHOTO_DEMANDS
    for path, wanted in demands.items():
        given = _at_path(file, body, path)
        if given != wanted:
            yield f"{file.at(resource.node)}: {kind} {path} is {given!r}, must be {wanted!r}"


def _at_path(file: BicepFile, body: Node, path: str) -> Value:
    node = body
    for step in path.split("."):
        inside = properties(node) if node.type == "object" else {}
        if step not in inside:
            return None
        node = inside[step][1]
    return value_of(file, node)
