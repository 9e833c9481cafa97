"""The settings of an app: its settings file, overruled by the environment."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devhost.errors import FunctionInErrorError, HostError

FILES = ("local.settings.json", "local.settings.sample.json")
DEVELOPMENT_STORAGE = "UseDevelopmentStorage=true"


class UnresolvedNameError(FunctionInErrorError):
    """A `%NAME%` that no setting answers."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The environment of the host and its workers, and what is to be said about how it came."""

    environ: Mapping[str, str]
    notices: tuple[str, ...] = ()
    _folded: dict[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._folded.update({_fold(name): value for name, value in self.environ.items()})

    def get(self, name: str) -> str | None:
        """A setting by name; case does not matter, and `__` is the same as `:`."""
        return self._folded.get(_fold(name))

    def is_true(self, name: str) -> bool:
        """Whether a switch is on: `1` or `true`."""
        return (self.get(name) or "").lower() in ("1", "true")

    def resolve(self, text: str) -> str:
        """Replace every `%NAME%`. Raises FunctionInErrorError, as UnresolvedNameError if unset."""
        parts = text.split("%")
        if len(parts) % 2 == 0:
            raise FunctionInErrorError(f"The text '{text}' has a % that is not closed.")
        for index in range(1, len(parts), 2):
            value = self.get(parts[index])
            if value is None:
                raise UnresolvedNameError(f"'%{parts[index]}%' does not resolve to a value.")
            parts[index] = value
        return "".join(parts)

    def with_storage(self, connection_string: str) -> "Settings":
        """The same, with the emulator's address wherever the development storage is meant."""
        changed = {
            name: connection_string if _is_development(value) else value
            for name, value in self.environ.items()
        }
        return Settings(environ=changed, notices=self.notices)

    def needs_development_storage(self) -> bool:
        """Whether any setting means the emulator."""
        return any(_is_development(value) for value in self.environ.values())


def load(
    app: Path, environ: Mapping[str, str], *, port: int, functions: Iterable[str] = ()
) -> Settings:
    """What a function sees as its environment when the host listens on `port`.

    Raises HostError for a settings file that the Core Tools would refuse too.
    """
    values, notices = _read(app)
    own = {
        "WEBSITE_HOSTNAME": f"localhost:{port}",
        "AzureWebJobsScriptRoot": str(app),
        "AZURE_FUNCTIONS_ENVIRONMENT": "Development",
    }
    own |= {f"AzureFunctionsJobHost__functions__{n}": name for n, name in enumerate(functions)}
    defaults = {"PYTHON_ENABLE_DEBUG_LOGGING": "1"}
    notices += [
        f"Skipping '{name}' from local settings as it's already defined in current "
        "environment variables."
        for name in values
        if name in environ
    ]
    merged = {**defaults, **values, **environ, **own}
    if (runtime := merged.get("FUNCTIONS_WORKER_RUNTIME")) != "python":
        raise HostError(f"FUNCTIONS_WORKER_RUNTIME must be 'python'; it is {runtime!r}.")
    return Settings(environ=merged, notices=tuple(notices))


def _read(app: Path) -> tuple[dict[str, str], list[str]]:
    path = next((app / name for name in FILES if (app / name).is_file()), None)
    if path is None:
        return {}, []
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        values = _values(content)
    except (ValueError, TypeError, AttributeError):
        text = f"Failed to read app settings file at '{path}'. Ensure it is a valid JSON file."
        return {}, [text]
    if values and content.get("IsEncrypted", True):
        raise HostError(
            f"Failed to decrypt settings in '{path}'. "
            'Plain settings need "IsEncrypted": false beside "Values".'
        )
    return values, []


def _values(content: dict[str, Any]) -> dict[str, str]:
    values = {name: _text(value) for name, value in content.get("Values", {}).items()}
    for name, value in content.get("ConnectionStrings", {}).items():
        plain = value["ConnectionString"] if isinstance(value, dict) else value
        values[f"ConnectionStrings:{name}"] = _text(plain)
    return values


def _text(value: object) -> str:
    """Numbers and switches count as their JSON text; what is nested is no setting."""
    if isinstance(value, dict | list) or value is None:
        raise TypeError("a setting is a text")
    return value if isinstance(value, str) else json.dumps(value)


def _fold(name: str) -> str:
    return name.replace("__", ":").lower()


def _is_development(value: str) -> bool:
    return value.strip().rstrip(";").lower() == DEVELOPMENT_STORAGE.lower()
