"""Every function of the app: triggers, routes and schedules. Nothing is decided here.

Handlers are imported inside the triggers: one failing import would remove every function from the
host, and a call for a status must not wait for an image library.
"""

import azure.functions as func

app = func.FunctionApp()


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
