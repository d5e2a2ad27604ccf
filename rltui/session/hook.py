"""Hands changes of the verdict to commands, URLs and mail addresses of the user.

Each has a thread of its own: whoever posts never waits for a slow command or server, nor does one
target for another.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shlex
import shutil
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlsplit

from rltui.config import HooksConfig
from rltui.core.clock import Clock
from rltui.core.installation import state_directory, write_private
from rltui.core.later import regex
from rltui.core.level import Level
from rltui.core.secrets import MASK, without_secrets
from rltui.core.text import Json, Names
from rltui.session.child_process import ChildProcess
from rltui.session.event import Event

#: Most changes that wait; beyond that the oldest ones are dropped.
_MOST_WAITING = 200
#: Characters of an error that are shown.
_ERROR_CHARS = 200
#: Seconds before each further attempt to deliver a message; after the last one it is lost.
_PAUSES_S = (5.0, 30.0, 120.0, 600.0)
#: Answers of a server that may be another one later, besides those from 500 on.
_PASSING = (408, 425, 429)
#: Where programs are that PATH of a user often leaves out.
_SYSTEM_PATH = "/usr/sbin:/usr/lib"


class Refusal(str):
    """An error that every further attempt would meet."""


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
        self.dropped = 0
        """Messages that gave way to newer ones."""

    def put(self, message: Message) -> None:
        """Let a message wait, in place of an older one about the same finding."""
        self.waiting.pop(message.about, None)
        self.waiting[message.about] = message
        while len(self.waiting) > _MOST_WAITING:
            del self.waiting[next(iter(self.waiting))]
            self.dropped += 1

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
    if not settings.all_targets:
        return None
    return Hook(settings, clock, trouble, state_directory(os.environ))


class Hook:
    """Hands messages to every target. Owned by a command."""

    def __init__(
        self,
        settings: HooksConfig,
        clock: Clock,
        trouble: Callable[[str], None],
        state: Path | None = None,
        pauses: Sequence[float] = _PAUSES_S,
    ) -> None:
        """``trouble``: see :class:`Delivery`; results are kept below ``state``."""
        self.settings = settings
        self.clock = clock
        self.trouble = trouble
        self.state = state
        self.pauses = pauses
        self.deliveries = [Delivery(target, self) for target in settings.all_targets]

    def wants(self, event: Event) -> bool:
        """Whether an event is to be handed over: news, of the kind and level that the user
        wants."""
        settings = self.settings
        if not event.kind.is_of_finding:
            return event.is_news and event.kind.value in settings.events
        least = Level.BAD if settings.level == "bad" else Level.WATCH
        return event.is_news and "finding" in settings.events and event.finding.level >= least

    def post(self, message: Message) -> None:
        """Deliver a message soon. Does no I/O."""
        for delivery in self.deliveries:
            delivery.post(message)

    def close(self, within_s: float) -> None:
        """Deliver what the rate allows, for at most ``within_s`` seconds, and end the threads."""
        end = self.clock.monotonic() + within_s
        for delivery in self.deliveries:
            delivery.hurry()
        for delivery in self.deliveries:
            delivery.close(max(0.0, end - self.clock.monotonic()))


class Delivery:
    """Hands messages to one target, in their order. ``trouble`` is called on its thread with the
    first error after a success; later ones are the same trouble."""

    def __init__(self, target: Names, hook: Hook) -> None:
        self._target = target
        self._hook = hook
        self._outbox = Outbox(hook.settings.per_minute)
        self._changed = threading.Condition()
        self._closing = self._failed = self._is_over = False
        self._lost = 0
        self._thread: threading.Thread | None = None
        self._child = ChildProcess()

    def post(self, message: Message) -> None:
        """Deliver a message soon. Does no I/O."""
        with self._changed:
            self._outbox.put(message)
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="hook", daemon=True)
            self._thread.start()

    def hurry(self) -> None:
        """Wait for no later attempt: nothing more will come."""
        with self._changed:
            self._closing = True
            self._changed.notify()

    def close(self, within_s: float) -> None:
        """End the thread, within so many seconds; say how much was not delivered."""
        if self._thread is None:
            return
        self._thread.join(within_s)
        with self._changed:
            left = len(self._outbox.waiting) + self._outbox.dropped + self._lost
            self._outbox.waiting.clear()
            self._is_over = True
        if self._thread.is_alive():
            left += 1  # the one that it tries to hand over
            self._child.kill()
        if left:
            self._hook.trouble(f"hooks: {left} not delivered")

    def _work(self) -> None:
        while (message := self._next()) is not None:
            error = self.attempt(message)
            for pause in self._hook.pauses:
                if error is None or isinstance(error, Refusal) or self._is_over:
                    break
                with self._changed:
                    if self._closing:
                        break
                    self._changed.wait_for(lambda: self._closing, pause)
                error = self.attempt(message)
            self._lost += error is not None

    def attempt(self, message: Message) -> str | None:
        """Deliver one message now, and keep the result; returns what went wrong, or None."""
        try:
            error = self.deliver(message)
        except Exception as problem:
            logging.getLogger(__name__).debug("hook failed", exc_info=True)
            error = f"{type(problem).__name__}: {problem}"
        if error is not None:
            error = type(error)(_BEHIND_HOST.sub(rf"\1/{MASK}", without_secrets(error)))
            if not self._failed:
                self._hook.trouble(f"hooks: {error}")
        self._failed = error is not None
        if self._hook.state is not None:
            with suppress(OSError):
                result = {"at": self._hook.clock.now(), "error": error}
                write_private(_result_path(self._hook.state, self._target), json.dumps(result))
        return error

    def _next(self) -> Message | None:
        """The next message, when it may go; None at the end."""
        with self._changed:
            while True:
                now = self._hook.clock.monotonic()
                left = self._outbox.wait(now)
                if left == 0:
                    return self._outbox.pop(now)
                if self._closing:
                    return None
                self._changed.wait(left)

    def deliver(self, message: Message) -> str | None:
        """Deliver one message now; returns what went wrong, or None."""
        settings = self._hook.settings
        first = self._target[0]
        if first.startswith(("http://", "https://")) and len(self._target) == 1:
            return _send(first, message, settings)
        words = shlex.split(first) if len(self._target) == 1 else list(self._target)
        body = message.text if settings.format == "text" else message.document
        data = body.encode("utf-8", "backslashreplace") + b"\n"
        if first.startswith("mailto:"):
            from email.message import EmailMessage  # heavy: few users have no server for this

            mail = EmailMessage()
            mail["To"], mail["Subject"] = first.partition(":")[2], message.text
            mail.set_content(message.text)
            data = bytes(mail)
            path = os.pathsep.join((os.environ.get("PATH", os.defpath), _SYSTEM_PATH))
            words = [shutil.which("sendmail", path=path) or "sendmail", "-i", "-t"]
        ended = self._child.run(words, settings.timeout_s, data)
        if ended.code == 0:
            return None
        code = "" if ended.code is None else f"exit code {ended.code}"
        program = masked_target((words[0],))
        return _short(": ".join(filter(None, (program, code, ended.said))))


#: What stands behind a host.
_BEHIND_HOST = regex(r"(https?://[^/\s]+)/[^\s'\"]*")


def _result_path(state: Path, target: Names) -> Path:
    name = hashlib.sha256("\0".join(target).encode("utf-8", "surrogatepass")).hexdigest()
    return state / "alerts" / f"{name[:16]}.json"


def masked_target(target: Names) -> str:
    """A target without its secrets: nothing behind the host of a URL, nor behind a program."""
    first = target[0]
    if first.startswith(("http://", "https://")):
        parts = urlsplit(first)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/{MASK}"
    if first.startswith("mailto:"):
        return first
    program = program_of(target)
    return program if target == (program,) else f"{program} {MASK}"


def has_service(target: Names) -> bool:
    """Whether messages go to a URL or an address of mail, not to a program."""
    return len(target) == 1 and target[0].startswith(("http://", "https://", "mailto:"))


def program_of(target: Names) -> str:
    """The program that a target names."""
    with suppress(ValueError, IndexError):  # no command, which the configuration says
        return shlex.split(target[0])[0] if len(target) == 1 else target[0]
    return target[0]


def last_result(state: Path, target: Names) -> Json | None:
    """When a target was last handed a message (``at``, seconds since the epoch), and what went
    wrong (``error``, None for nothing); None where it never was."""
    try:
        found = json.loads(_result_path(state, target).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    is_ours = isinstance(found, dict) and found.keys() >= {"at", "error"}
    return found if is_ours and isinstance(found["at"], float) else None


def request_of(url: str, message: Message, form: str) -> tuple[str, str, str]:
    """Address, body and content type that the service at a URL takes, known by its host; ``form``:
    json or text, for all others."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    document = message.document
    if host == "api.telegram.org":
        document = json.dumps({**dict(parse_qsl(parts.query)), "text": message.text})
        url = parts._replace(query="").geturl()
    elif host in ("discord.com", "discordapp.com") and not parts.path.endswith("/slack"):
        document = json.dumps({"content": message.text})
    elif form == "text" or host.startswith("ntfy."):
        return url, message.text, "text/plain; charset=utf-8"
    return url, document, "application/json"


