"""Which functions of an app can be used, and why others cannot."""

import json
from typing import Any

import pytest

from devhost.errors import HostError
from devhost.functions import Catalogue, catalogue
from devhost.settings import Settings

STORAGE = {"AzureWebJobsStorage": "cs", "DRAFTS": "cs", "JOBS": "Jobs", "EVERY": "0 0 3 * * *"}


def http(name: str, *, arg: str = "req", **extra: Any) -> dict[str, Any]:
    """A function on a route, as the worker describes it."""
    trigger = {"direction": "IN", "type": "httpTrigger", "name": arg, "route": name, **extra}
    answer = {"direction": "OUT", "type": "http", "name": "$return"}
    return described(name, trigger, answer)


def queue(name: str, *, queue_name: str = "%JOBS%", connection: str = "DRAFTS") -> dict[str, Any]:
    """A function on a queue."""
    trigger = {"type": "queueTrigger", "name": "msg", "queueName": queue_name}
    return described(name, {**trigger, "connection": connection})


def timer(name: str, schedule: str) -> dict[str, Any]:
    """A function on a schedule."""
    return described(name, {"type": "timerTrigger", "name": "timer", "schedule": schedule})


def described(name: str, *bindings: dict[str, Any]) -> dict[str, Any]:
    """Any function."""
    return {"name": name, "id": f"id-{name}", "bindings": [json.dumps(b) for b in bindings]}


def load(
    *functions: dict[str, Any], environ: dict[str, str] | None = None, **more: Any
) -> Catalogue:
    """The catalogue of these functions."""
    settings = Settings(environ=STORAGE if environ is None else environ)
    return catalogue(functions, settings, **{"prefix": "api", "only": frozenset(), **more})


def test_functions_are_in_the_order_of_their_names() -> None:
    """In any case; the first route that matches wins by it."""
    found = load(http("b"), http("C"), http("a"))
    assert [function.name for function in found.functions] == ["a", "b", "C"]


@pytest.mark.parametrize("name", ["host", "Host", "1st", "a.b", "x" * 129])
def test_function_with_a_bad_name_is_in_error(name: str) -> None:
    """A letter first, then letters, digits, dashes and underscores, 128 at most, and not `host`."""
    assert load(http(name)).errors == {name: f"'{name}' is not a valid function name."}


@pytest.mark.parametrize("name", ["a", "A-b_9", "x" * 128])
def test_function_with_a_good_name_is_loaded(name: str) -> None:
    """Any length up to 128."""
    assert load(http(name)).errors == {}


@pytest.mark.parametrize("arg", ["a__b", "1a", "a-b"])
def test_function_with_a_bad_binding_name_is_in_error(arg: str) -> None:
    """No double underscore, and it is only this function that is lost."""
    found = load(http("bad", arg=arg), http("good"))
    assert found.complaints() == [
        f"The 'bad' function is in error: The binding name {arg} is invalid. "
        "Please assign a valid name to the binding."
    ]
    assert [function.name for function in found.functions] == ["good"]


def test_function_with_an_underscore_in_a_binding_name_is_loaded() -> None:
    """Newer hosts allow single ones."""
    assert load(http("good", arg="the_request")).errors == {}


def test_function_with_two_triggers_is_in_error() -> None:
    """It needs exactly one."""
    both = [{"type": "httpTrigger", "name": "a"}, {"type": "timerTrigger", "name": "b"}]
    assert "exactly one" in load(described("both", *both)).errors["both"]


@pytest.mark.parametrize("kind", ["queue", "blob", "table"])
def test_function_with_an_output_binding_is_in_error(kind: str) -> None:
    """This host carries none, and must not lose values without a word."""
    output = {"type": kind, "name": "out", "direction": "OUT"}
    trigger = {"type": "httpTrigger", "name": "req"}
    found = load(described("writes", trigger, output))
    assert found.errors == {"writes": f"The local host has no '{kind}' binding."}


@pytest.mark.parametrize("route", ["admin", "Admin/x", "runtime/hooks"])
def test_function_on_a_built_in_route_is_in_error(route: str) -> None:
    """Whatever the prefix is."""
    found = load(http("x", route=route))
    assert "conflicts with one or more built in routes" in found.errors["x"]


def test_function_on_the_route_of_an_earlier_one_is_in_error() -> None:
    """The same template with a method in common; the later name loses."""
    found = load(http("b", route="same", methods=["GET"]), http("a", route="Same", methods=["GET"]))
    assert list(found.errors) == ["b"]


def test_functions_on_one_route_with_other_methods_are_both_loaded() -> None:
    """They cannot take each other's requests."""
    found = load(http("a", route="r", methods=["GET"]), http("b", route="r", methods=["POST"]))
    assert found.errors == {}


def test_function_without_a_route_has_its_name_as_route() -> None:
    """Also where the route is the empty text."""
    assert load(http("hello", route="")).functions[0].route == "hello"


def test_function_with_a_name_for_its_queue_is_resolved_in_lower_case() -> None:
    """Queues have no capitals."""
    trigger = load(queue("work")).functions[0].trigger
    assert (trigger["queueName"], trigger["connection"]) == ("jobs", "DRAFTS")


def test_function_on_a_queue_without_connection_uses_the_account_of_the_host() -> None:
    """The default is AzureWebJobsStorage."""
    trigger = load(queue("work", connection="")).functions[0].trigger
    assert trigger["connection"] == "AzureWebJobsStorage"


@pytest.mark.parametrize("name", ["ab", "a--b", "-ab", "ab-", "a_b", "x" * 64])
def test_function_on_a_queue_with_a_bad_name_is_in_error(name: str) -> None:
    """3 to 63 letters, digits and single dashes inside."""
    assert "is not a valid queue name" in load(queue("work", queue_name=name)).errors["work"]


def test_function_with_a_bad_schedule_is_in_error() -> None:
    """The others are loaded."""
    found = load(timer("bad", "sometimes"), timer("good", "%EVERY%"))
    assert list(found.errors) == ["bad"]
    assert found.functions[0].trigger["schedule"] == "0 0 3 * * *"


def test_function_with_an_unresolved_name_ends_the_start() -> None:
    """The message names function and setting."""
    with pytest.raises(
        HostError, match="The 'work' function is in error: '%NOPE%' does not resolve"
    ):
        load(queue("work", queue_name="%NOPE%"))


@pytest.mark.parametrize("missing", ["AzureWebJobsStorage", "DRAFTS"])
def test_function_without_its_storage_ends_the_start(missing: str) -> None:
    """Both the account of the host and that of the queue have to be there."""
    environ = {name: value for name, value in STORAGE.items() if name != missing}
    with pytest.raises(HostError, match=r"Storage account connection string 'AzureWebJobs.*'"):
        load(queue("work"), environ=environ)


def test_functions_on_routes_need_no_storage() -> None:
    """An app of HTTP triggers runs without any account."""
    assert load(http("a"), environ={}).errors == {}


@pytest.mark.parametrize("name", ["AzureWebJobs.work.Disabled", "AzureWebJobs_work_Disabled"])
@pytest.mark.parametrize(("value", "disabled"), [("1", True), ("True", True), ("0", False)])
def test_function_is_disabled_by_a_setting(name: str, value: str, disabled: bool) -> None:
    """`1` or `true`, under either spelling of the setting."""
    found = load(queue("work"), environ={**STORAGE, name: value})
    assert found.functions[0].disabled is disabled


def test_functions_that_are_not_asked_for_are_not_loaded() -> None:
    """The list of host.json, in any case."""
    found = load(http("One"), http("two"), only=frozenset({"one"}))
    assert [function.name for function in found.functions] == ["One"]
