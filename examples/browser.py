"""rltui in a browser: python examples/browser.py LOGDIR [PORT]

Needs textual-serve, the extra `web`. From another machine, with the same port at both ends:

    ssh -L 8000:localhost:8000 NODE python examples/browser.py /path/to/runs

then open the address that is printed. It ends with the ssh session. Each tab of the browser is a
process of its own on the node.

Only the loopback interface is served, but every user of the node, and of the machine with the
browser, reaches its ports. Whoever has the page can do what you can do in rltui, such as reading
logs and writing pictures. So the page is below a secret path, anew each time: keep the address to
yourself. The page fetches nothing from elsewhere.
"""

from __future__ import annotations

import os
import re
import secrets
import select
import shlex
import signal
import sys
import threading

from rltui import RltuiError
from rltui.core.address import is_remote, parse_logdir
from rltui.core.installation import to_add

try:
    from aiohttp import web
    from textual_serve.server import Server
except ModuleNotFoundError as error:
    sys.exit(f"browser.py: {error}: {to_add('textual-serve')}")

#: Keys go to the terminal as soon as it is there.
FOCUS = """<script>
addEventListener("load", () => document.querySelector(".xterm-helper-textarea").focus())
</script></head>"""


class PrivatePage(Server):
    """textual-serve below a secret path, whose page needs nothing but this server."""

    secret = secrets.token_urlsafe(16)

    async def below_the_secret(self) -> web.Application:
        """All that is served."""
        app = web.Application()
        app.add_subapp(f"/{self.secret}/", await self._make_app())
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing yet: :func:`main` does once it listens."""

    async def handle_index(self, request: web.Request) -> web.Response:
        """The page without its web font; the browser refuses anything else from elsewhere."""
        page: web.Response = await super().handle_index(request)
        without = re.sub(r"<link[^>]*https?://[^>]*fonts[^>]*>", "", page.text or "")
        page.text = without.replace("</head>", FOCUS)
        place = self.public_url.replace("http", "ws", 1)
        page.headers["Content-Security-Policy"] = (
            f"default-src 'self' 'unsafe-inline' data:; connect-src 'self' {place}"
        )
        page.headers["Referrer-Policy"] = "no-referrer"
        return page


def main() -> None:
    """Serve ``rltui watch LOGDIR`` until interrupted, or until the terminal or ssh has gone."""
    if not 2 <= len(sys.argv) <= 3 or not all(port.isdecimal() for port in sys.argv[2:]):
        sys.exit(__doc__)
    _check(sys.argv[1])
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 8000
    if port > 65535:
        sys.exit(f"browser.py: port {port}: ports go up to 65535")
    threading.Thread(target=_end_with_the_reader, daemon=True).start()
    command = shlex.join([sys.executable, "-m", "rltui", "watch", sys.argv[1]])
    page = PrivatePage(command, host="localhost", port=port, title="rltui")
    try:
        web.run_app(
            page.below_the_secret(),
            host="localhost",
            port=port,
            shutdown_timeout=1.0,
            access_log=None,
            print=lambda _: print(f"{page.public_url}/{page.secret}/", flush=True),
        )
    except OSError as error:
        sys.exit(f"browser.py: port {port}: {error.strerror or error}")


def _end_with_the_reader() -> None:
    """End once nobody can read standard output: ssh without a terminal sends no signal."""
    output = select.poll()
    output.register(sys.stdout, 0)  # hang-ups only
    output.poll()
    os.kill(os.getpid(), signal.SIGTERM)


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
