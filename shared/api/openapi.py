"""GET openapi.json: OpenAPI 3.1 from the routes, their operations and the models that check."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from shared.api.codes import BY_NAME, CODES
from shared.api.exchange import JSON, PROBLEM_JSON, Answer, Request
from shared.api.openapi_drafts import DRAFT_OPERATIONS
from shared.api.openapi_model import RETRY_AFTER, Json, Operation, Problems, Shown
from shared.api.openapi_service import SERVICE_OPERATIONS
from shared.api.routes import ROUTES, Access, Route
from shared.api.views import ProblemView, View
from shared.domain.draft import UNCATEGORISED
from shared.settings import Settings

OPERATIONS = {**DRAFT_OPERATIONS, **SERVICE_OPERATIONS}
_REF = "#/components/schemas/{model}"
_VIEW = re.compile(r"View\b")
_PARAMETER = re.compile(r"\{([a-z]+)(:guid)?\}")
_EVERYWHERE: Problems = {500: ("INTERNAL",)}
_WITH_STORAGE: Problems = {503: ("STORAGE_UNAVAILABLE", "SETTINGS_INVALID")}
_WITH_OWNER: Problems = {401: ("UNAUTHENTICATED",)}
_NEED_SETTINGS = frozenset({"health_ready", "openapi_json", "app_page", "process_image"})
_RETRY_STATUSES = frozenset({409, 429, 503, 504})
_ABOUT = """Phone photos of clothes become wardrobe-ready items, in the background.

Upload photos, poll their drafts until they are Ready, correct and accept them. Errors are
`application/problem+json` with a `code`; each code, its meaning and what to do stand at
the schema `Problem`."""


def openapi_json(request: Request, *, mode: str, settings: Callable[[], Settings]) -> Answer:
    """200 with the description, as it holds in this `AUTH_MODE` and for these settings."""
    prefix = request.path_before("openapi.json")
    categories = (*settings().categories, UNCATEGORISED)
    described = description(mode, categories) | {"servers": [{"url": prefix or "/"}]}
    return Answer(
        status=200,
        body=json.dumps(described, ensure_ascii=False).encode(),
        content_type=JSON,
        headers={"Cache-Control": "no-cache"},
    )


@cache
def description(mode: str, categories: tuple[str, ...]) -> Json:
    """The whole document but for the server's address."""
    paths: dict[str, Json] = {}
    for route in ROUTES:
        if operation := OPERATIONS.get(route.name):
            path = "/" + _PARAMETER.sub(r"{\1}", route.template)
            paths.setdefault(path, {})[route.method.lower()] = _operation(route, operation, mode)
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Fitting Room", "version": "1.0.0", "description": _ABOUT,
                 "license": {"name": "MIT", "identifier": "MIT"}},
        "paths": paths,
        "components": {"schemas": _schemas(categories), "securitySchemes": _security_schemes(mode)},
    }  # fmt: skip
    return dict(_renamed(document))


def _operation(route: Route, operation: Operation, mode: str) -> Json:
    described: Json = {
        "operationId": route.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": list(_parameters(route, operation, mode)),
        "responses": _responses(route, operation),
        "security": _security(route, mode),
    }
    if operation.says:
        described["description"] = operation.says
    if operation.body:
        content = {kind: {"schema": _schema(body)} for kind, body in operation.body.items()}
        described["requestBody"] = {"required": operation.body_required, "content": content}
    return described


def _parameters(route: Route, operation: Operation, mode: str) -> Iterator[Json]:
    for found in _PARAMETER.finditer(route.template):
        schema = {"type": "string"} | ({"format": "uuid"} if found[2] else {})
        yield {"name": found[1], "in": "path", "required": True, "schema": schema}
    yield from (parameter.described() for parameter in operation.parameters)
    if route.access is Access.OWNER and mode in ("key", "local"):
        yield {
            "name": "X-Owner-Id",
            "in": "header",
            "required": mode == "key",
            "description": "Whose drafts these are.",
            "schema": {"type": "string", "minLength": int(mode == "key"), "maxLength": 128},
        }


