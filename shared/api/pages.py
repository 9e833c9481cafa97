"""The two pages for people, `app` and `docs`: static files of ours, no third-party host."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path

from shared.api.exchange import Answer, Request, nothing_here
from shared.domain.draft import UNCATEGORISED
from shared.identity import EASYAUTH, KEY
from shared.settings import Settings

_FOLDER = Path(__file__).resolve().parents[1] / "pages"
_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_LOCAL_STORAGE = "http://127.0.0.1:* http://localhost:*"  # pictures of the emulator
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    f"img-src 'self' blob: data: https: {_LOCAL_STORAGE}; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_SIGN_IN = "/.auth/login/aad"  # the platform's own address, on every app that has its sign-in
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-cache",
}


def app_page(
    request: Request,
    *,
    mode: str,
    settings: Callable[[], Settings],
    palette: Mapping[str, Sequence[str]],
) -> Answer:
    """The upload page. 404 where only a back end may call: it could not sign anybody in."""
    _refuse_in_key_mode(mode)
    config = {
        "categories": [*settings().categories, UNCATEGORISED],
        "palette": palette,
        "signIn": _SIGN_IN if mode == EASYAUTH else None,
    }
    return _page("app", request, config)


def app_asset(request: Request, *, mode: str) -> Answer:
    """A file of the upload page."""
    _refuse_in_key_mode(mode)
    return _asset("app", request)


def docs_page(request: Request) -> Answer:
    """The contract, readable."""
    return _page("docs", request, {})


def docs_asset(request: Request) -> Answer:
    """A file of that page."""
    return _asset("docs", request)


def _refuse_in_key_mode(mode: str) -> None:
    if mode == KEY:
        raise nothing_here()


def _page(name: str, request: Request, config: Mapping[str, object]) -> Answer:
    """The page with its addresses and its configuration filled in."""
    base = request.path_before(name)
    text = (_FOLDER / name / "index.html").read_text(encoding="utf-8")
    filled = text.replace("{{base}}", escape(base)).replace(
        "{{config}}", escape(json.dumps(config))
    )
    return Answer(status=200, body=filled.encode(), content_type="text/html", headers=_HEADERS)


def _asset(folder: str, request: Request) -> Answer:
    """Only names that are there are served: a path in a name finds nothing."""
    files = {file.name: file for file in (_FOLDER / folder).iterdir()}
    file = files.get(request.path.get("name", ""))
    if file is None or file.suffix == ".html":
        raise nothing_here()
    return Answer(
        status=200, body=file.read_bytes(), content_type=_TYPES[file.suffix], headers=_HEADERS
    )
