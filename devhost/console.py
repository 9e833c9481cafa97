"""What the host prints: a time in front, the message as it came behind it."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime

from devhost.hostjson import INFORMATION, LEVELS

WARNING, ERROR = LEVELS.index("warning"), LEVELS.index("error")
# What functions print; like their log it is shown from Information up.
PRINTED = "Host.Function.Console"


class Console:
    """Lines of functions show from Information up, the host's own from Warning up."""

    def __init__(self, *, verbose: bool = False) -> None:
        self.verbose = verbose
        self.log_level: Callable[[str], int] = lambda _category: INFORMATION

    def write(self, line: str) -> None:
        """As it is, whatever the level."""
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def log(self, category: str, level: int, message: str) -> None:
        """With the time, if the level of the category lets it through."""
        lowest = self.log_level(category)
        if not self.verbose and not category.startswith(("Function.", PRINTED)):
            lowest = max(lowest, WARNING)
        if level >= lowest:
            now = datetime.now(UTC)
            self.write(f"[{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03}Z] {message}")
