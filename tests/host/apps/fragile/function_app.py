"""Functions that end, or hold up, the process they run in."""

import logging
import os
import subprocess
import sys
import time

import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)
if "BROKEN_MARK" in os.environ and os.path.exists(os.environ["BROKEN_MARK"]):
    raise RuntimeError("broken on purpose")


@app.route()
def pid(req: func.HttpRequest) -> func.HttpResponse:
    """Which process this is."""
    return func.HttpResponse(str(os.getpid()))


@app.route()
def length(req: func.HttpRequest) -> func.HttpResponse:
    """How much came."""
    return func.HttpResponse(str(len(req.get_body())))


@app.route("hold/{seconds:int}")
def hold(req: func.HttpRequest) -> func.HttpResponse:
    """Takes so long."""
    seconds = int(req.route_params["seconds"])
    logging.info("holding %s in %s", seconds, os.getpid())
    time.sleep(seconds)
    return func.HttpResponse("held")


@app.route("linger")
def linger(req: func.HttpRequest) -> func.HttpResponse:
    """Takes until there is a file with this name."""
    logging.info("lingering")
    while not os.path.exists(req.params["mark"]):
        time.sleep(0.02)
    return func.HttpResponse("lingered")


@app.route("block/{seconds:int}")
async def block(req: func.HttpRequest) -> func.HttpResponse:
    """Takes so long and lets nothing else run in its process."""
    logging.info("blocking")
    time.sleep(int(req.route_params["seconds"]))
    return func.HttpResponse("blocked")


@app.route("end/{how}")
def end(req: func.HttpRequest) -> func.HttpResponse:
    """Ends the process in one of several ways."""
    how = req.route_params["how"]
    if how == "exit":
        os._exit(7)
    if how == "system-exit":
        sys.exit(4)
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "with-child":
        subprocess.Popen(["sleep", "30"])
        os._exit(8)
    return func.HttpResponse("still here")


@app.route("end-later/{how}")
async def end_async(req: func.HttpRequest) -> func.HttpResponse:
    """The same from an async function."""
    sys.exit(5)


@app.queue_trigger(arg_name="msg", queue_name="fragile", connection="DRAFTS")
def job(msg: func.QueueMessage) -> None:
    """Ends the process at its first delivery, or takes too long then."""
    body, count = msg.get_body().decode(), msg.dequeue_count
    logging.info("job %s delivery %s", body, count)
    if count == 1 and body == "exit":
        os._exit(9)
    if count == 1 and body == "hold":
        time.sleep(30)
    logging.info("job %s done", body)
