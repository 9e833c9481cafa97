"""Calls the handlers as their triggers do: a request in, the host's answer out."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, replace
from typing import Any

import azure.functions as func
import httpx
from PIL import Image

from shared.api.handlers import HANDLERS
from shared.api.routes import Access, access_to
from shared.domain.draft import Draft, DraftStatus, ImageUse, Metadata, Pictures, Stage
from shared.domain.pictures import Color, Rendition, Segmentation
from shared.web import request_of, respond
from tests.factories import OWNER, World, make_draft
from tests.fakes import NOW

BASE = "https://wardrobe.example/api"
RENDITIONS = ("archive", "display", "thumb", "original-display", "original-thumb")


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """Of a problem, checked to be one."""
        assert self.headers["content-type"].startswith("application/problem+json")
        problem = self.json
        assert problem["status"] == self.status
        assert {"type", "title", "detail", "code", "retryable"} <= problem.keys()
        return problem["code"]


@dataclass(frozen=True)
class Caller:
    """One owner in front of a world of fakes."""

    world: World
    owner: str = OWNER
    borrowed: dict[str, Any] = field(default_factory=dict)

    def as_(self, owner: str) -> Caller:
        return replace(self, owner=owner)

    def ask(
        self,
        name: str,
        draft: Draft | str | None = None,
        *,
        body: bytes = b"",
        json: Any = None,
        path: dict[str, str] | None = None,
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        **borrowed: Any,
    ) -> Reply:
        """The answer of one HTTP function to this owner."""
        sent = {name.lower(): value for name, value in (headers or {}).items()}
        if json is not None:
            body = _dumped(json)
            sent = {"content-type": "application/json"} | sent
        if body:
            sent = {"content-length": str(len(body))} | sent
        route = dict(path or {})
        if draft is not None:
            route["id"] = draft if isinstance(draft, str) else draft.id
        req = func.HttpRequest(
            "POST",
            f"{BASE}/wardrobe/drafts",
            headers=sent,
            params=query,
            route_params=route,
            body=body,
        )
        return self._reply(name, req, borrowed)

    def _reply(self, name: str, req: func.HttpRequest, borrowed: dict[str, Any]) -> Reply:
        owned = access_to(name) is Access.OWNER
        deps = (self.world.deps,) if owned or access_to(name) is Access.OPERATOR else ()
        request = request_of(req, self.owner if owned else "")
        trace = req.headers.get("traceparent", "")
        answer = respond(lambda: HANDLERS[name](request, *deps, **borrowed), trace)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        headers["content-type"] = answer.mimetype
        return Reply(answer.status_code, headers, answer.get_body())

    def upload(
        self,
        *files: tuple[str | None, bytes],
        fields: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        name: str = "create_drafts",
        **borrowed: Any,
    ) -> Reply:
        """A multipart form with these files."""
        body, content_type = form(*files, fields=fields)
        sent = {"content-type": content_type} | (headers or {})
        return self.ask(name, body=body, headers=sent, **({"run": never} | borrowed))


def never(draft: Draft, deps: Any) -> None:
    """A job that must not run in the HTTP process."""
    raise AssertionError("no run was wanted here")


def form(
    *files: tuple[str | None, bytes], fields: dict[str, str] | None = None
) -> tuple[bytes, str]:
    """A multipart body and its content type, as a well-kept client writes them."""
    parts = [("files", (name, data, "image/jpeg")) for name, data in files]
    request = httpx.Request("POST", BASE, files=parts or {"x": ("", b"")}, data=fields or {})
    return request.read(), request.headers["content-type"]


def photo(kind: str = "JPEG", size: tuple[int, int] = (60, 80), colour: str = "navy") -> bytes:
    """A small picture that passes the probe."""
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, kind)
    return out.getvalue()


def make_pictures(generation: int = 1, prefix: str = "owner-1/x") -> Pictures:
    """A full set of renditions."""
    made = {
        name: Rendition(
            blob=f"{prefix}/{generation}-1/{name}.webp", width=600 + i, height=800 + i, size=10
        )
        for i, name in enumerate(RENDITIONS)
    }
    return Pictures(
        segmentation=Segmentation.APPLIED,
        mask=f"{prefix}/{generation}-1/mask.png",
        renditions=made,
        blur_hash="LEHV6nWB2yk8pyo0adR*.7kCMdnj",
        original_blur_hash="L6PZfSjE.AyE_3t7t7R**0o#DgR4",
    )


def make_ready(**changes: Any) -> Draft:
    """A draft that a run has finished."""
    fields: dict[str, Any] = {
        "status": DraftStatus.READY,
        "stage": Stage.ANALYZED,
        "work": None,
        "pictures": make_pictures(),
        "use": ImageUse.CUTOUT,
        "metadata": Metadata(
            category="Dress",
            category_confidence=0.8,
            colors=(Color(name="navy", hex="#000080", share=0.9),),
            source="model",
            needs_review=False,
        ),
        "status_since": NOW,
    }
    return make_draft(**(fields | changes))


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()
