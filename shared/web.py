"""Between the Functions host and the handlers: requests to plain values, answers back.

Every error ends here as a problem; what is nobody's fault but ours is logged and says nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import azure.functions as func

if TYPE_CHECKING:
    from shared.api.exchange import Answer, Request
    from shared.dependencies import Dependencies

_log = logging.getLogger("fitting_room")


class Front:
    """Serves handlers to those who may ask them; `mode` says how an owner is known."""

    def __init__(self, mode: str) -> None:
        self._mode = mode

    def for_owner(
        self, req: func.HttpRequest, handler: Callable[[Request, Dependencies], Answer]
    ) -> func.HttpResponse:
        """A route of one owner's drafts: 401 where the caller is not known."""
        from shared.bootstrap import dependencies, platform
        from shared.identity import owner_of

        headers = _headers(req)

        def serve() -> Answer:
            owner = owner_of(headers, mode=self._mode, platform=platform())
            return handler(_request(req, owner), dependencies())

        return respond(serve)

    def with_storage(
        self, req: func.HttpRequest, handler: Callable[[Request, Dependencies], Answer]
    ) -> func.HttpResponse:
        """A route that belongs to no owner; the host has checked the key."""
        from shared.bootstrap import dependencies

        return respond(lambda: handler(_request(req), dependencies()))

    def plain(
        self, req: func.HttpRequest, handler: Callable[[Request], Answer]
    ) -> func.HttpResponse:
        """A route that needs neither an owner nor storage."""
        return respond(lambda: handler(_request(req)))


def respond(serve: Callable[[], Answer]) -> func.HttpResponse:
    """The answer of `serve`, or the problem that it ran into."""
    from shared.api.exchange import problem
    from shared.domain.errors import IngestError

    try:
        answer = serve()
    except IngestError as error:
        if error.status >= 500:
            _log.warning("request failed: %s", error, exc_info=True)
        answer = problem(error)
    except Exception:  # noqa: BLE001  # the outermost catch: a caller gets a problem, the log the rest
        _log.exception("request failed unexpectedly")
        answer = problem(IngestError())
    return func.HttpResponse(
        answer.body,
        status_code=answer.status,
        mimetype=answer.content_type,
        headers=dict(answer.headers),
    )


def _request(req: func.HttpRequest, owner_id: str = "") -> Request:
    from shared.api.exchange import Request

    return Request(
        method=req.method,
        url=req.url,
        body=req.get_body() or b"",
        path=dict(req.route_params),
        query=dict(req.params),
        headers=_headers(req),
        owner_id=owner_id,
    )


def _headers(req: func.HttpRequest) -> dict[str, str]:
    return {name.lower(): value for name, value in req.headers.items()}
