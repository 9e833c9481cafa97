"""What stops the host, in words for the person who started it."""


class HostError(Exception):
    """The host cannot start or go on. Its text is shown as it is; the process ends with 1."""


class FunctionInErrorError(Exception):
    """One function cannot be used; the others are. Its text says why."""
