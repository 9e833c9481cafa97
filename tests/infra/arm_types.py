"""What Azure Resource Manager takes, as told by the management libraries: property names, value
types, enums.

The libraries come in three makes (TypedDicts, classes with REST fields, classes with an attribute
map); `fields_of` makes them look alike. Nothing here talks to Azure.
"""

from __future__ import annotations

import enum
import importlib
import importlib.util
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

# Resource type, or type:name where the name decides the shape -> library, class.
SHAPES = {
    "Microsoft.Web/sites": ("web", "Site"),
    "Microsoft.Web/serverfarms": ("web", "AppServicePlan"),
    "Microsoft.Web/sites/config:appsettings": ("web", "StringDictionary"),
    "Microsoft.Web/sites/config:authsettingsV2": ("web", "SiteAuthSettingsV2"),
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": (
        "web",
        "CsmPublishingCredentialsPoliciesEntity",
    ),
    "Microsoft.Storage/storageAccounts": ("storage", "StorageAccountCreateParameters"),
    "Microsoft.Storage/storageAccounts/blobServices": ("storage", "BlobServiceProperties"),
    "Microsoft.Storage/storageAccounts/blobServices/containers": ("storage", "BlobContainer"),
    "Microsoft.Storage/storageAccounts/queueServices": ("storage", "QueueServiceProperties"),
    "Microsoft.Storage/storageAccounts/queueServices/queues": ("storage", "StorageQueue"),
    "Microsoft.Storage/storageAccounts/tableServices": ("storage", "TableServiceProperties"),
    "Microsoft.Storage/storageAccounts/tableServices/tables": ("storage", "Table"),
    "Microsoft.Insights/scheduledQueryRules": ("monitor", "ScheduledQueryRuleResource"),
    "Microsoft.Insights/actionGroups": ("monitor", "ActionGroupResource"),
    "Microsoft.Insights/components": ("applicationinsights", "ApplicationInsightsComponent"),
    "Microsoft.Insights/workbooks": ("applicationinsights", "Workbook"),
    "Microsoft.OperationalInsights/workspaces": ("loganalytics", "Workspace"),
    "Microsoft.Authorization/roleAssignments": ("authorization", "RoleAssignmentCreateParameters"),
    "Microsoft.ManagedIdentity/userAssignedIdentities": ("msi", "Identity"),
    "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials": (
        "msi",
        "FederatedIdentityCredential",
    ),
    "Microsoft.Network/virtualNetworks": ("network", "VirtualNetwork"),
    "Microsoft.Network/virtualNetworks/subnets": ("network", "Subnet"),
    "Microsoft.Network/privateEndpoints": ("network", "PrivateEndpoint"),
    "Microsoft.Network/privateEndpoints/privateDnsZoneGroups": ("network", "PrivateDnsZoneGroup"),
    "Microsoft.Network/privateDnsZones": ("privatedns", "PrivateZone"),
    "Microsoft.Network/privateDnsZones/virtualNetworkLinks": ("privatedns", "VirtualNetworkLink"),
}

# No library describes these two; the property names are those of the service's own reference.
WRITTEN_SHAPES: dict[str, dict[str, Any]] = {
    "Microsoft.Resources/resourceGroups": {"location": str, "tags": dict, "managedBy": str},
    "Microsoft.Insights/diagnosticSettings": {
        "properties": {
            "workspaceId": str,
            "logs": [{"category": str, "categoryGroup": str, "enabled": bool}],
            "metrics": [{"category": str, "enabled": bool}],
        }
    },
}

# Libraries of the attribute-map make forget which strings are enums.
FORGOTTEN_ENUMS = {
    ("monitor", "operator"): "ConditionOperator",
    ("monitor", "timeAggregation"): "TimeAggregation",
    ("monitor", "kind"): "Kind",
    ("authorization", "principalType"): "PrincipalType",
    ("applicationinsights", "Application_Type"): "ApplicationType",
}


