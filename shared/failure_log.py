"""A request's exception as one log line: what it was and where, never what a person wrote.

The texts of foreign exceptions are left out: they like to quote the value that they met.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import PurePath

from shared import telemetry
from shared.domain.errors import IngestError


def tell(error: Exception, *, during: str) -> None:
    """Our own errors with their words; of all, the kinds and the places, outermost first."""
    chain = list(_chain(error))
    telemetry.request_failed(
        during=during,
        code=error.code if isinstance(error, IngestError) else IngestError.code,
        detail=str(error) if isinstance(error, IngestError) else None,
        error=" from ".join(type(link).__name__ for link in chain),
        where=" from ".join(_places(link) for link in chain),
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and what it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _places(error: BaseException) -> str:
    frames = traceback.walk_tb(error.__traceback__)
    return " > ".join(f"{PurePath(f.f_code.co_filename).name}:{line}" for f, line in frames)
