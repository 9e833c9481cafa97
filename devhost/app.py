"""What all parts of a running host share."""

from dataclasses import dataclass

from devhost.console import Console
from devhost.functions import Catalogue
from devhost.hostjson import HostOptions
from devhost.invoker import Invoker
from devhost.settings import Settings


@dataclass(frozen=True, kw_only=True)
class App:
    """The app as it is served: its functions and how to run them, its options and settings."""

    functions: Catalogue
    invoker: Invoker
    options: HostOptions
    settings: Settings
    console: Console
    host_id: str
