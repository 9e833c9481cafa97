"""The pages for people: what is served, to whom, and that nothing comes from elsewhere."""

import html
import json
import re
from pathlib import Path

import azure.functions as func
import pytest

from shared.api.pages import app_asset, app_page, docs_asset, docs_page
from shared.domain.errors import RequestError
from shared.settings import Settings
from shared.web import request_of

PAGES = Path(__file__).resolve().parents[3] / "shared" / "pages"


def request(path, **route):
    return request_of(
        func.HttpRequest("GET", f"https://h/api/{path}", route_params=route, body=b"")
    )


def app(path="app", mode="local"):
    return app_page(request(path), mode=mode, settings=Settings, palette={"Red": "#c4202c"})


def test_page_is_filled_with_its_addresses_and_choices():
    """Base address, categories and palette stand in the page."""
    text = app().body.decode()
    config = json.loads(html.unescape(re.search(r'data-config="([^"]*)"', text)[1]))
    assert 'src="/api/app/app.js"' in text
    assert config["palette"] == {"Red": "#c4202c"}
    assert config["categories"][-1] == "Uncategorised"
    assert "{{" not in text


@pytest.mark.parametrize(("mode", "address"), [("easyauth", "/.auth/login/aad"), ("local", None)])
def test_page_knows_where_people_sign_in(mode, address):
    """At the platform, where that asks who they are."""
    text = app(mode=mode).body.decode()
    config = json.loads(html.unescape(re.search(r'data-config="([^"]*)"', text)[1]))
    assert config["signIn"] == address


@pytest.mark.parametrize("path", ["app", "app/", "App", "APP/"])
def test_page_finds_its_files_with_and_without_a_slash_in_any_case(path):
    """To the host all of these addresses are the same page."""
    assert 'src="/api/app/app.js"' in app(path).body.decode()


@pytest.mark.parametrize(
    "answer",
    [lambda: app(mode="key"), lambda: app_asset(request("app/app.js", name="app.js"), mode="key")],
)
def test_page_is_not_there_for_a_back_end(answer):
    """In key mode it could sign nobody in."""
    with pytest.raises(RequestError) as caught:
        answer()
    assert caught.value.status == 404


@pytest.mark.parametrize(
    ("name", "content_type"),
    [
        ("app.js", "text/javascript"),
        ("app.css", "text/css"),
        ("tile.js", "text/javascript"),
        ("hanger.svg", "image/svg+xml"),
    ],
)
def test_files_of_the_page_have_their_types(name, content_type):
    """By their suffix, and never sniffed."""
    answer = app_asset(request(f"app/{name}", name=name), mode="local")
    assert answer.content_type == content_type
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("name", ["", "index.html", "../views.py", "..", "nope.js", "/etc/passwd"])
def test_files_that_are_not_of_the_page(name):
    """Only names that are there are served."""
    with pytest.raises(RequestError) as caught:
        docs_asset(request("docs/x", name=name))
    assert caught.value.status == 404


def test_pages_may_load_from_nowhere_else():
    """Scripts, styles and calls come from this address alone."""
    policy = docs_page(request("docs")).headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "connect-src 'self'" in policy


@pytest.mark.parametrize("file", sorted(PAGES.rglob("*.*")), ids=lambda file: file.name)
def test_pages_name_no_other_host(file):
    """No address of a third party stands in any file."""
    found = re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", file.read_text())
    assert set(found) <= {"http://www.w3.org"}


@pytest.mark.parametrize("file", sorted(PAGES.rglob("*.js")), ids=lambda file: file.name)
def test_scripts_are_small(file):
    """The house's limit for a module holds for them too."""
    assert len(file.read_text().splitlines()) < 250
