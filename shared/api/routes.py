"""Every HTTP route of the app by function name, for `zz_not_found` and the OpenAPI description."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Access(Enum):
    """Who may call a route."""

    OWNER = "owner"  # by AUTH_MODE
    KEY = "key"  # the function key
    OPERATOR = "operator"  # the admin key
    ANYONE = "anyone"


@dataclass(frozen=True, slots=True)
class Route:
    """One function: its name, its one method, its template below the prefix."""

    name: str
    method: str
    template: str
    access: Access = Access.OWNER


_DRAFT = "wardrobe/drafts/{id:guid}"

ROUTES = (
    Route("create_drafts", "POST", "wardrobe/drafts"),
    Route("create_upload", "POST", "wardrobe/uploads"),
    Route("submit_upload", "POST", f"{_DRAFT}/submit"),
    Route("get_draft", "GET", _DRAFT),
    Route("get_draft_status", "GET", "wardrobe/drafts/status"),
    Route("list_drafts", "GET", "wardrobe/drafts"),
    Route("retry_draft", "POST", f"{_DRAFT}/retry"),
    Route("patch_draft", "PATCH", _DRAFT),
    Route("accept_draft", "POST", f"{_DRAFT}/accept"),
    Route("reprocess_draft", "POST", f"{_DRAFT}/reprocess"),
    Route("delete_draft", "DELETE", _DRAFT),
    Route("list_draft_events", "GET", f"{_DRAFT}/events"),
    Route("get_draft_image", "GET", f"{_DRAFT}/image/{{variant}}"),
    Route("create_image_v1", "POST", "v1/wardrobe/images"),
    Route("process_image", "POST", "process-image", Access.KEY),
    Route("health_live", "GET", "health/live", Access.ANYONE),
    Route("health_ready", "GET", "health/ready", Access.ANYONE),
    Route("ops_summary", "GET", "ops/summary", Access.OPERATOR),
    Route("ops_cleanup", "POST", "ops/cleanup", Access.OPERATOR),
    Route("ops_retry_failed", "POST", "ops/retry-failed", Access.OPERATOR),
    Route("ops_dead_letters", "GET", "ops/dead-letters", Access.OPERATOR),
    Route("ops_replay_dead_letter", "POST", "ops/dead-letters/{id}/replay", Access.OPERATOR),
    Route("openapi_json", "GET", "openapi.json", Access.ANYONE),
    Route("docs_page", "GET", "docs", Access.ANYONE),
    Route("docs_asset", "GET", "docs/{name}", Access.ANYONE),
    Route("app_page", "GET", "app", Access.ANYONE),
    Route("app_asset", "GET", "app/{name}", Access.ANYONE),
)

_PARAMETER = re.compile(r"\\\{([a-z]+)(:guid)?\\\}")
_GUID = r"[{(]?[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}[)}]?"  # as the host takes them
_ACCESS = {route.name: route.access for route in ROUTES}


def access_to(name: str) -> Access:
    """Who may call a function; what answers to everything else is for anyone."""
    return _ACCESS.get(name, Access.ANYONE)


def methods_at(path: str) -> tuple[str, ...]:
    """The methods that a path below the prefix answers to; none where there is no such route."""
    text = path.strip("/")
    return tuple(route.method for route in ROUTES if _pattern(route).fullmatch(text))


def _pattern(route: Route) -> re.Pattern[str]:
    text = _PARAMETER.sub(lambda found: _GUID if found[2] else "[^/]+", re.escape(route.template))
    return re.compile(text, re.IGNORECASE)
