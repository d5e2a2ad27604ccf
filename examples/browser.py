"""rltui in a browser: python examples/browser.py LOGDIR [PORT]

Needs `pip install 'rltui[web]'`. Serves on the loopback interface only: whoever reaches the port
can do what you can do in rltui, such as reading logs and writing pictures. From another machine:

    ssh -L 8000:localhost:8000 NODE python examples/browser.py /path/to/runs

then open http://localhost:8000. Each tab of the browser is a process of its own on the node.
"""

from __future__ import annotations

import shlex
import sys

from textual_serve.server import Server


def main() -> None:
    """Serve ``rltui watch LOGDIR`` until interrupted."""
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 8000
    command = shlex.join([sys.executable, "-m", "rltui", "watch", sys.argv[1]])
    Server(command, host="localhost", port=port, title="rltui").serve()


if __name__ == "__main__":
    main()
