"""What the text of a setting in the environment says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

_MOST = 1_000_000  # as days still a date in the calendar
_DIGITS = 20  # longer texts are not even read


def value_of(text: str, kind: type) -> Any:
    """A text, flag or whole number. Raises ValueError saying what it must be."""
    return _PARSERS[kind](text)


def is_web_address(text: str, *, schemes: tuple[str, ...] = ("http", "https")) -> bool:
    """Whether it names a scheme of these and a host."""
    try:
        parts = urlsplit(text)
    except ValueError:  # such as a bracket that is not closed
        return False
    return parts.scheme in schemes and bool(parts.netloc)


def _flag(text: str) -> bool:
    known = {"true": True, "1": True, "false": False, "0": False}
    if text.lower() not in known:
        raise ValueError("must be true or false")
    return known[text.lower()]


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError("must be a whole number, not negative")
    if len(text) > _DIGITS or int(text) > _MOST:
        raise ValueError(f"must be {_MOST} at most")
    return int(text)


_PARSERS: dict[type, Callable[[str], Any]] = {str: str, int: _whole, bool: _flag}
