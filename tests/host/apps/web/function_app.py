"""Functions on routes that show how requests, answers and logs pass the host."""

import asyncio
import json
import logging
import os
import sys
import threading

import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
logging.info("imported")


def as_json(value: object) -> func.HttpResponse:
    """The value as an answer."""
    return func.HttpResponse(json.dumps(value), mimetype="application/json")


@app.route("echo/{*rest}")
def echo(req: func.HttpRequest) -> func.HttpResponse:
    """The request as the function sees it."""
    return as_json(
        {
            "method": req.method,
            "url": req.url,
            "headers": dict(req.headers),
            "query": dict(req.params),
            "route": dict(req.route_params),
            "body": req.get_body()[:100].decode("latin-1"),
            "length": len(req.get_body()),
        }
    )


@app.function_name("a_item")
@app.route("items/{id}", methods=["GET"])
def item(req: func.HttpRequest) -> func.HttpResponse:
    """Its name comes before that of `special`, so it takes that one's requests."""
    return func.HttpResponse("item")


@app.function_name("b_special")
@app.route("items/special", methods=["GET", "DELETE"])
def special(req: func.HttpRequest) -> func.HttpResponse:
    """Reached only by the method that `item` does not answer."""
    return func.HttpResponse("special")


@app.route("things/{id:guid}", methods=["GET"])
def thing(req: func.HttpRequest) -> func.HttpResponse:
    """Only for ids."""
    return func.HttpResponse(req.route_params["id"])


@app.route()
def unrouted(req: func.HttpRequest) -> func.HttpResponse:
    """On the route of its own name, with every method."""
    return func.HttpResponse(req.method)


@app.route()
def off(req: func.HttpRequest) -> func.HttpResponse:
    """Disabled by a setting."""
    logging.info("off was run")
    return func.HttpResponse("on")


@app.route(trigger_arg_name="my__req")
def bad_binding(my__req: func.HttpRequest) -> func.HttpResponse:
    """Its binding has a name that the host does not take."""
    return func.HttpResponse("never")


@app.route("echo/{*rest}")
def zz_twin(req: func.HttpRequest) -> func.HttpResponse:
    """On the route of another function."""
    return func.HttpResponse("never")


@app.route()
def fails(req: func.HttpRequest) -> func.HttpResponse:
    """Raises."""
    raise ValueError("on purpose")


@app.route()
def nothing(req: func.HttpRequest) -> func.HttpResponse:
    """Returns no response."""
    return None  # type: ignore[return-value]


@app.route()
def text(req: func.HttpRequest) -> str:
    """A plain text, the one that came."""
    return req.get_body().decode()


@app.route("status/{code:int}")
def status(req: func.HttpRequest) -> func.HttpResponse:
    """An answer of the function's own with that status and no body."""
    return func.HttpResponse(status_code=int(req.route_params["code"]))


@app.route()
def blob(req: func.HttpRequest) -> func.HttpResponse:
    """Every byte there is."""
    return func.HttpResponse(bytes(range(256)) * 4, mimetype="application/octet-stream")


@app.route()
def cookie(req: func.HttpRequest) -> func.HttpResponse:
    """Two cookies."""
    answer = func.HttpResponse("ok")
    answer.headers.add("Set-Cookie", "a=b; Path=/; Max-Age=5; HttpOnly; SameSite=Lax")
    answer.headers.add("Set-Cookie", "c=d; Secure")
    return answer


@app.route()
def trace(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    """Where the run belongs."""
    return as_json(
        {
            "parent": context.trace_context.Traceparent,
            "state": context.trace_context.Tracestate,
            "id": context.invocation_id,
            "name": context.function_name,
        }
    )


@app.route()
def environment(req: func.HttpRequest) -> func.HttpResponse:
    """What the functions find around them."""
    found = dict(os.environ)
    return as_json({"environ": found, "cwd": os.getcwd(), "path": sys.path[0], "pid": os.getpid()})


@app.route()
def chatter(req: func.HttpRequest) -> func.HttpResponse:
    """Says things in every way."""
    logging.debug("a debug line")
    logging.info(json.dumps({"event": "chatter", "umlaut": "ü"}))
    logging.getLogger("some.library").warning("a library warns")
    print("a printed line")
    print("a line on stderr", file=sys.stderr)
    return func.HttpResponse("ok")


@app.route()
def quiet(req: func.HttpRequest) -> func.HttpResponse:
    """Its log is filtered by host.json."""
    logging.info("a quiet line")
    logging.warning("a loud line")
    return func.HttpResponse("ok")


@app.route()
async def later(req: func.HttpRequest) -> func.HttpResponse:
    """Logs in an async run, and once more when the run is over."""
    logging.info("while it runs")
    running = asyncio.get_running_loop()
    running.call_later(0.2, logging.info, "after its end")
    running.call_later(0.4, sys.stderr.write, "the loop goes on\n")
    return func.HttpResponse("ok")


@app.route()
def threads(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    """Logs from a thread of its own that says whose it is."""

    def work() -> None:
        context.thread_local_storage.invocation_id = context.invocation_id
        logging.info("from a thread")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return func.HttpResponse("ok")


MEETING = threading.Barrier(3)


@app.route()
def meet(req: func.HttpRequest) -> func.HttpResponse:
    """Ends when three runs of it are under way at once."""
    MEETING.wait(timeout=20)
    return func.HttpResponse("met")
