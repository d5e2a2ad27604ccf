"""``rltui serve-metrics``: verdicts for Prometheus, by a small HTTP server of one page.

The server survives garbage, slow clients and many connections. It runs an event loop in a thread of
its own and never touches a session: a request asks for the page (:attr:`MetricsServer.asked`), the
main thread renders it in :meth:`MetricsServer.answer`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent import futures
from contextlib import closing, suppress
from typing import Any

from rltui.commands.command import check_metrics, open_config, open_session, report_trouble
from rltui.commands.departure import departing
from rltui.commands.standard_output import tell
from rltui.commands.terminal import reading_pipe
from rltui.commands.verbs import Exit
from rltui.core.address import spelled_out
from rltui.core.errors import UsageError
from rltui.core.text import clean
from rltui.output.openmetrics import openmetrics
from rltui.session.event import updates

PATH = "/metrics"
HEALTH = "/healthz"
_TEXT = "text/plain; version=0.0.4; charset=utf-8"
#: What a client can ask for -> the content type of the page, whose text is the same in all.
_CONTENT = {
    "application/openmetrics-text": "application/openmetrics-text; version=1.0.0; charset=utf-8",
    **dict.fromkeys(("text/plain", "text/*", "*/*"), _TEXT),
}
#: Limits of a request: bytes of its head, seconds to send it, and connections at one time.
_HEAD_BYTES = 8192
_HEAD_S = 5.0
_MOST_CONNECTIONS = 256
#: Seconds in which the main thread must have rendered the page, and the client taken it.
_RENDER_S = 10.0
_WRITE_S = 10.0
#: Seconds in which those who have connected may take the last page.
_END_S = 2.0
#: Seconds for which one page is good for all who ask.
_FRESH_S = 1.0
#: Why a connection ends early: no request, nobody who takes the answer, or the end of the server.
_ENDINGS = (
    *(OSError, EOFError, ValueError, asyncio.TimeoutError, asyncio.LimitOverrunError),
    asyncio.CancelledError,
)


def serve_metrics(options: argparse.Namespace) -> int:
    """Serve the verdicts until interrupted, or until standard input has ended."""
    return departing(lambda _: _serve(options), sys.stderr, debugged=options.debug)


def _serve(options: argparse.Namespace) -> int:
    with reading_pipe(options):
        check_metrics(options.metrics)
        session = open_session(options, open_config(options), waits=True, partial=True)
        report_trouble(session)

        def page() -> bytes:
            return openmetrics(session, options.metrics).encode()

        try:
            with MetricsServer(options.listen) as server:
                tell(f"rltui: serving {server.url}\n")
                with closing(updates(session, wake=server.asked)) as each:
                    for _ in each:
                        if not session.busy:
                            server.answer(page)
                server.end(page)
        except KeyboardInterrupt:
            pass
        return Exit.OK


class MetricsServer:
    """Serves ``GET /metrics`` from entering the context to leaving it."""

    def __init__(self, address: tuple[str, int]) -> None:
        """``address``: host and port; port 0 takes a free one."""
        self._address = address
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="rltui-metrics", daemon=True)
        self._open = 0
        self._page: asyncio.Future[bytes] | None = None
        self._made = float("-inf")
        self._last: bytes | None = None
        self.asked = threading.Event()
        """Set when a client asks for a page that is to be rendered."""
        self.url = ""
        """Where the page is, once the context was entered."""

    # -- on the main thread ----------------------------------------------------------------

    def __enter__(self) -> MetricsServer:
        host, port = self._address
        begin = asyncio.start_server(self._serve, host, port, limit=_HEAD_BYTES, backlog=1024)
        try:
            self._server = self._loop.run_until_complete(begin)
        except (OSError, OverflowError, UnicodeError) as error:
            self._loop.close()
            reason = spelled_out(str(getattr(error, "strerror", None) or error))
            raise UsageError(f"cannot listen on {clean(host)}:{port}: {reason}") from None
        place = self._server.sockets[0].getsockname()
        shown = f"[{place[0]}]" if ":" in place[0] else place[0]
        self.url = f"http://{shown}:{place[1]}{PATH}"
        self._thread.start()

        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_HEAD_S)

    def answer(self, render: Callable[[], bytes]) -> None:
        """Render the page if a client waits for it."""
        page = self._page
        if page is None or page.done():
            return
        content = render()
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._rendered, page, content)

    def end(self, render: Callable[[], bytes]) -> None:
        """Render the page a last time, for all who have connected; returns once they have it."""
        ending = asyncio.run_coroutine_threadsafe(self._end(render()), self._loop)
        futures.wait([ending], _END_S + _HEAD_S)

    # -- on the thread ---------------------------------------------------------------------

    def _run(self) -> None:
        with suppress(RuntimeError):
            self._loop.run_forever()
        self._server.close()
        self._loop.run_until_complete(_cancelled(asyncio.all_tasks(self._loop)))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request of one connection."""
        self._open += 1
        try:
            if self._open > _MOST_CONNECTIONS:
                reply = _reply("503 Service Unavailable", b"too many connections\n")
            else:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_S)
                reply = await self._reply_to(head)
            writer.write(reply)
            writer.close()
            await asyncio.wait_for(writer.wait_closed(), _WRITE_S)
        except _ENDINGS:
            writer.transport.abort()  # what a client does not take is not kept
        finally:
            self._open -= 1

    async def _reply_to(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        target = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return _reply("405 Method Not Allowed", b"only GET\n", "Allow: GET, HEAD\r\n")
        if target == HEALTH.encode():  # also while logs are read, which may take long
            body = b"ok\n"
            kind = _TEXT
        elif target == PATH.encode():
            try:
                body = await asyncio.wait_for(self._wanted(), _RENDER_S)
                kind = _content_for(head)
            except asyncio.TimeoutError:
                return _reply("503 Service Unavailable", b"busy reading logs\n")
        else:
            return _reply("404 Not Found", f"only {PATH} and {HEALTH}\n".encode())
        reply = _reply("200 OK", body, kind=kind)

        return reply if method == b"GET" else reply[: -len(body)]

    async def _wanted(self) -> bytes:
        """The page, rendered for this request or for one shortly before."""
        if self._last is not None:
            return self._last
        page = self._page
        if page is None or (page.done() and self._loop.time() - self._made > _FRESH_S):
            page = self._page = self._loop.create_future()
            self.asked.set()
        return await asyncio.shield(page)

    async def _end(self, content: bytes) -> None:
        """Accept nobody any more, and wait for those who were."""
        self._last = content
        if self._page is not None:
            self._rendered(self._page, content)
        await asyncio.sleep(0)  # whoever has connected is accepted
        self._server.close()
        end = self._loop.time() + _END_S
        this = asyncio.current_task()
        while others := {task for task in asyncio.all_tasks() if task is not this}:
            left = end - self._loop.time()
            if left <= 0:
                return
            await asyncio.wait(others, timeout=left)

    def _rendered(self, page: asyncio.Future[bytes], content: bytes) -> None:
        self._made = self._loop.time()
        if not page.done():
            page.set_result(content)


def _content_for(head: bytes) -> str:
    """The content type that the ``Accept`` of a request prefers; text where it prefers none."""
    best = 0.0
    found = _TEXT
    for line in head.decode("latin-1").lower().split("\r\n")[1:]:
        name, _, value = line.partition(":")
        for wish in value.split(",") if name == "accept" else ():
            kind, *words = (word.strip() for word in wish.split(";"))
            parameters = dict(word.partition("=")[::2] for word in words)
            with suppress(ValueError):
                quality = float(parameters.get("q", "1"))
                if kind in _CONTENT and quality > best:
                    best = quality
                    found = _CONTENT[kind]
    return found


async def _cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)  # their connections are closed


def _reply(status: str, body: bytes, more: str = "", kind: str = "text/plain") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        f"{more}Connection: close\r\n\r\n"
    )
    return head.encode() + body
