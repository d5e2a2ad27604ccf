"""A web server of which each path answers as a test wants: with raw bytes, without an end."""

from __future__ import annotations

import contextlib
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

#: What a path answers: the pieces that are sent, one after the other, until the client has gone.
Answers = Callable[["Asked"], Iterable[bytes]]


class Asked:
    """One request."""

    def __init__(self, head: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = lines[0].split(" ", 2)
        parts = (line.partition(":") for line in lines[1:])
        self.headers = {name.strip().lower(): value.strip() for name, _, value in parts}


class HostileWeb(socketserver.ThreadingTCPServer):
    """Closes the connection after each answer."""

    daemon_threads = allow_reuse_address = True
    block_on_close = False

    def __init__(self, answer: Answers) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.asked: list[Asked] = []
        self.sent = 0
        """Bytes, over all answers."""
        self.over = threading.Event()
        """Set when the test is over: an answer that waits goes on."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server = self.server
        assert isinstance(server, HostileWeb)
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return
            request += line
        asked = Asked(request.strip())
        if not asked.path.endswith("/") and "." not in asked.path:  # as servers do
            self.wfile.write(head(301, Location=f"{asked.path}/", Content_Length=0))
            return
        server.asked.append(asked)
        with contextlib.suppress(OSError):
            for piece in server.answer(asked):
                self.wfile.write(piece)
                server.sent += len(piece)


@contextmanager
def hostile(answer: Answers) -> Iterator[HostileWeb]:
    """A server that answers as ``answer`` says."""
    with HostileWeb(answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


def ok(body: bytes = b"", **headers: object) -> bytes:
    """An answer with a body."""
    return head(200, **({"Content-Length": len(body)} | headers)) + body


def head(code: int, **headers: object) -> bytes:
    """The first lines of an answer."""
    given = {"Content_Type": "text/html", "Connection": "close"} | headers
    lines = [f"HTTP/1.1 {code} X", *(f"{k.replace('_', '-')}: {v}" for k, v in given.items())]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


def links(names: Iterable[str]) -> bytes:
    """A page that lists names."""
    return "".join(f'<a href="{name}">{name}</a>\n' for name in names).encode()