def _send(url: str, message: Message, settings: HooksConfig) -> str | None:
    """POST to a URL. It may hold a secret, so errors name the host only."""
    import http.client  # heavy: few users have a URL
    from urllib.request import HTTPRedirectHandler, Request, build_opener  # heavy

    class NoRedirect(HTTPRedirectHandler):
        """urllib would follow with a GET, without the message."""

        def redirect_request(self, *_: object) -> None:
            return None

    host = "the server"
    try:
        host = urlsplit(url).hostname or host
        address, body, kind = request_of(url, message, settings.format)
        headers = {"Content-Type": kind, "User-Agent": "rltui"}
        data = body.encode("utf-8", "backslashreplace")
        request = Request(address, data, headers, method="POST")
        with build_opener(NoRedirect).open(request, timeout=settings.timeout_s) as answer:
            answer.read(1)
    except HTTPError as error:
        error.close()
        redirect = ", a redirect: give the address that it leads to"
        said = f"{host} answered {error.code}" + (redirect if 300 <= error.code < 400 else "")
        return said if error.code >= 500 or error.code in _PASSING else Refusal(said)
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            return f"{host}: no answer within {settings.timeout_s:g} s"
        return _short(f"{host}: {getattr(reason, 'strerror', None) or type(error).__name__}")

    return None


def _short(text: str) -> str:
    return text[:_ERROR_CHARS]
