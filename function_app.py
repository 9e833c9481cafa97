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
OPERATOR = func.AuthLevel.ADMIN

app = func.FunctionApp()
front = Front(AUTH_MODE)
# Our timers may run twice: one whose worker was lost does not wait for its next time.
run_again = app.retry(strategy="fixed_delay", max_retry_count="3", delay_interval="00:00:30")


@app.function_name("cleanup_abandoned_drafts")
@app.timer_trigger(arg_name="timer", schedule="%CLEANUP_SCHEDULE%")
@run_again
def on_cleanup(timer: func.TimerRequest) -> None:
    from cleanup_abandoned_drafts.handler import CLEANUP
    from shared.bootstrap import dependencies
    from shared.jobs import Tick, run

    run(CLEANUP, Tick.of_timer(timer.to_dict()), dependencies())


@app.function_name("repair_unattended_drafts")
@app.timer_trigger(arg_name="timer", schedule="%REPAIR_SCHEDULE%")
@run_again
def on_repair(timer: func.TimerRequest) -> None:
    from cleanup_abandoned_drafts.repair import repair_and_watch
    from shared.bootstrap import dependencies
    from shared.jobs import Tick

    repair_and_watch(Tick.of_timer(timer.to_dict()), dependencies())


@app.route("wardrobe/drafts", methods=["POST"], auth_level=OWNER)
def create_drafts(req: func.HttpRequest) -> func.HttpResponse:
    from process_image_job.inline import run_here

    return front.serve(req, "create_drafts", run=run_here)


@app.route("wardrobe/uploads", methods=["POST"], auth_level=OWNER)
def create_upload(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "create_upload")


@app.route("wardrobe/drafts/{id:guid}/submit", methods=["POST"], auth_level=OWNER)
def submit_upload(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "submit_upload")


@app.route("wardrobe/drafts/{id:guid}", methods=["GET"], auth_level=OWNER)
def get_draft(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "get_draft")


@app.route("wardrobe/drafts/status", methods=["GET"], auth_level=OWNER)
def get_draft_status(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "get_draft_status")


@app.route("wardrobe/drafts", methods=["GET"], auth_level=OWNER)
def list_drafts(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "list_drafts")


@app.route("wardrobe/drafts/{id:guid}/retry", methods=["POST"], auth_level=OWNER)
def retry_draft(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "retry_draft")


@app.route("wardrobe/drafts/{id:guid}", methods=["PATCH"], auth_level=OWNER)
def patch_draft(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "patch_draft")


@app.route("wardrobe/drafts/{id:guid}/accept", methods=["POST"], auth_level=OWNER)
def accept_draft(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "accept_draft")


@app.route("wardrobe/drafts/{id:guid}/reprocess", methods=["POST"], auth_level=OWNER)
def reprocess_draft(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "reprocess_draft")


@app.route("wardrobe/drafts/{id:guid}", methods=["DELETE"], auth_level=OWNER)
def delete_draft(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "delete_draft")


@app.route("wardrobe/drafts/{id:guid}/events", methods=["GET"], auth_level=OWNER)
def list_draft_events(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "list_draft_events")


@app.route("wardrobe/drafts/{id:guid}/image/{variant}", methods=["GET"], auth_level=OWNER)
def get_draft_image(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "get_draft_image")


@app.route("v1/wardrobe/images", methods=["POST"], auth_level=OWNER)
def create_image_v1(req: func.HttpRequest) -> func.HttpResponse:
    from process_image_job.inline import run_here

    return front.serve(req, "create_image_v1", run=run_here)


@app.route("process-image", methods=["POST"], auth_level=func.AuthLevel.FUNCTION)
def process_image(req: func.HttpRequest) -> func.HttpResponse:
    from process_image_job.inline import cut_out_here

    return front.serve(req, "process_image", cut_out=cut_out_here)


@app.route("health/live", methods=["GET"], auth_level=ANYONE)
def health_live(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "health_live")


@app.route("health/ready", methods=["GET"], auth_level=ANYONE)
def health_ready(req: func.HttpRequest) -> func.HttpResponse:
    from process_image_job.readiness import worker_usable
    from shared.bootstrap import dependencies

    return front.serve(req, "health_ready", connect=dependencies, worker_usable=worker_usable)


@app.route("ops/summary", methods=["GET"], auth_level=OPERATOR)
def ops_summary(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "ops_summary")


@app.route("ops/cleanup", methods=["POST"], auth_level=OPERATOR)
def ops_cleanup(req: func.HttpRequest) -> func.HttpResponse:
    from cleanup_abandoned_drafts.handler import run_cleanup_now

    return front.serve(req, "ops_cleanup", run_cleanup_now=run_cleanup_now)


@app.route("ops/retry-failed", methods=["POST"], auth_level=OPERATOR)
def ops_retry_failed(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "ops_retry_failed")


@app.route("ops/dead-letters", methods=["GET"], auth_level=OPERATOR)
def ops_dead_letters(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "ops_dead_letters")


@app.route("ops/dead-letters/{id}/replay", methods=["POST"], auth_level=OPERATOR)
def ops_replay_dead_letter(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "ops_replay_dead_letter")


@app.route("openapi.json", methods=["GET"], auth_level=ANYONE)
def openapi_json(req: func.HttpRequest) -> func.HttpResponse:
    from shared.bootstrap import settings

    return front.serve(req, "openapi_json", mode=AUTH_MODE, settings=settings)


@app.route("docs", methods=["GET"], auth_level=ANYONE)
def docs_page(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "docs_page")


@app.route("docs/{name}", methods=["GET"], auth_level=ANYONE)
def docs_asset(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "docs_asset")


@app.route("app", methods=["GET"], auth_level=ANYONE)
def app_page(req: func.HttpRequest) -> func.HttpResponse:
    from process_image_job.steps.palette import PALETTE
    from shared.bootstrap import settings

    return front.serve(req, "app_page", mode=AUTH_MODE, settings=settings, palette=PALETTE)


@app.route("app/{name}", methods=["GET"], auth_level=ANYONE)
def app_asset(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "app_asset", mode=AUTH_MODE)


@app.route("{*rest}", auth_level=ANYONE)
def zz_not_found(req: func.HttpRequest) -> func.HttpResponse:
    return front.serve(req, "zz_not_found")


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


@app.function_name("deliver_webhook")
@app.queue_trigger(arg_name="msg", queue_name="%WEBHOOKS_QUEUE%", connection="DRAFTS")
def on_event(msg: func.QueueMessage) -> None:
    from shared.bootstrap import dependencies
    from shared.webhooks import deliver

    deliver(msg.get_body(), dequeue_count=msg.dequeue_count or 0, deps=dependencies())


@app.function_name("deliver_webhook_poison")
@app.queue_trigger(arg_name="msg", queue_name="%WEBHOOKS_QUEUE%-poison", connection="DRAFTS")
def on_undelivered_event(msg: func.QueueMessage) -> None:
    from shared.bootstrap import dependencies
    from shared.webhooks import give_up

    give_up(msg.get_body(), dequeue_count=msg.dequeue_count or 0, deps=dependencies())
