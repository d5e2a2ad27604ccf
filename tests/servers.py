"""Local servers that keep what they are sent: for posts, for mail."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import StreamRequestHandler, TCPServer


class Inbox(HTTPServer):
    """Keeps what is posted."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _PostHandler)
        self.bodies: list[tuple[str, str]] = []
        """(content type, body)."""
        self.answer = 200
        self.answers: list[int] = []
        """Codes of the first answers, before ``answer``."""
        self.location = ""
        """Where a redirect leads."""
        self.gets = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/secret"


class _PostHandler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.bodies.append((self.headers["Content-Type"], body))
        answers = self.server.answers
        self.send_response(answers.pop(0) if answers else self.server.answer)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()

    def do_GET(self) -> None:
        self.server.gets += 1
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class MailSink(TCPServer):
    """Keeps the mails that it is sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _MailHandler)
        self.mails: list[str] = []


class _MailHandler(StreamRequestHandler):
    """As much of RFC 5321 as a client needs to hand over a mail."""

    def handle(self) -> None:
        self.wfile.write(b"220 sink\r\n")
        for line in self.rfile:
            verb = line[:4].upper()
            if verb == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = list(iter(self.rfile.readline, b".\r\n"))
                self.server.mails.append(b"".join(lines).decode())
            self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")
            if verb == b"QUIT":
                return


@contextmanager
def receiving() -> Iterator[Inbox]:
    """A server for posts while the block runs."""
    server = Inbox()
    with _served(server):
        yield server


@contextmanager
def receiving_mail() -> Iterator[MailSink]:
    """A server for mail while the block runs."""
    server = MailSink()
    with _served(server):
        yield server


@contextmanager
def _served(server: TCPServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
