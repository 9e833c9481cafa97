"""What a function returned, as the answer to its HTTP request."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

from devhost.worker_process import Data

SAME_SITE = {1: "lax", 2: "strict", 3: "none"}
# The server decides these from the body.
OF_THE_SERVER = ("content-length", "transfer-encoding")


def http_answer(result: Data | None, custom_headers: Mapping[str, str]) -> web.Response:
    """A response object as it is; a plain text by the host's rules; nothing is an empty 200."""
    if result is None:
        return _response(200, {}, b"", (), custom_headers)
    kind, value = result
    if kind == "http":
        body = value["body"][1] if value["body"] else b""
        content = body.encode() if isinstance(body, str) else bytes(body)
        return _response(
            value["status"], value["headers"], content, value["cookies"], custom_headers
        )
    return _plain_answer(str(value), custom_headers)


def _plain_answer(text: str, custom_headers: Mapping[str, str]) -> web.Response:
    """JSON is read: objects come out indented, one with a `body` is a whole response."""
    status: Any = 200
    headers = {"Content-Type": "text/plain; charset=utf-8"}
    value = _json_or_text(text)
    if isinstance(value, dict) and "body" in value:
        status = value.get("statusCode", value.get("status", 200))
        headers |= {name: str(content) for name, content in value.get("headers", {}).items()}
        value = value["body"]
    return _response(status, headers, _text(value).encode(), (), custom_headers)


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _text(value: Any) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value, indent=2, ensure_ascii=False)
    return "" if value is None else str(value)


def _response(
    status: object,
    headers: Mapping[str, str],
    body: bytes,
    cookies: Any,
    custom_headers: Mapping[str, str],
) -> web.Response:
    sent: CIMultiDict[str] = CIMultiDict()
    for name, value in headers.items():
        if name.lower() not in OF_THE_SERVER:
            sent.setdefault(name, value)
    for cookie in cookies:
        sent.add("Set-Cookie", _cookie_text(cookie))
    for name, value in custom_headers.items():
        sent.setdefault(name, value)
    return web.Response(status=_status(status), headers=sent, body=body)


def _status(value: object) -> int:
    text = str(value)
    return int(text) if text.isdecimal() else 200


def _cookie_text(cookie: Mapping[str, Any]) -> str:
    parts = [f"{cookie['name']}={cookie.get('value', '')}"]
    if "expires" in cookie:
        expires = datetime.fromtimestamp(cookie["expires"], UTC)
        parts.append(f"expires={expires:%a, %d %b %Y %H:%M:%S} GMT")
    if "max_age" in cookie:
        parts.append(f"max-age={int(cookie['max_age'])}")
    parts += [f"{name}={cookie[name]}" for name in ("domain", "path") if name in cookie]
    parts += ["secure"] if cookie.get("secure") else []
    if same_site := SAME_SITE.get(cookie.get("same_site", 0)):
        parts.append(f"samesite={same_site}")
    parts += ["httponly"] if cookie.get("http_only") else []
    return "; ".join(parts)
