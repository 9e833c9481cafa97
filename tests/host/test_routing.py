"""Which requests a route template matches, and with which values."""

import pytest

from devhost.errors import FunctionInErrorError
from devhost.routing import parse_route

ID = "0f8fad5b-d9cb-469f-a165-70867728950e"


@pytest.mark.parametrize(
    ("template", "path", "values"),
    [
        ("items", "/items", {}),
        ("items", "/ITEMS/", {}),
        ("items/{id}", "/items/5", {"id": "5"}),
        ("items/{id}", "/items/a%20b", {"id": "a b"}),
        ("items/{id}", "/items/ä", {"id": "ä"}),
        ("items/{id}", "/items/a%2Fb", {"id": "a%2Fb"}),
        ("items/{id?}", "/items", {}),
        ("items/{id?}", "/items/5", {"id": "5"}),
        ("items/{page=1}", "/items", {"page": "1"}),
        ("items/{page=1}", "/items/7", {"page": "7"}),
        ("files/{*rest}", "/files/a/b/c", {"rest": "a/b/c"}),
        ("files/{*rest}", "/files", {}),
        ("{*rest}", "/any/where", {"rest": "any/where"}),
        ("{a}/{b}", "/1/2", {"a": "1", "b": "2"}),
        ("{name}.{ext}", "/photo.webp", {"name": "photo", "ext": "webp"}),
        ("v{n:int}/x", "/v2/x", {"n": "2"}),
    ],
)
def test_route_that_matches_gives_its_values(
    template: str, path: str, values: dict[str, str]
) -> None:
    """Text matches in any case; parameters are decoded; what is absent has no value."""
    assert parse_route(template, ()).match("GET", path) == values


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("items", "/item"),
        ("items", "/items/5"),
        ("items/{id}", "/items"),
        ("items/{id}", "/items/5/6"),
        ("items/{id?}", "/items/5/6"),
        ("items/{id}/image", "/items/5"),
    ],
)
def test_route_with_another_shape_does_not_match(template: str, path: str) -> None:
    """Every segment has to be there, and no further one."""
    assert parse_route(template, ()).match("GET", path) is None


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        ("int", "-5", "5.5"),
        ("int", "2147483647", "2147483648"),
        ("long", "2147483648", "x"),
        ("bool", "True", "yes"),
        ("alpha", "abC", "ab1"),
        ("double", "-1.5e3", "one"),
        ("length(3)", "abc", "ab"),
        ("length(2,3)", "ab", "abcd"),
        ("minlength(2)", "ab", "a"),
        ("maxlength(2)", "ab", "abc"),
        ("min(5)", "5", "4"),
        ("max(5)", "5", "6"),
        ("range(1,3)", "3", "4"),
        ("int:min(1)", "1", "0"),
        ("regex(^[a-c]+$)", "abc", "abd"),
        ("regex(^(a|b){{2}}$)", "ab", "abc"),
    ],
)
def test_route_constraint_decides_over_the_match(constraint: str, good: str, bad: str) -> None:
    """A value that does not meet it is no match at all."""
    route = parse_route(f"x/{{value:{constraint}}}", ())
    assert route.match("GET", f"/x/{good}") == {"value": good}
    assert route.match("GET", f"/x/{bad}") is None


@pytest.mark.parametrize(
    "value", [ID, ID.upper(), ID.replace("-", ""), "{" + ID + "}", "(" + ID + ")"]
)
def test_route_guid_constraint_accepts_every_form(value: str) -> None:
    """With dashes, without, in braces and in brackets."""
    assert parse_route("d/{id:guid}", ()).match("GET", f"/d/{value}") == {"id": value}


@pytest.mark.parametrize("value", ["status", ID[:-1], ID + "0", "{" + ID, "(" + ID + "}", ID[:20]])
def test_route_guid_constraint_refuses_what_is_none(value: str) -> None:
    """A word in the place of an id is for another route."""
    assert parse_route("d/{id:guid}", ()).match("GET", f"/d/{value}") is None


def test_route_with_methods_matches_those_only() -> None:
    """Another method finds nothing here, which ends as 404."""
    route = parse_route("items", ("GET", "POST"))
    assert [route.match(method, "/items") for method in ("get", "POST", "PUT")] == [{}, {}, None]


def test_route_with_an_unknown_constraint_puts_its_function_in_error() -> None:
    """A misspelt constraint must not match everything."""
    with pytest.raises(FunctionInErrorError, match="'gui' is not known"):
        parse_route("items/{id:gui}", ())
