"""A change of one's own draft, tried again where somebody else wrote meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from shared.api.exchange import Request, not_found
from shared.dependencies import Dependencies
from shared.domain.draft import Draft
from shared.domain.errors import ConflictError, StorageUnavailableError
from shared.domain.events import Event

type Change = Callable[[Draft], tuple[Draft, Event] | None]

_RACES = 20  # a run writes half a dozen times, each in the time of one read and write of ours


def own_draft(request: Request, deps: Dependencies) -> Draft:
    """The caller's draft of this route. Raises RequestError (404).

    A damaged row is not found, as in a batch and in the list; the log names it.
    """
    draft_id = request.path.get("id", "")
    draft = deps.store.find_many(request.owner_id, [draft_id]).get(draft_id)
    if draft is None:
        raise not_found()
    return draft


def change_own(request: Request, deps: Dependencies, change: Change) -> Draft:
    """Apply `change` to the caller's draft and store it, with its event, in one write.

    `change` gives None where nothing is to do. Raises RequestError (404), what `change` raises,
    or StorageUnavailableError.
    """

    def step() -> Draft:
        draft = own_draft(request, deps)
        wanted = change(draft)
        if wanted is None:
            return draft
        after, event = wanted
        return deps.store.save(draft, after, event, now=deps.clock())

    return settle(step)


def settle[T](step: Callable[[], T]) -> T:
    """Do `step` until no other writer comes first. Raises StorageUnavailableError (503)."""
    for _ in range(_RACES):
        try:
            return step()
        except ConflictError:
            continue
    raise StorageUnavailableError("The draft kept changing. Try again.", unknown=False)
