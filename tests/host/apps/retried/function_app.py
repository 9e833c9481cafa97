"""A timer function that has to be run again."""

import logging
import os

import azure.functions as func

app = func.FunctionApp()


@app.timer_trigger(arg_name="timer", schedule="0 0 3 * * *", run_on_startup=True)
@app.retry(strategy="fixed_delay", max_retry_count="3", delay_interval="00:00:01")
def stubborn(timer: func.TimerRequest, context: func.Context) -> None:
    """Takes its worker along, then raises, then succeeds."""
    tried = context.retry_context
    logging.info("run %s of %s", tried.retry_count, tried.max_retry_count)
    if tried.retry_count == 0:
        os._exit(3)
    if tried.retry_count == 1:
        raise ValueError("on purpose")
