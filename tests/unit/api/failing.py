"""Storage that fails at a chosen call, before or after its effect."""

from collections.abc import Callable

from shared.domain.errors import StorageUnavailableError


def at(call: str, *, times: int = 1, skip: int = 0, unknown: bool = True) -> Callable[[str], None]:
    """Fails the chosen call `times` times, after letting it pass `skip` times."""
    seen = [0]

    def fault(made: str) -> None:
        if made != call:
            return
        seen[0] += 1
        if skip < seen[0] <= skip + times:
            raise StorageUnavailableError(unknown=unknown)

    return fault
