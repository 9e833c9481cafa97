"""Alarms about the scheduled work: late, at the wrong time, or unable to delete."""

from __future__ import annotations

from tests.infra.alarm_case import EVENTS, HOUR, JOBS, began, deletion, depth, night, rings, silent
from tests.infra.kql_rows import line

CASES = [
    rings(
        "cleanup-lag",
        "last success 26 hours ago",
        [night(26 * HOUR), night(60, "failed"), depth(JOBS, 0, 27 * HOUR)],
    ),
    rings(
        "cleanup-lag",
        "never, though the app lives long",
        [depth(JOBS, 0, 26 * HOUR), depth(JOBS, 0, 5)],
    ),
    rings(
        "cleanup-lag",
        "a partial run left work over",
        [night(30 * HOUR), night(60, "partial", remaining=4)],
    ),
    rings(
        "cleanup-lag",
        "only the repair succeeded",
        [depth(JOBS, 0, 26 * HOUR), night(5, job="repair_unattended_drafts")],
    ),
    silent(
        "cleanup-lag", "last success 24 hours ago", [night(24 * HOUR), depth(JOBS, 0, 47 * HOUR)]
    ),
    silent(
        "cleanup-lag",
        "a partial run that finished",
        [night(30 * HOUR), night(60, "partial", remaining=0)],
    ),
    silent("cleanup-lag", "a new app's first day", [depth(JOBS, 0, 10 * HOUR)]),
    rings("cron-drift", "six minutes late", [began(360)]),
    rings("cron-drift", "six minutes early", [began(-360)]),
    rings("cron-drift", "the host says it is late", [began(10, past_due=True)]),
    rings("cron-drift", "late by the host's word, plan unknown", [began(None, past_due=True)]),
    silent("cron-drift", "ten seconds late", [began(10)]),
    silent("cron-drift", "plan unknown", [began(None)]),
    silent("cron-drift", "an operator's run", [began(9000, trigger="operator")]),
    rings(
        "blob-delete-failed",
        "our word",
        [line(EVENTS, "blob_delete_failed", errorCode="LeaseIdMissing")],
    ),
    rings("blob-delete-failed", "the service's word", [deletion("412", "LeaseIdMissing")]),
    silent("blob-delete-failed", "gone already", [deletion("404", "BlobNotFound")]),
    silent(
        "blob-delete-failed",
        "deletions that went well",
        [
            deletion("202", "Success"),
            deletion("409", "ContainerBeingDeleted", "DeleteContainer"),
        ],
    ),
]
