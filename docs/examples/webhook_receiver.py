"""A receiver of Fitting Room events: checks the signature, drops repetitions, answers fast.

EVENTS_WEBHOOK_SECRET=... python webhook_receiver.py 8080
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOLERANCE_SECONDS = 300
LARGEST_BODY = 64 * 1024


def verified(secret: str, timestamp: str, signature: str, body: bytes, now: float) -> bool:
    """Whether the body is ours, and was signed within the last five minutes."""
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    wanted = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return hmac.compare_digest(f"v1={wanted.hexdigest()}".encode(), signature.encode())


def receiver(secret: str, take: Callable[[dict[str, Any]], None]) -> type[BaseHTTPRequestHandler]:
    """A handler that gives each event to `take` once; an event may come more than once."""
    seen: set[str] = set()  # keep these in your database

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = min(int(self.headers.get("Content-Length", 0)), LARGEST_BODY)
            body = self.rfile.read(length)
            timestamp = self.headers.get("X-Fitting-Room-Timestamp", "")
            signature = self.headers.get("X-Fitting-Room-Signature", "")
            if not verified(secret, timestamp, signature, body, time.time()):
                self.send_response(401)
                self.end_headers()
                return
            event = json.loads(body)
            if event["id"] not in seen:
                take(event)
                seen.add(event["id"])
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Quiet: what matters is what `take` prints."""

    return Receiver


def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    secret = os.environ["EVENTS_WEBHOOK_SECRET"]
    server = ThreadingHTTPServer(
        ("127.0.0.1", port),
        receiver(secret, lambda event: print(event["type"], event["data"], flush=True)),
    )
    print(f"Listening on http://127.0.0.1:{port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
