"""`python -m devhost`: serve the Functions app of a folder until Ctrl-C or SIGTERM."""

import sys

MINIMUM = (3, 13)


def too_old(version: tuple[int, ...]) -> str | None:
    """What to say to a Python that the worker library does not run on."""
    if version[:2] >= MINIMUM:
        return None
    needed, given = (".".join(str(part) for part in v[:2]) for v in (MINIMUM, version))
    return "devhost: Python " + needed + " or newer is needed; this is " + given + "."


def main() -> int:
    """The exit code: 0 after a stop, 1 for what is in the message, 2 for a wrong command line."""
    complaint = too_old(sys.version_info[:2])
    if complaint is not None:
        sys.stderr.write(complaint + "\n")
        return 1
    # Only now: an old Python could not read it.
    from devhost.commandline import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
