"""The CORS rules of the Bicep, put into Azurite and asked as a browser asks before an upload."""

from __future__ import annotations

import ast
import http.client
from pathlib import Path
from urllib.parse import urlsplit

from azure.storage.blob import BlobServiceClient, CorsRule

from devhost.azurite import Azurite
from tests.infra.bicep_tree import body_of, properties, read_bicep
from tests.infra.bicep_values import Computed, Value, expect_object, value_of

STORAGE = "infra/data/wardrobe-storage.bicep"
UPLOADS = "shared/api/uploads.py"
BLOB_TYPE = "x-ms-blob-type"  # storage refuses a new blob without it


def bicep_rules(root: Path, origins: list[str]) -> list[CorsRule]:
    """The rules of the photo account as they are deployed with these `allowedOrigins`."""
    file = read_bicep(root / STORAGE)
    body = body_of(file.of_kind("resource")["blobs"].node)
    if body is None:
        raise TypeError("the blob service has no body")
    service = expect_object(value_of(file, properties(body)["properties"][1]), "blob service")
    rules = expect_object(service["cors"], "cors")["corsRules"]
    if not isinstance(rules, list):
        raise TypeError(f"no list of rules: {rules!r}")
    return [_rule(expect_object(rule, "rule"), origins) for rule in rules]


def upload_headers(root: Path) -> list[str]:
    """The headers that the answer of `POST uploads` tells a client to send, lower-cased."""
    for node in ast.walk(ast.parse((root / UPLOADS).read_text())):
        if isinstance(node, ast.Dict):
            names = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            if BLOB_TYPE in names:
                return [str(name).lower() for name in names]
    raise ValueError(f"{UPLOADS} tells nobody to send {BLOB_TYPE}")


def apply_rules(azurite: Azurite, rules: list[CorsRule]) -> None:
    """Replace the emulator's rules."""
    with BlobServiceClient.from_connection_string(azurite.connection_string) as client:
        client.set_service_properties(cors=rules)


def preflight(azurite: Azurite, *, origin: str, method: str, headers: str = "") -> int:
    """The status that a browser's preflight for one blob gets; 200 lets the request through."""
    with BlobServiceClient.from_connection_string(azurite.connection_string) as client:
        address = urlsplit(client.get_blob_client("uploads", "owner/draft/raw").url)
    connection = http.client.HTTPConnection(address.netloc, timeout=10)
    try:
        asked = {"Origin": origin, "Access-Control-Request-Method": method}
        if headers:
            asked["Access-Control-Request-Headers"] = headers
        connection.request("OPTIONS", address.path, headers=asked)
        return connection.getresponse().status
    finally:
        connection.close()


def _rule(rule: dict[str, Value], origins: list[str]) -> CorsRule:
    if rule["allowedOrigins"] != Computed("allowedOrigins"):
        raise TypeError("the origins are not the parameter's")
    return CorsRule(
        origins,
        _texts(rule["allowedMethods"]),
        allowed_headers=_texts(rule["allowedHeaders"]),
        exposed_headers=_texts(rule["exposedHeaders"]),
        max_age_in_seconds=int(str(rule["maxAgeInSeconds"])),
    )


def _texts(value: Value) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []
