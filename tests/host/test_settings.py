"""The settings file, the environment over it, and the names that stand for settings."""

import json
from pathlib import Path

import pytest

from devhost.errors import FunctionInErrorError, HostError
from devhost.settings import Settings, UnresolvedNameError, load

RUNTIME = {"FUNCTIONS_WORKER_RUNTIME": "python"}


def write(folder: Path, content: object, name: str = "local.settings.json") -> None:
    """The settings file of an app."""
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name).write_text(text, encoding="utf-8")


def test_settings_file_values_become_the_environment(tmp_path: Path) -> None:
    """Numbers and switches count as their text."""
    values = {**RUNTIME, "TEXT": "a", "NUMBER": 5, "SWITCH": True}
    write(tmp_path, {"IsEncrypted": False, "Values": values})
    found = load(tmp_path, {}, port=7071)
    assert [found.get(name) for name in ("TEXT", "NUMBER", "SWITCH")] == ["a", "5", "true"]


def test_settings_of_the_environment_win_over_the_file(tmp_path: Path) -> None:
    """And it is said which."""
    write(tmp_path, {"IsEncrypted": False, "Values": {**RUNTIME, "NAME": "file"}})
    found = load(tmp_path, {"NAME": "environment"}, port=7071)
    assert found.environ["NAME"] == "environment"
    assert found.notices == (
        "Skipping 'NAME' from local settings as it's already defined in current environment "
        "variables.",
    )


def test_settings_sample_is_read_where_there_is_no_settings_file(tmp_path: Path) -> None:
    """A clean clone runs with the sample."""
    values = {**RUNTIME, "NAME": "sample"}
    write(tmp_path, {"IsEncrypted": False, "Values": values}, "local.settings.sample.json")
    assert load(tmp_path, {}, port=7071).get("NAME") == "sample"


def test_settings_file_wins_over_the_sample(tmp_path: Path) -> None:
    """The sample is then not read at all."""
    write(tmp_path, {"IsEncrypted": False, "Values": RUNTIME})
    write(tmp_path, {"IsEncrypted": False, "Values": {"NAME": "x"}}, "local.settings.sample.json")
    assert load(tmp_path, {}, port=7071).get("NAME") is None


def test_settings_file_without_is_encrypted_is_refused(tmp_path: Path) -> None:
    """Missing means true, and plain values are then not decrypted."""
    write(tmp_path, {"Values": RUNTIME})
    with pytest.raises(HostError, match="Failed to decrypt settings"):
        load(tmp_path, {}, port=7071)


@pytest.mark.parametrize("content", ["{", {"IsEncrypted": False, "Values": {"A": {"B": "C"}}}])
def test_settings_file_that_cannot_be_read_counts_as_empty(tmp_path: Path, content: object) -> None:
    """There is a warning, and the environment alone is left."""
    write(tmp_path, content)
    found = load(tmp_path, RUNTIME, port=7071)
    assert found.get("A") is None
    assert found.notices[0].startswith("Failed to read app settings file at")


@pytest.mark.parametrize("value", ["cs", {"ConnectionString": "cs", "ProviderName": "x"}])
def test_settings_connection_strings_are_found_under_their_group(
    tmp_path: Path, value: object
) -> None:
    """As a text, or as an object with a provider."""
    content = {"IsEncrypted": False, "Values": RUNTIME, "ConnectionStrings": {"Main": value}}
    write(tmp_path, content)
    assert load(tmp_path, {}, port=7071).get("ConnectionStrings:Main") == "cs"


def test_settings_of_the_host_itself_are_added(tmp_path: Path) -> None:
    """The environment is Development, whatever was said, and the address and folder are known."""
    given = {**RUNTIME, "AZURE_FUNCTIONS_ENVIRONMENT": "Production"}
    found = load(tmp_path, given, port=7072, functions=["a", "b"])
    assert found.get("AZURE_FUNCTIONS_ENVIRONMENT") == "Development"
    assert found.get("WEBSITE_HOSTNAME") == "localhost:7072"
    assert found.get("AzureWebJobsScriptRoot") == str(tmp_path)
    assert found.get("AzureFunctionsJobHost:functions:1") == "b"


def test_settings_turn_on_debug_logging_unless_told_otherwise(tmp_path: Path) -> None:
    """The host filters, so the worker sends everything."""
    told = {**RUNTIME, "PYTHON_ENABLE_DEBUG_LOGGING": "0"}
    values = [
        load(tmp_path, given, port=1).get("PYTHON_ENABLE_DEBUG_LOGGING")
        for given in (RUNTIME, told)
    ]
    assert values == ["1", "0"]


def test_settings_without_the_python_runtime_are_refused(tmp_path: Path) -> None:
    """The runtime has to be named."""
    with pytest.raises(HostError, match="FUNCTIONS_WORKER_RUNTIME must be 'python'"):
        load(tmp_path, {}, port=7071)


def test_settings_are_found_in_any_case_and_with_either_separator() -> None:
    """`__` in an environment variable is `:` in a name."""
    settings = Settings(environ={"Jobs__Queue": "q"})
    assert settings.get("JOBS:queue") == "q"


def test_settings_resolve_every_name_in_a_text() -> None:
    """Any number of names, anywhere in the text."""
    settings = Settings(environ={"A": "1", "B": "2"})
    assert settings.resolve("x-%A%-%b%") == "x-1-2"


def test_settings_do_not_resolve_a_name_that_is_not_set() -> None:
    """The message names it."""
    with pytest.raises(UnresolvedNameError, match="'%MISSING%' does not resolve to a value"):
        Settings(environ={}).resolve("%MISSING%")


def test_settings_do_not_resolve_an_open_name() -> None:
    """A single % is an error of form."""
    with pytest.raises(FunctionInErrorError, match="not closed"):
        Settings(environ={"A": "1"}).resolve("%A% and %")


def test_settings_point_the_development_storage_at_the_emulator() -> None:
    """Every setting that is exactly that, and no other."""
    settings = Settings(environ={"A": "UseDevelopmentStorage=true", "B": "AccountName=real"})
    assert settings.with_storage("there").environ == {"A": "there", "B": "AccountName=real"}
