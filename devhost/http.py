"""HTTP triggers: a request finds its function, and its answer the way back."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, quote

from aiohttp import web
from multidict import CIMultiDict

from devhost.admin import Admin
from devhost.answers import http_answer
from devhost.app import App
from devhost.errors import HostError
from devhost.functions import Catalogue, Function
from devhost.invoker import BY_HOST_API, Call
from devhost.routing import decode_path
from devhost.worker_process import Data, FunctionFailedError

BODY_LIMIT = 100 * 1024 * 1024
# What ASP.NET leaves as it is when it writes a path.
PATH_SAFE = "/!$&'()*+,;=:@-._~"
HOME = "<!DOCTYPE html><title>Functions</title><h1>Your Functions app is up and running</h1>"


class Front:
    """The app's address: its functions by their routes, and nothing else but admin and home."""

    def __init__(self, app: App) -> None:
        self._app = app
        limit = app.settings.get("FUNCTIONS_REQUEST_BODY_SIZE_LIMIT") or str(BODY_LIMIT)
        if not limit.isdecimal():
            raise HostError(f"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT must be a number, not '{limit}'.")
        self._body_limit = int(limit)

    def runner(self, admin: Admin, *, shutdown_timeout: float) -> web.AppRunner:
        """Ready to be set up on a socket."""
        server = web.Application(client_max_size=self._body_limit, middlewares=[self._limit_body])
        server.add_routes(admin.routes())
        server.router.add_route("*", "/", self._home)
        server.router.add_route("*", r"/{path:[\s\S]*}", self._function)
        return web.AppRunner(
            server,
            access_log=None,
            auto_decompress=False,  # a compressed body is the function's to open
            max_field_size=32 * 1024,
            shutdown_timeout=shutdown_timeout,
        )

    @web.middleware
    async def _limit_body(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if (request.content_length or 0) > self._body_limit:
            return web.Response(status=413)
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _home(self, request: web.Request) -> web.Response:
        if self._find(request.method, "/")[0] is not None:
            return await self._function(request)
        if self._app.settings.is_true("AzureWebJobsDisableHomepage"):
            return web.Response(status=204)
        return web.Response(text=HOME, content_type="text/html")

    async def _function(self, request: web.Request) -> web.Response:
        function, params = self._find(request.method, request.raw_path.partition("?")[0])
        if function is None or function.disabled:
            return web.Response(status=404)
        call = Call(
            reason=BY_HOST_API,
            data=("http", await _http_data(request, params)),
            trace=(request.headers.get("traceparent", ""), request.headers.get("tracestate", "")),
        )
        try:
            result = await self._app.invoker.invoke(function, call)
        except FunctionFailedError:
            return web.Response(status=500)
        return http_answer(result, self._app.options.custom_headers)

    def _find(self, method: str, raw_path: str) -> tuple[Function | None, dict[str, str]]:
        """The first route that matches, in the order of the functions' names."""
        for route, function in self._app.functions.routes:
            params = route.match(method, raw_path)
            if params is not None:
                return function, params
        return None, {}


async def _http_data(request: web.Request, params: dict[str, str]) -> dict[str, Any]:
    """The request as the worker wants it. Only a body that announced its length is seen."""
    path, _, query = request.raw_path.partition("?")
    encoded = quote(decode_path(path), PATH_SAFE).replace("%252F", "%2F")
    body: Data | None = ("bytes", await request.read()) if request.content_length else None
    return {
        "method": request.method,
        "url": f"{request.scheme}://{request.host}{encoded}" + (f"?{query}" if query else ""),
        "headers": _joined((name.lower(), value) for name, value in request.headers.items()),
        "query": {n: v for n, v in _joined(parse_qsl(query, keep_blank_values=True)).items() if v},
        "params": params,
        "body": body,
    }


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Repeated names become one, in any case, their values with commas between."""
    joined: CIMultiDict[str] = CIMultiDict(pairs)
    return {name: ",".join(joined.getall(name)) for name in {k.lower(): k for k in joined}.values()}


def listing(functions: Catalogue, prefix: str, port: int) -> list[str]:
    """The functions as `func start` prints them."""
    lines = ["", "Functions:", ""]
    for function in functions.of("httpTrigger"):
        methods = f"[{','.join(function.methods)}] " if function.methods else ""
        path = f"{prefix}/{function.route}".strip("/")
        lines += [f"\t{function.name}: {methods}http://localhost:{port}/{path}", ""]
    for function in functions.functions:
        if function.kind != "httpTrigger":
            lines += [f"\t{function.name}: {function.kind}", ""]
    lines += [f"Function {f.name} is disabled." for f in functions.functions if f.disabled]
    return lines
