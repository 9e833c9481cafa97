"""Functions on queues that say what they were given."""

import json
import logging

import azure.functions as func

app = func.FunctionApp()


def say(function: str, msg: func.QueueMessage) -> None:
    """One line with all that is known of a message."""
    times = {
        "insertion": msg.insertion_time,
        "expiration": msg.expiration_time,
        "visible": msg.time_next_visible,
    }
    facts = {
        "function": function,
        "body": msg.get_body().decode("latin-1"),
        "id": msg.id,
        "dequeue": msg.dequeue_count,
        "receipt": msg.pop_receipt,
        **{name: time.isoformat() if time else None for name, time in times.items()},
    }
    logging.info(json.dumps(facts))


@app.queue_trigger(arg_name="msg", queue_name="%TELL_QUEUE%", connection="DRAFTS")
def tell(msg: func.QueueMessage) -> None:
    """Any text."""
    say("tell", msg)


@app.queue_trigger(arg_name="msg", queue_name="tell-later", connection="AzureWebJobsStorage")
async def tell_later(msg: func.QueueMessage) -> None:
    """The same, async."""
    say("tell_later", msg)


@app.queue_trigger(
    arg_name="msg", queue_name="tell-bytes", connection="DRAFTS", data_type=func.DataType.BINARY
)
def tell_bytes(msg: func.QueueMessage) -> None:
    """Any bytes."""
    say("tell_bytes", msg)


@app.queue_trigger(arg_name="msg", queue_name="failing", connection="DRAFTS")
def fail(msg: func.QueueMessage) -> None:
    """Never succeeds."""
    say("fail", msg)
    raise ValueError("on purpose")


@app.queue_trigger(arg_name="msg", queue_name="failing-poison", connection="DRAFTS")
def mourn(msg: func.QueueMessage) -> None:
    """Hears of what `fail` could not do."""
    say("mourn", msg)


@app.queue_trigger(arg_name="msg", queue_name="asleep", connection="DRAFTS")
def asleep(msg: func.QueueMessage) -> None:
    """Disabled by a setting."""
    say("asleep", msg)
