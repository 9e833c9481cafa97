"""One step of the image pipeline per module; `process_image_job.pipeline` is their list."""
