"""Azure Tables, Blobs and Queues behind the ports. The only code that imports the Azure SDK."""
