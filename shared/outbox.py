"""Events out: final transitions leave by queue, at least once, after the row says them.

The event row is written in the transaction of its status change and stays `unsent` until its
message is in every queue that wants it. The writer sends; where it died, the repair does.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from shared import telemetry
from shared.domain.draft import Draft
from shared.domain.errors import ConflictError, StorageUnavailableError
from shared.domain.events import Event
from shared.ports import Queue
from shared.records.drafts import DraftStore
from shared.settings import Settings

_QUEUE_LIFE = timedelta(days=7)  # of a message for readers that are not ours
_TYPE_PREFIX = "fitting-room.draft."


class Outbox:
    """Sends the unsent events of a draft to the queues that are switched on."""

    def __init__(
        self, store: DraftStore, settings: Settings, *, webhooks: Queue, events: Queue
    ) -> None:
        self._store = store
        self._settings = settings
        self._webhooks = webhooks
        self._events = events

    def flush(self, draft: Draft, now: datetime) -> Draft:
        """Send what is unsent. Nothing raises: the due entry brings the draft up again."""
        if draft.unsent_since is None:
            return draft
        try:
            return self.send_unsent(draft, now)
        except (ConflictError, StorageUnavailableError):
            # A failed notification never fails a job; the repair sends what stays unsent.
            return draft
        except ValueError as error:  # an event's row is damaged
            telemetry.row_unreadable(kind="Event", row_key=draft.id, code=type(error).__name__)
            return draft

    def send_unsent(self, draft: Draft, now: datetime) -> Draft:
        """Send what is unsent and say so on the rows. Raises like the ports."""
        unsent = self._store.unsent_events(draft)
        for event in unsent:
            text = json.dumps(cloud_event(draft, event), separators=(",", ":"))
            if self._settings.events_webhook_url:
                self._webhooks.send(text)
            if self._settings.events_queue_enabled:
                self._events.send(text, ttl=_QUEUE_LIFE)
        return self._store.mark_sent(draft, up_to=max((e.seq for e in unsent), default=0), now=now)


def cloud_event(draft: Draft, event: Event) -> dict[str, object]:
    """CloudEvents 1.0, structured JSON; the id makes duplicates recognisable."""
    return {
        "specversion": "1.0",
        "id": f"{draft.id}/{event.seq}",
        "source": "/wardrobe/drafts",
        "type": f"{_TYPE_PREFIX}{event.type.lower()}",
        "subject": draft.id,
        "time": event.at.isoformat().replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "data": {
            "draftId": draft.id,
            "ownerId": draft.owner_id,
            "status": event.type,
            "generation": event.generation,
            "code": event.data.get("code"),
        },
    }
