"""A local Azure Functions host: reads an app as `func start` does and runs it the same way."""
