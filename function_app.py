"""Every function of the app: triggers, routes and schedules. Nothing is decided here.

Handlers are imported inside the triggers: one failing import would remove every function from the
host, and a call for a status must not wait for an image library.
"""

import os

import azure.functions as func

from shared.web import Front

AUTH_MODE = os.environ.get("AUTH_MODE", "").strip()  # decides who may reach a route at all
OWNER = func.AuthLevel.FUNCTION if AUTH_MODE == "key" else func.AuthLevel.ANONYMOUS
ANYONE = func.AuthLevel.ANONYMOUS

app = func.FunctionApp()
front = Front(AUTH_MODE)


@app.function_name("cleanup_abandoned_drafts")
@app.timer_trigger(arg_name="timer", schedule="%CLEANUP_SCHEDULE%")
def on_cleanup(timer: func.TimerRequest) -> None:
    from cleanup_abandoned_drafts.handler import CLEANUP
    from shared.bootstrap import dependencies
    from shared.jobs import Tick, run

    run(CLEANUP, Tick.of_timer(timer.to_dict()), dependencies())


@app.function_name("repair_unattended_drafts")
@app.timer_trigger(arg_name="timer", schedule="%REPAIR_SCHEDULE%")
def on_repair(timer: func.TimerRequest) -> None:
    from cleanup_abandoned_drafts.repair import REPAIR
    from shared.bootstrap import dependencies
    from shared.jobs import Tick, run

    run(REPAIR, Tick.of_timer(timer.to_dict()), dependencies())


@app.route("wardrobe/drafts", methods=["POST"], auth_level=OWNER)
def create_drafts(req: func.HttpRequest) -> func.HttpResponse:
    from shared.api.accepting import create_drafts as handler

    return front.for_owner(req, handler)


@app.route("wardrobe/drafts/{id:guid}", methods=["GET"], auth_level=OWNER)
def get_draft(req: func.HttpRequest) -> func.HttpResponse:
    from shared.api.reading import get_draft as handler

    return front.for_owner(req, handler)


@app.route("wardrobe/drafts/status", methods=["GET"], auth_level=OWNER)
def get_draft_status(req: func.HttpRequest) -> func.HttpResponse:
    from shared.api.reading import get_draft_status as handler

    return front.for_owner(req, handler)


@app.route("wardrobe/drafts/{id:guid}/retry", methods=["POST"], auth_level=OWNER)
def retry_draft(req: func.HttpRequest) -> func.HttpResponse:
    from shared.api.retrying import retry_draft as handler

    return front.for_owner(req, handler)


@app.route("wardrobe/drafts/{id:guid}/image/{variant}", methods=["GET"], auth_level=OWNER)
def get_draft_image(req: func.HttpRequest) -> func.HttpResponse:
    from shared.api.images import get_draft_image as handler

    return front.for_owner(req, handler)


@app.route("{*rest}", auth_level=ANYONE)
def zz_not_found(req: func.HttpRequest) -> func.HttpResponse:
    from shared.api.elsewhere import not_found as handler

    return front.plain(req, handler)


@app.function_name("process_image_job")
@app.queue_trigger(arg_name="msg", queue_name="%IMAGE_JOBS_QUEUE%", connection="DRAFTS")
def on_image_job(msg: func.QueueMessage) -> None:
    from process_image_job.handler import process_image_job
    from process_image_job.tools import current_tools
    from shared.bootstrap import dependencies

    deps = dependencies()
    process_image_job(
        msg.get_body(), dequeue_count=msg.dequeue_count or 0, deps=deps, tools=current_tools
    )


@app.function_name("process_image_job_poison")
@app.queue_trigger(arg_name="msg", queue_name="%IMAGE_JOBS_POISON_QUEUE%", connection="DRAFTS")
def on_poisoned_image_job(msg: func.QueueMessage) -> None:
    from process_image_job.poison import handle_poison
    from shared.bootstrap import dependencies

    handle_poison(msg.get_body(), dequeue_count=msg.dequeue_count or 0, deps=dependencies())
