"""Every check of the infrastructure. Each takes a root folder and answers what is wrong, in words;
nothing means good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.infra.alarm_rules import check_rules, check_runbook
from tests.infra.arm_shapes import check_shapes
from tests.infra.azd_project import check_azd_project, check_hooks, check_parameter_files
from tests.infra.bicep_names import check_names, check_syntax
from tests.infra.bicep_policy import check_policy
from tests.infra.container_files import check_dockerfile, check_sent_files
from tests.infra.functions_doctor import check_doctor
from tests.infra.kql_queries import check_kql_events, check_kql_types
from tests.infra.least_roles import check_roles
from tests.infra.manifests import check_manifests, check_numbers, check_split
from tests.infra.one_python import check_python
from tests.infra.page_links import check_links, check_parameter_table
from tests.infra.settings_agree import check_app_settings, check_settings
from tests.infra.storage_names import check_storage_names, check_triggers
from tests.infra.telemetry_contract import check_telemetry, check_telemetry_names

type Check = Callable[[Path], list[str]]

_CHECKS: tuple[Check, ...] = (
    check_syntax,
    check_names,
    check_shapes,
    check_policy,
    check_roles,
    check_settings,
    check_app_settings,
    check_storage_names,
    check_triggers,
    check_manifests,
    check_split,
    check_numbers,
    check_dockerfile,
    check_sent_files,
    check_azd_project,
    check_hooks,
    check_parameter_files,
    check_rules,
    check_runbook,
    check_kql_types,
    check_kql_events,
    check_telemetry,
    check_telemetry_names,
    check_links,
    check_parameter_table,
    check_python,
    check_doctor,
)
CHECKS = {check.__name__: check for check in _CHECKS}
