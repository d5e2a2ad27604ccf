"""``rltui stream``: what a reader hands over, through a pipe to another rltui."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time

from rltui.commands.command import Exit
from rltui.commands.standard_output import tell
from rltui.core.errors import UsageError
from rltui.health.job_log import JobLogs
from rltui.remote.stream import HEARTBEAT_S, Stream
from rltui.remote.wire import WireError

#: Bytes that are read at once.
_PIECE = 1 << 18


def stream(options: argparse.Namespace) -> int:
    """Write what the reader of the logs hands over, until the other side leaves."""
    if sys.stdout.isatty():
        raise UsageError("stream is for another rltui: use `rltui watch HOST:PATH` there")
    out = os.dup(1)
    os.dup2(2, 1)  # whatever else is printed must not get into the stream

    sender = Stream(options.logdirs, lambda data: _write(out, data), JobLogs())
    threading.Thread(target=_listen, args=(sender,), daemon=True).start()
    threading.Thread(target=_beat, args=(sender,), daemon=True).start()
    try:
        sender.run()
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
    try:
        while data := os.read(0, _PIECE):
            stream.take(data)
    except (OSError, WireError) as error:
        tell(f"rltui: standard input: {error}\n")
    os._exit(Exit.OK)


def _beat(stream: Stream) -> None:
    while True:
        time.sleep(HEARTBEAT_S)
        try:
            stream.beat()
        except OSError:
            os._exit(Exit.OK)
