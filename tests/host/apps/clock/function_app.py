"""Functions on timers that say what they were given."""

import json
import logging
import time

import azure.functions as func

app = func.FunctionApp()


def say(function: str, timer: func.TimerRequest) -> None:
    """One line with all that a timer tells."""
    facts = {
        "function": function,
        "pastDue": timer.past_due,
        "status": timer.schedule_status,
        "schedule": timer.schedule,
    }
    logging.info(json.dumps(facts))


@app.timer_trigger(arg_name="timer", schedule="* * * * * *")
def slow_second(timer: func.TimerRequest) -> None:
    """Takes longer than the time between its runs."""
    say("begin", timer)
    time.sleep(1.4)
    say("end", timer)


@app.timer_trigger(arg_name="timer", schedule="%NIGHTLY%", run_on_startup=True)
def eager(timer: func.TimerRequest) -> None:
    """Runs when the host starts."""
    say("eager", timer)


@app.timer_trigger(arg_name="timer", schedule="%NIGHTLY%")
def missed(timer: func.TimerRequest) -> None:
    """Was due while no host ran."""
    say("missed", timer)


@app.timer_trigger(arg_name="timer", schedule="*/2 * * * * *")
def failing(timer: func.TimerRequest) -> None:
    """Raises every time."""
    say("failing", timer)
    raise ValueError("on purpose")


@app.timer_trigger(arg_name="timer", schedule="* * * * * *")
def stopped(timer: func.TimerRequest) -> None:
    """Disabled by a setting."""
    say("stopped", timer)


@app.timer_trigger(arg_name="timer", schedule="every day")
def unreadable(timer: func.TimerRequest) -> None:
    """No schedule at all."""
    say("unreadable", timer)