@cache
def shape_of(resource_type: str, name: str | None) -> Any:
    """The type of a resource's body, or None when nothing describes it."""
    for key in (f"{resource_type}:{name}", resource_type):
        if key in WRITTEN_SHAPES:
            return WRITTEN_SHAPES[key]
        if key in SHAPES:
            library, class_name = SHAPES[key]
            return _lookup(library, class_name)
    return None


def fields_of(kind: Any) -> Mapping[str, Any] | None:
    """Property name to type; None when the type is no record."""
    if isinstance(kind, dict):
        return kind
    if not isinstance(kind, type) or issubclass(kind, (str, enum.Enum)):
        return None
    record: Any = kind
    return _class_fields(record)


def choices_of(kind: Any) -> frozenset[str]:
    """The strings that an enum allows, lower-cased; empty when any string goes."""
    values = [member.value for one in plain(kind) if _is_enum(one) for member in one]
    return frozenset(str(value).lower() for value in values)


def plain(kind: Any) -> Iterator[Any]:
    """The alternatives of a type, one by one."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        for argument in typing.get_args(kind):
            yield from plain(argument)
    elif kind is not None:
        yield kind


def element_of(kind: Any) -> Any:
    """The element type of a list; None for anything else. A written shape has lists of one."""
    if isinstance(kind, list):
        return kind[0]
    arguments = [typing.get_args(one) for one in plain(kind) if typing.get_origin(one) is list]
    return arguments[0][0] if arguments else None


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


def _lookup(library: str, class_name: str) -> Any:
    package = f"azure.mgmt.{library}"
    models = importlib.import_module(f"{package}.models")
    if importlib.util.find_spec(f"{package}.types"):
        typed = importlib.import_module(f"{package}.types")
        return getattr(typed, class_name, None) or getattr(models, class_name)
    return getattr(models, class_name)


@cache
def _class_fields(kind: Any) -> Mapping[str, Any] | None:
    if hasattr(kind, "__required_keys__"):
        return _typed_dict_fields(kind)
    if isinstance(getattr(kind, "_attribute_map", None), dict):
        return _attribute_map_fields(kind)
    if hasattr(kind, "_deserialize"):
        return _rest_fields(kind)
    return None


def _typed_dict_fields(kind: type) -> Mapping[str, Any]:
    typed = importlib.import_module(kind.__module__)
    models = importlib.import_module(kind.__module__.removesuffix(".types") + ".models")
    return typing.get_type_hints(kind, localns={**vars(models), **vars(typed)})


def _rest_fields(kind: type) -> Mapping[str, Any]:
    kind()  # the names are worked out when the first one is made
    models = importlib.import_module(kind.__module__.rsplit(".", 1)[0])
    scope = {**vars(models), "_models": models, "datetime": importlib.import_module("datetime")}
    hints = typing.get_type_hints(kind, globalns=scope | vars(typing))
    rest = kind._attr_to_rest_field  # type: ignore[attr-defined]
    return {field._rest_name: hints.get(name) for name, field in rest.items()}


def _attribute_map_fields(kind: type) -> Mapping[str, Any]:
    models = importlib.import_module(kind.__module__.rsplit(".", 1)[0])
    library = kind.__module__.split(".")[2]
    found: dict[str, Any] = {}
    for spec in kind._attribute_map.values():  # type: ignore[attr-defined]
        *above, last = spec["key"].replace("\\.", "\0").split(".")
        place = found
        for step in above:
            place = place.setdefault(step, {})
        forgotten = FORGOTTEN_ENUMS.get((library, last))
        place[last] = getattr(models, forgotten) if forgotten else _mapped(models, spec["type"])
    return found


def _mapped(models: types.ModuleType, written: str) -> Any:
    if written.startswith("["):
        return list[_mapped(models, written[1:-1])]  # type: ignore[misc]
    if written.startswith("{"):
        return dict
    simple = {"bool": bool, "int": int, "float": float}
    return simple.get(written) or getattr(models, written, str)
