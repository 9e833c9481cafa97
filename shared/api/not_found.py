"""The answer to what no other route answers: an unknown address, or a method it does not have."""

from __future__ import annotations

from dataclasses import replace

from shared.api.exchange import Answer, Request, nothing_here, problem
from shared.api.routes import methods_at
from shared.domain.errors import RequestError


def not_found(request: Request) -> Answer:
    """404 for an unknown route, 405 with `Allow` for a known one."""
    methods = methods_at(request.path.get("rest", ""))
    if not methods:
        return problem(nothing_here())
    allowed = ", ".join(methods)
    refused = problem(
        RequestError(405, "METHOD_NOT_ALLOWED", f"This address answers to {allowed}.")
    )
    return replace(refused, headers={**refused.headers, "Allow": allowed})
