"""Alarms about the scheduled work: late, at the wrong time, or unable to delete."""

from __future__ import annotations

from tests.infra.alarm_case import EVENTS, HOUR, JOBS, Case, began, deletion, depth, night
from tests.infra.kql_rows import line

CASES = [
    Case(
        rule="cleanup-lag",
        situation="last success 26 hours ago",
        rings=True,
        rows=[night(26 * HOUR), night(60, "failed"), depth(JOBS, 0, 27 * HOUR)],
    ),
    Case(
        rule="cleanup-lag",
        situation="never, though the app lives long",
        rings=True,
        rows=[depth(JOBS, 0, 26 * HOUR), depth(JOBS, 0, 5)],
    ),
    Case(
        rule="cleanup-lag",
        situation="a partial run left work over",
        rings=True,
        rows=[night(30 * HOUR), night(60, "partial", remaining=4)],
    ),
    Case(
        rule="cleanup-lag",
        situation="only the repair succeeded",
        rings=True,
        rows=[depth(JOBS, 0, 26 * HOUR), night(5, job="repair_unattended_drafts")],
    ),
    Case(
        rule="cleanup-lag",
        situation="last success 24 hours ago",
        rings=False,
        rows=[night(24 * HOUR), depth(JOBS, 0, 47 * HOUR)],
    ),
    Case(
        rule="cleanup-lag",
        situation="a partial run that finished",
        rings=False,
        rows=[night(30 * HOUR), night(60, "partial", remaining=0)],
    ),
    Case(
        rule="cleanup-lag",
        situation="a new app's first day",
        rings=False,
        rows=[depth(JOBS, 0, 10 * HOUR)],
    ),
    Case(rule="cron-drift", situation="six minutes late", rings=True, rows=[began(360)]),
    Case(rule="cron-drift", situation="six minutes early", rings=True, rows=[began(-360)]),
    Case(
        rule="cron-drift",
        situation="the host says it is late",
        rings=True,
        rows=[began(10, past_due=True)],
    ),
    Case(
        rule="cron-drift",
        situation="late by the host's word, plan unknown",
        rings=True,
        rows=[began(None, past_due=True)],
    ),
    Case(rule="cron-drift", situation="ten seconds late", rings=False, rows=[began(10)]),
    Case(rule="cron-drift", situation="plan unknown", rings=False, rows=[began(None)]),
    Case(
        rule="cron-drift",
        situation="an operator's run",
        rings=False,
        rows=[began(9000, trigger="operator")],
    ),
    Case(
        rule="blob-delete-failed",
        situation="our word",
        rings=True,
        rows=[line(EVENTS, "blob_delete_failed", errorCode="LeaseIdMissing")],
    ),
    Case(
        rule="blob-delete-failed",
        situation="the service's word",
        rings=True,
        rows=[deletion("412", "LeaseIdMissing")],
    ),
    Case(
        rule="blob-delete-failed",
        situation="gone already",
        rings=False,
        rows=[deletion("404", "BlobNotFound")],
    ),
    Case(
        rule="blob-delete-failed",
        situation="deletions that went well",
        rings=False,
        rows=[
            deletion("202", "Success"),
            deletion("409", "ContainerBeingDeleted", "DeleteContainer"),
        ],
    ),
]