def _responses(route: Route, operation: Operation) -> Json:
    answers = {str(status): _good(shown) for status, shown in operation.answers.items()}
    problems = {status: list(codes) for status, codes in operation.problems.items()}
    for also in (_EVERYWHERE, *_also(route)):
        for status, codes in also.items():
            problems.setdefault(status, []).extend(codes)
    answers |= {str(status): _bad(status, codes) for status, codes in sorted(problems.items())}
    return answers


def _also(route: Route) -> Iterator[Problems]:
    if route.access is Access.OWNER:
        yield _WITH_OWNER
    if route.access in (Access.OWNER, Access.OPERATOR) or route.name in _NEED_SETTINGS:
        yield _WITH_STORAGE


def _good(shown: Shown) -> Json:
    answer: Json = {"description": shown.says}
    if shown.view or shown.content:
        schema = _schema(shown.view) if shown.view else _any(shown.content)
        answer["content"] = {shown.content: {"schema": schema}}
    if shown.headers:
        answer["headers"] = {
            name: {"description": says, "schema": schema}
            for name, (says, schema) in shown.headers.items()
        }
    return answer


def _bad(status: int, codes: list[str]) -> Json:
    says = "; ".join(f"`{name}`: {BY_NAME[name].meaning}" for name in codes)
    named = {"properties": {"code": {"enum": codes}}}
    schema = {"allOf": [{"$ref": _REF.format(model="ProblemView")}, named]}
    answer: Json = {"description": says, "content": {PROBLEM_JSON: {"schema": schema}}}
    if status in _RETRY_STATUSES:
        [(name, (meaning, kind))] = RETRY_AFTER.items()
        answer["headers"] = {name: {"description": meaning, "schema": kind}}
    return answer


def _any(content: str) -> Json:
    return {"type": "object"} if content == JSON else {"type": "string", "format": "binary"}


def _schema(body: type[BaseModel] | Json) -> Json:
    return body if isinstance(body, dict) else {"$ref": _REF.format(model=body.__name__)}


class _Plain(GenerateJsonSchema):
    """Titles made of field names say nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _schemas(categories: tuple[str, ...]) -> Json:
    used: dict[type[BaseModel], JsonSchemaMode] = {ProblemView: "serialization"}
    for operation in OPERATIONS.values():
        shown = [answer.view for answer in operation.answers.values() if answer.view]
        sent = [body for body in operation.body.values() if not isinstance(body, dict)]
        used |= dict.fromkeys([*shown, *sent])  # type: ignore[arg-type]
    modes = [(kind, _mode(kind)) for kind in used]
    _, found = models_json_schema(modes, ref_template=_REF, schema_generator=_Plain)
    schemas: Json = found["$defs"]
    listed = "\n".join(f"- `{code.name}`: {code.meaning} {code.action}" for code in CODES)
    schemas["ProblemView"]["description"] = f"An error, by RFC 9457. The codes:\n\n{listed}"
    schemas["DraftPatch"]["properties"]["category"]["enum"] = list(categories)
    return schemas


def _mode(kind: type[BaseModel]) -> JsonSchemaMode:
    return "serialization" if issubclass(kind, View) else "validation"


def _security_schemes(mode: str) -> Json:
    key = {"type": "apiKey", "in": "header", "name": "x-functions-key"}
    schemes: Json = {
        "functionKey": key | {"description": "A function key of the app."},
        "adminKey": key | {"description": "The master key of the app."},
    }
    return schemes if mode != "local" else {}


def _security(route: Route, mode: str) -> list[Json]:
    """On one's own machine the host asks for no key."""
    if mode == "local":
        return []
    if route.access is Access.OPERATOR:
        return [{"adminKey": []}]
    keyed = route.access is Access.KEY or (route.access is Access.OWNER and mode == "key")
    return [{"functionKey": []}] if keyed else []


def _renamed(node: Any) -> Any:
    """`DraftView` is `Draft` outside: everywhere in names and references."""
    if isinstance(node, dict):
        return {_outside(key): _renamed(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_renamed(item) for item in node]
    return _outside(node) if isinstance(node, str) and node.startswith("#/") else node


def _outside(name: str) -> str:
    return _VIEW.sub("", name)
