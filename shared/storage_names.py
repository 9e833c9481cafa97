"""Names of containers, queues and tables: what Azure takes, and which of them must differ.

In one container for photos and renditions a finished run would take the photos for leftovers.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shared.settings import Settings

_CONTAINERS = ("uploads_container", "images_container")
_QUEUES = ("image_jobs_queue", "webhooks_queue", "events_queue")
_TABLES = ("drafts_table", "due_table", "jobruns_table", "deadletters_table")
_READ = ("image_jobs_queue", "webhooks_queue")  # the host names a poison queue after each
_POISON = "-poison"
_LONGEST = 63
_DASHED = re.compile("[a-z0-9]+(-[a-z0-9]+)*")  # of containers and queues
_TABLE = re.compile("[A-Za-z][A-Za-z0-9]*")


def names_fit(settings: Settings) -> str | None:
    """The settings whose names storage or the host would refuse."""
    wrong = [name for name in (*_CONTAINERS, *_QUEUES, *_TABLES) if not _fits(name, settings)]
    rules = "3 to 63 lower-case letters, digits and single dashes (tables: letters and digits)"
    more = "a queue that is read ends by no -poison and has 56 at most"
    return f"{_listed(wrong)}: must have {rules}; {more}" if wrong else None


def names_differ(settings: Settings) -> str | None:
    """The settings that name one and the same container, queue or table."""
    poison = {getattr(settings, name) + _POISON for name in _READ}
    doubled = [
        name
        for names in (_CONTAINERS, _QUEUES, _TABLES)
        for name in _doubled(names, settings, poison)
    ]
    return f"{_listed(doubled)}: must differ" if doubled else None


def _fits(name: str, settings: Settings) -> bool:
    text: str = getattr(settings, name)
    form = _TABLE if name in _TABLES else _DASHED
    longest = _LONGEST - len(_POISON) if name in _READ else _LONGEST
    poison = name in _READ and text.endswith(_POISON)
    return 3 <= len(text) <= longest and not poison and form.fullmatch(text) is not None


def _doubled(names: tuple[str, ...], settings: Settings, poison: set[str]) -> list[str]:
    """Tables are the same in any case; a poison queue is a queue as well."""
    given = {name: getattr(settings, name).lower() for name in names}
    times = Counter(given.values())
    return [name for name, text in given.items() if times[text] > 1 or text in poison]


def _listed(names: list[str]) -> str:
    return ", ".join(name.upper() for name in names)
