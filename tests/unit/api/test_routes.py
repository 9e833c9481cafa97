"""Every route: what the app registers, what is described, what answers to the rest."""

import itertools

import pytest

from devhost.routing import parse_route
from shared.api.handlers import HANDLERS
from shared.api.routes import ROUTES, Access, methods_at
from tests.factories import DRAFT_ID
from tests.unit.api.registered import functions

HTTP = {
    name: function.get_trigger()
    for name, function in functions().items()
    if function.get_trigger().type == "httpTrigger"
}
NAMES = sorted(HTTP, key=str.lower)


def registered(name):
    trigger = HTTP[name].get_dict_repr()
    return tuple(str(method.value) for method in trigger.get("methods") or ()), trigger["route"]


def test_routes_are_those_of_the_app():
    """Name, method and template agree; only what answers the rest has no row."""
    described = {route.name: ((route.method,), route.template) for route in ROUTES}
    ours = {name: registered(name) for name in HTTP if name != "zz_not_found"}
    assert ours == described


def test_every_http_function_has_its_handler():
    """By its own name."""
    assert set(HANDLERS) == set(HTTP)


@pytest.mark.parametrize(
    ("mode", "owner"),
    [
        ("", "ANONYMOUS"),
        ("local", "ANONYMOUS"),
        ("easyauth", "ANONYMOUS"),
        ("key", "FUNCTION"),
        (" key ", "FUNCTION"),
    ],
)
def test_access_of_each_function(monkeypatch, mode, owner):
    """Where the header of a back end is believed, the host asks for its key; else we ask."""
    monkeypatch.setenv("AUTH_MODE", mode)
    app = functions()
    levels = {Access.OWNER: owner, Access.ANYONE: "ANONYMOUS", Access.KEY: "FUNCTION",
              Access.OPERATOR: "ADMIN"}  # fmt: skip
    wanted = {route.name: levels[route.access] for route in ROUTES}
    found = {
        name: str(app[name].get_trigger().get_dict_repr()["authLevel"].name) for name in wanted
    }
    assert found == wanted


def test_the_last_function_is_what_answers_the_rest():
    """The host takes the first match in the order of names."""
    assert NAMES[-1] == "zz_not_found"


def test_no_route_shadows_another():
    """A path of one route is never taken by a function with an earlier name."""
    parsed = [(name, parse_route(registered(name)[1], registered(name)[0])) for name in NAMES]
    for (early, one), (late, other) in itertools.combinations(parsed, 2):
        path = other.template.replace("{id:guid}", DRAFT_ID).replace("{*rest}", "x")
        path = path.replace("{variant}", "thumb").replace("{name}", "page.css").replace("{id}", "i")
        if late != "zz_not_found":
            for method in other.methods:
                assert one.match(method, path) is None, f"{early} takes {late}"


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("wardrobe/drafts", ("POST", "GET")),
        ("wardrobe/drafts/", ("POST", "GET")),
        ("WARDROBE/Drafts/status", ("GET",)),
        (f"wardrobe/drafts/{DRAFT_ID}", ("GET", "PATCH", "DELETE")),
        (f"wardrobe/drafts/{{{DRAFT_ID}}}", ("GET", "PATCH", "DELETE")),
        (f"wardrobe/drafts/{DRAFT_ID.replace('-', '')}/retry", ("POST",)),
        (f"wardrobe/drafts/{DRAFT_ID}/image/thumb", ("GET",)),
        ("wardrobe/drafts/nope", ()),
        ("wardrobe/drafts/nope/retry", ()),
        ("wardrobe", ()),
        ("", ()),
        ("openapi_json", ()),
        ("ops/dead-letters/2026-08~x/replay", ("POST",)),
    ],
)
def test_methods_of_a_path(path, methods):
    """As the host would match it."""
    assert methods_at(path) == methods


@pytest.mark.parametrize("path", ["nope", "", "wardrobe/drafts/nope", "../etc"])
def test_unknown_address(caller, path):
    """404 as a problem."""
    reply = caller.ask("zz_not_found", path={"rest": path})
    assert (reply.status, reply.code) == (404, "NOT_FOUND")


def test_known_address_with_a_wrong_method(caller):
    """405 with what it answers to."""
    reply = caller.ask("zz_not_found", path={"rest": f"wardrobe/drafts/{DRAFT_ID}"})
    assert (reply.status, reply.code) == (405, "METHOD_NOT_ALLOWED")
    assert reply.headers["allow"] == "GET, PATCH, DELETE"
