"""Hands changes of the verdict to a command or a URL of the user.

Delivered on a thread of its own: whoever posts never waits for a slow command or server.
"""

from __future__ import annotations

import logging
import shlex
import threading
from collections import deque
from collections.abc import Callable, Hashable
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from rltui.config import HooksConfig
from rltui.core.clock import Clock
from rltui.core.level import Level
from rltui.session.child_process import ChildProcess
from rltui.session.event import Event

#: Most changes that wait; beyond that the oldest ones are dropped.
_MOST_WAITING = 200
#: Characters of an error that are shown.
_ERROR_CHARS = 200


class Message(NamedTuple):
    """One change of the verdict."""

    about: Hashable
    """Identity of the finding: a newer message about the same one replaces one that waits."""
    document: str
    """One line of JSON."""
    text: str
    """Message in one line for people."""


class Outbox:
    """Messages that are to be delivered, and when the next may go. Times are monotonic seconds."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._sent: deque[float] = deque(maxlen=per_minute)
        self.waiting: dict[Hashable, Message] = {}
        """Identity of a finding -> the newest message about it, the oldest finding first."""

    def put(self, message: Message) -> None:
        """Let a message wait, in place of an older one about the same finding."""
        self.waiting.pop(message.about, None)
        self.waiting[message.about] = message
        while len(self.waiting) > _MOST_WAITING:
            del self.waiting[next(iter(self.waiting))]

    def wait(self, now: float) -> float | None:
        """Seconds until the next message may go, 0 for at once; None when none waits."""
        if not self.waiting:
            return None
        if len(self._sent) < self._per_minute:
            return 0.0
        return max(0.0, self._sent[0] + 60.0 - now)

    def pop(self, now: float) -> Message:
        """The oldest message. Call it only when :meth:`wait` returned 0."""
        self._sent.append(now)
        return self.waiting.pop(next(iter(self.waiting)))


def open_hook(settings: HooksConfig, clock: Clock, trouble: Callable[[str], None]) -> Hook | None:
    """The hook that the user configured, or None. Starts nothing."""
    return Hook(settings, clock, trouble) if settings.on_finding else None


class Hook:
    """Owned by a command. ``trouble`` is called on the hook's thread with the first error after
    a success; later ones are the same trouble."""

    def __init__(self, settings: HooksConfig, clock: Clock, trouble: Callable[[str], None]) -> None:
        self._settings = settings
        self._clock = clock
        self._trouble = trouble
        self._outbox = Outbox(settings.per_minute)
        self._changed = threading.Condition()
        self._closing = self._failed = False
        self._thread: threading.Thread | None = None
        self._child = ChildProcess()

    def wants(self, event: Event) -> bool:
        """Whether an event is to be handed over: news, of the level that the user wants."""
        least = Level.BAD if self._settings.level == "bad" else Level.WATCH
        return event.is_news and event.finding.level >= least

    def post(self, message: Message) -> None:
        """Deliver a message soon. Does no I/O."""
        with self._changed:
            self._outbox.put(message)
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="hook", daemon=True)
            self._thread.start()

    def close(self, within_s: float) -> None:
        """Deliver what the rate allows, for at most ``within_s`` seconds, and end the thread."""
        if self._thread is None:
            return
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(within_s)
        with self._changed:
            left = len(self._outbox.waiting)
            self._outbox.waiting.clear()
        if self._thread.is_alive():
            self._child.kill()
        if left:
            self._trouble(f"hooks.on_finding: {left} not delivered")

    def _work(self) -> None:
        while (message := self._next()) is not None:
            try:
                error = self.deliver(message)
            except Exception as problem:
                logging.getLogger(__name__).debug("hook failed", exc_info=True)
                error = f"{type(problem).__name__}: {problem}"
            if error is not None and not self._failed:
                self._trouble(f"hooks.on_finding: {error}")
            self._failed = error is not None

    def _next(self) -> Message | None:
        """The next message, when it may go; None at the end."""
        with self._changed:
            while True:
                now = self._clock.monotonic()
                left = self._outbox.wait(now)
                if left == 0:
                    return self._outbox.pop(now)
                if self._closing:
                    return None
                self._changed.wait(left)

    def deliver(self, message: Message) -> str | None:
        """Deliver one message now; returns what went wrong, or None."""
        settings = self._settings
        body = message.text if settings.format == "text" else message.document
        data = body.encode("utf-8", "backslashreplace")
        if settings.url is not None:
            return _send(settings.url, data, settings)
        return self._run(data + b"\n")

    def _run(self, data: bytes) -> str | None:
        """Run the command with ``data`` on its standard input."""
        command = self._settings.on_finding
        words = shlex.split(command[0]) if len(command) == 1 else list(command)
        ended = self._child.run(words, self._settings.timeout_s, data)
        if ended.code == 0:
            return None
        code = "" if ended.code is None else f"exit code {ended.code}"
        return _short(": ".join(filter(None, (words[0], code, ended.said))))


def _send(url: str, body: bytes, settings: HooksConfig) -> str | None:
    """POST to a URL. It may hold a secret, so errors name the host only."""
    import http.client  # heavy: few users have a URL
    from urllib.request import HTTPRedirectHandler, Request, build_opener  # heavy

    class NoRedirect(HTTPRedirectHandler):
        """urllib would follow with a GET, without the message."""

        def redirect_request(self, *_: object) -> None:
            return None

    kind = "text/plain; charset=utf-8" if settings.format == "text" else "application/json"
    headers = {"Content-Type": kind, "User-Agent": "rltui"}
    host = "the server"
    try:
        host = urlsplit(url).hostname or host
        request = Request(url, body, headers, method="POST")
        with build_opener(NoRedirect).open(request, timeout=settings.timeout_s) as answer:
            answer.read(1)
    except HTTPError as error:
        error.close()
        redirect = ", a redirect: give the address that it leads to"
        return f"{host} answered {error.code}" + (redirect if 300 <= error.code < 400 else "")
    except URLError as error:
        return _short(f"{host}: {error.reason}")
    except (OSError, ValueError, http.client.HTTPException) as error:
        return _short(f"{host}: {type(error).__name__}")

    return None


def _short(text: str) -> str:
    return text[:_ERROR_CHARS]
