"""The process that speaks to Ray, which the session's process starts."""

from __future__ import annotations

import os
import socket
import sys
import threading

from rltui.remote.ray.cluster import Cluster
from rltui.remote.ray.helper import serve

#: Seconds to end the actors when the session's process has ended.
_CLOSING_S = 3.0


def main() -> None:
    """Serve the session's process at the file descriptor of the command line."""
    with socket.socket(fileno=int(sys.argv[1])) as control:
        serve(control, Cluster, on_over=_end_soon)
    os._exit(0)  # whatever Ray and the threads wait for


def _end_soon() -> None:
    """End, whatever Ray waits for."""
    timer = threading.Timer(_CLOSING_S, os._exit, (0,))
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    main()
