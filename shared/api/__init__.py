"""The HTTP API: plain requests in, plain answers out. Nothing here knows the Functions host."""
