"""Events to the subscriber's address: signed, one POST a delivery, retried by the queue alone.

draft-webhooks ──▶ POST ──2xx──▶ done
                    │ else: raise, the host delivers again after `visibilityTimeout`
                    └── at `maxDequeueCount`: draft-webhooks-poison ──▶ dead letter
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping

from shared.dependencies import Dependencies
from shared.domain.errors import TransientError
from shared.records.deadletters import DeadLetter, name_of_bytes

TIMESTAMP = "X-Fitting-Room-Timestamp"
SIGNATURE = "X-Fitting-Room-Signature"
MALFORMED, UNDELIVERED = "MALFORMED", "WEBHOOK_UNDELIVERED"
_CONTENT_TYPE = "application/cloudevents+json"
_TIMEOUTS = (5, 10)  # seconds to connect, and between two bytes of the answer
_GOOD = range(200, 300)

type Post = Callable[[str, bytes, Mapping[str, str]], int]


class WebhookError(TransientError):
    """The subscriber did not answer with 2xx; the queue delivers again."""

    code = UNDELIVERED
    public_message = "The subscriber did not take the event."


def deliver(
    body: bytes, *, dequeue_count: int, deps: Dependencies, post: Post | None = None
) -> None:
    """One attempt. Raises WebhookError for anything but 2xx.

    Where no address is set any more nobody waits for the event; what is no event is kept as a
    dead letter at once.
    """
    if not _is_event(body):
        queue = deps.settings.webhooks_queue
        _keep(body, MALFORMED, "not a CloudEvent", queue, dequeue_count, deps)
        return
    url = deps.settings.events_webhook_url
    if not url:
        return
    stamp = str(int(deps.clock().timestamp()))
    headers = {
        "Content-Type": _CONTENT_TYPE,
        TIMESTAMP: stamp,
        SIGNATURE: signature(deps.settings.events_webhook_secret, stamp, body),
    }
    status = (post or _post)(url, body, headers)
    if status not in _GOOD:
        raise WebhookError(f"The subscriber answered {status}.")


def give_up(body: bytes, *, dequeue_count: int, deps: Dependencies) -> None:
    """The host has tried often enough: kept for inspection and replay."""
    queue = deps.settings.webhooks_poison_queue
    _keep(body, UNDELIVERED, "given up by the host", queue, dequeue_count, deps)


def signature(secret: str, stamp: str, body: bytes) -> str:
    """`v1=` and the hex HMAC-SHA256 of `<stamp>.<body>`."""
    signed = hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256)
    return f"v1={signed.hexdigest()}"


def _is_event(body: bytes) -> bool:
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(event, dict) and event.get("specversion") == "1.0" and "id" in event


def _keep(
    body: bytes, code: str, reason: str, queue: str, dequeue_count: int, deps: Dependencies
) -> None:
    """Named by the body, so that saying it twice keeps one letter of the second."""
    letter = DeadLetter(
        at=deps.clock(),
        queue=queue,
        reason=reason,
        code=code,
        body=body,
        dequeue_count=dequeue_count,
    )
    deps.letters.keep(letter, name=name_of_bytes(body))


def _post(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """The status of the answer; redirects are not followed. Raises WebhookError.

    Its body is nothing to us and not waited for: it may have no end.
    """
    import requests

    try:
        with requests.post(
            url,
            data=body,
            headers=dict(headers),
            timeout=_TIMEOUTS,
            stream=True,
            allow_redirects=False,
        ) as answer:
            return answer.status_code
    except requests.RequestException as error:
        # Not `from error`: its text holds the address, in whose query a secret may stand.
        raise WebhookError(f"The subscriber cannot be reached: {type(error).__name__}") from None
