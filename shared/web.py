"""Between the Functions host and the handlers: requests to plain values, answers back.

Every error ends here as a problem; what is nobody's fault but ours is logged and says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import azure.functions as func

if TYPE_CHECKING:
    from shared.api.exchange import Answer, Request

_SERVER_ERROR = 500


class Front:
    """Serves every HTTP function by its name; `mode` says how an owner is known."""

    def __init__(self, mode: str) -> None:
        self._mode = mode

    def serve(self, req: func.HttpRequest, name: str, **borrowed: Any) -> func.HttpResponse:
        """The answer of the function `name`, given what it borrows from the other packages."""
        trace = headers_of(req).get("traceparent", "")
        return respond(lambda: self._answer(req, name, borrowed), trace)

    def _answer(self, req: func.HttpRequest, name: str, borrowed: dict[str, Any]) -> Answer:
        from shared.api.handlers import HANDLERS
        from shared.api.routes import Access, access_to
        from shared.bootstrap import dependencies

        handler = HANDLERS[name]
        match access_to(name):
            case Access.OWNER:
                return handler(self._request_of_owner(req), dependencies(), **borrowed)
            case Access.OPERATOR:
                return handler(request_of(req), dependencies(), **borrowed)
            case _:
                return handler(request_of(req), **borrowed)

    def _request_of_owner(self, req: func.HttpRequest) -> Request:
        """Nothing is looked at before it is known who asks."""
        from shared.bootstrap import platform
        from shared.identity import owner_of

        owner = owner_of(headers_of(req), mode=self._mode, platform=platform())
        return request_of(req, owner)


def respond(serve: Callable[[], Answer], traceparent: str = "") -> func.HttpResponse:
    """The answer of `serve`, or the problem that it ran into; lines of the log carry the trace."""
    from shared import telemetry

    with telemetry.about_request(traceparent):
        answer = _answer_or_problem(serve)
    return func.HttpResponse(
        answer.body,
        status_code=answer.status,
        mimetype=answer.content_type,
        headers=dict(answer.headers),
    )


def _answer_or_problem(serve: Callable[[], Answer]) -> Answer:
    from shared import failure_log
    from shared.api.exchange import problem
    from shared.domain.errors import IngestError

    try:
        return serve()
    except IngestError as error:
        if error.status >= _SERVER_ERROR:
            failure_log.tell(error, during="answer")
        return problem(error)
    except Exception as error:  # noqa: BLE001  # the outermost catch: a problem for the caller, a log for us
        failure_log.tell(error, during="answer")
        return problem(IngestError())


def request_of(req: func.HttpRequest, owner_id: str = "") -> Request:
    """The plain value of a request."""
    from shared.api.exchange import Request

    return Request(
        method=req.method,
        url=req.url,
        body=req.get_body() or b"",
        path=dict(req.route_params),
        query=dict(req.params),
        headers=headers_of(req),
        owner_id=owner_id,
    )


def headers_of(req: func.HttpRequest) -> dict[str, str]:
    """Names in lower case."""
    return {name.lower(): value for name, value in req.headers.items()}
