"""Ways to find the garment in a photo; each is a `Segmenter` of `process_image_job.values`."""
