"""``rltui stream``: what a reader hands over, through a pipe to another rltui."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from rltui.commands.command import Command, Exit
from rltui.commands.standard_output import tell

if TYPE_CHECKING:
    from rltui.remote.stream import Stream

_PIECE = 1 << 18


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("logdirs", nargs="+", metavar="PATH", type=Path, help="as LOGDIR of watch")


def _run(options: argparse.Namespace) -> int:
    from rltui.core.errors import UsageError
    from rltui.health.job_log import JobLogs
    from rltui.remote.stream import Stream
    from rltui.remote.wire import WireError

    if sys.stdout.isatty():
        raise UsageError("stream is for another rltui: use `rltui watch HOST:PATH` there")
    out = os.dup(1)
    os.dup2(2, 1)  # whatever else is printed must not get into the stream

    stream = Stream(options.logdirs, lambda data: _write(out, data), JobLogs())
    threading.Thread(target=_listen, args=(stream,), daemon=True).start()
    threading.Thread(target=_beat, args=(stream,), daemon=True).start()
    try:
        stream.run()
    except BrokenPipeError:
        return Exit.OK
    except WireError as error:
        raise UsageError(f"standard input: {error}") from None
    return Exit.OK


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _listen(stream: Stream) -> None:
    """Take what the other side sends; the process ends when it does, whatever it is doing."""
    from rltui.remote.wire import WireError

    try:
        while data := os.read(0, _PIECE):
            stream.take(data)
    except (OSError, WireError) as error:
        tell(f"rltui: standard input: {error}\n")
    os._exit(Exit.OK)


def _beat(stream: Stream) -> None:
    import time

    from rltui.remote.stream import HEARTBEAT_S

    while True:
        time.sleep(HEARTBEAT_S)
        try:
            stream.beat()
        except OSError:
            os._exit(Exit.OK)


COMMAND = Command(
    "stream",
    "plumbing: send what is read to an rltui on another host, which runs this by ssh",
    "rltui stream /data/runs",
    _arguments,
    _run,
)
