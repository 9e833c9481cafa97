"""The queue worker: one message in, one draft brought to Ready or Failed."""
