"""A job that must not run twice, on the product's frame: each act leaves a blob of its window.

It has a retry policy, as somebody may give it one by mistake.
"""

import os
import sys
import time
import uuid

import azure.functions as func

sys.path.insert(0, os.environ["FITTING_ROOM_ROOT"])

from shared.bootstrap import dependencies
from shared.jobs import JobContext, Policy, ScheduledJob, Tick, run
from shared.records.jobruns import JobReport, JobRuns

SCHEDULE = os.environ["NEWSLETTER_SCHEDULE"]
app = func.FunctionApp()


def send_letters(context: JobContext) -> JobReport:
    """Names the window that its own run has claimed; then works until it is killed or let go."""
    runs = JobRuns(context.deps.jobruns_table).newest("newsletter")
    claimed = next(found for found in runs if found.outcome is None)
    assert claimed.window is not None
    name = f"letters/{claimed.window:%Y-%m-%dT%H:%M:%S}/{uuid.uuid4().hex}"
    context.deps.uploads.put(name, b"dear customer", content_type="text/plain")
    while context.deps.uploads.info("letting-go") is None:
        time.sleep(0.05)
    return JobReport(examined=1)


NEWSLETTER = ScheduledJob(
    name="newsletter", work=send_letters, policy=Policy.AT_MOST_ONCE, schedule=SCHEDULE
)


@app.timer_trigger(arg_name="timer", schedule="%NEWSLETTER_SCHEDULE%")
@app.retry(strategy="fixed_delay", max_retry_count="2", delay_interval="00:00:01")
def newsletter(timer: func.TimerRequest) -> None:
    run(NEWSLETTER, Tick.of_timer(timer.to_dict()), dependencies())
