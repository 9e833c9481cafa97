"""Who asks. One of three modes; where none is set or it is not allowed here, nobody is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shared.domain.errors import RequestError
from shared.domain.ids import is_owner_id

EASYAUTH, KEY, LOCAL = "easyauth", "key", "local"
_LOCAL_OWNER = "local"
_PRINCIPAL = "x-ms-client-principal-id"  # set by the platform, and removed from what clients send
# Believed of a back end that holds the function key, and on one's own machine.
_OWNER = "x-owner-id"


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    """What the host says of itself: a mode is only believed where it can be kept."""

    authenticates: bool  # the platform checks every caller and sets the principal's header
    development: bool  # somebody's own machine

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Platform:
        return cls(
            authenticates=environ.get("WEBSITE_AUTH_ENABLED", "").lower() == "true",
            development=environ.get("AZURE_FUNCTIONS_ENVIRONMENT", "").lower() == "development",
        )


def owner_of(headers: Mapping[str, str], *, mode: str, platform: Platform) -> str:
    """The owner id of the caller. Raises RequestError (401) where there is none to believe."""
    owner = _claimed(headers, mode, platform)
    if owner is None or not is_owner_id(owner):
        raise RequestError(401, "UNAUTHENTICATED", "The request does not say who asks.")
    return owner


def _claimed(headers: Mapping[str, str], mode: str, platform: Platform) -> str | None:
    if mode == EASYAUTH and platform.authenticates:
        return headers.get(_PRINCIPAL)
    if mode == KEY:
        return headers.get(_OWNER)
    if mode == LOCAL and platform.development:
        return headers.get(_OWNER) or _LOCAL_OWNER
    return None
