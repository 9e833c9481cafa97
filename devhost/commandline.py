"""The options of the host, and how it is told to stop."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from devhost.console import Console
from devhost.errors import HostError
from devhost.host import Host


def run(arguments: Sequence[str]) -> int:
    """Serve until a signal; the exit code."""
    options = _parser().parse_args(arguments)
    try:
        asyncio.run(_serve(options))
    except HostError as error:
        sys.stderr.write(f"devhost: {error}\n")
        return 1
    return 0


async def _serve(options: argparse.Namespace) -> None:
    """The first signal stops in order, a second one at once."""
    host = Host(options, console=Console(verbose=options.verbose), environ=dict(os.environ))
    serving = asyncio.current_task()
    assert serving is not None

    def on_signal() -> None:
        if not host.request_stop():
            serving.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    try:
        await host.serve()
    except asyncio.CancelledError:
        sys.stderr.write("devhost: stopped at once.\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="devhost", description="A local Azure Functions host for Python apps."
    )
    parser.add_argument("--app", type=_folder, default=".", help="the app's folder")
    parser.add_argument("--port", type=_port, default=7071, help="for HTTP; 0 takes a free one")
    parser.add_argument(
        "--azurite-port",
        type=_port,
        default=10000,
        help="for blobs; queues and tables take the next two; 0 takes free ones",
    )
    parser.add_argument("--data", type=Path, help="keep the storage in this folder")
    parser.add_argument(
        "--storage",
        choices=("azurite", "external"),
        default="azurite",
        help="start Azurite, or use the accounts that the settings name",
    )
    parser.add_argument(
        "--worker-restart-delay",
        type=float,
        default=1.0,
        help="seconds before a worker that ended is replaced",
    )
    parser.add_argument("--functions", nargs="+", default=[], help="load only these")
    parser.add_argument("--verbose", action="store_true", help="print the host's own log too")
    return parser


def _folder(text: str) -> Path:
    path = Path(text).resolve()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"'{text}' is no folder")
    return path


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is no port")
    return int(text)
