"""rltui in a browser: python examples/browser.py LOGDIR [PORT]

Needs `pip install 'rltui[web]'`. Serves on the loopback interface only: whoever reaches the port
can do what you can do in rltui, such as reading logs and writing pictures. From another machine:

    ssh -L 8000:localhost:8000 NODE python examples/browser.py /path/to/runs

then open http://localhost:8000. Each tab of the browser is a process of its own on the node.
"""

from __future__ import annotations

import shlex
import sys

from rltui import RltuiError
from rltui.core.address import is_remote, parse_logdir


def main() -> None:
    """Serve ``rltui watch LOGDIR`` until interrupted."""
    if not 2 <= len(sys.argv) <= 3 or not all(port.isdecimal() for port in sys.argv[2:]):
        sys.exit(__doc__)
    _check(sys.argv[1])
    try:
        from textual_serve.server import Server
    except ModuleNotFoundError as error:
        sys.exit(f"browser.py: {error}; pip install 'rltui[web]'")

    port = int(sys.argv[2]) if len(sys.argv) > 2 else 8000
    if port > 65535:
        sys.exit(f"browser.py: port {port}: ports go up to 65535")
    command = shlex.join([sys.executable, "-m", "rltui", "watch", sys.argv[1]])
    try:
        Server(command, host="localhost", port=port, title="rltui").serve()
    except OSError as error:
        sys.exit(f"browser.py: port {port}: {error.strerror or error}")


def _check(logdir: str) -> None:
    """Say here what is wrong with LOGDIR: the browser would only show that the app has ended."""
    try:
        path = parse_logdir(logdir)
    except RltuiError as error:
        sys.exit(f"browser.py: {error}")
    if not is_remote(path) and not path.exists():
        sys.exit(f"browser.py: {logdir}: no such file or directory")


if __name__ == "__main__":
    main()
