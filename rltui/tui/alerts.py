"""Reports changes of the verdict to users who look elsewhere: bell, terminal, hook."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import Any

from rltui.config import HooksConfig
from rltui.core.level import Level
from rltui.core.text import kept_clean
from rltui.session import Session
from rltui.session.event import EventKind, Watcher
from rltui.session.hook import open_hook
from rltui.tui.clipboard import passed_through
from rltui.tui.shell import ShellApp

#: Seconds at the end for messages that the hook has not received: leaving is quick.
_LAST_S = 1.0
#: Characters of a notification.
_TEXT_CHARS = 200
#: Terminals (by the beginning of TERM) that know one of the two sequences, or none.
_ONLY_9 = ("xterm-kitty", "xterm-ghostty")
_ONLY_777 = ("rxvt", "foot")
_NEITHER = ("linux", "dumb", "vt")


class Alerts:
    """Rings the bell, shows notifications and calls the hook. Owned by the app."""

    def __init__(self, app: ShellApp[Any], session: Session, settings: HooksConfig) -> None:
        self._app = app
        self._watcher = Watcher(session)
        self._hook = open_hook(settings, session.clock, self._complain)
        self._least = {"watch": Level.WATCH, "bad": Level.BAD}.get(settings.terminal)

    def report(self) -> None:
        """Report what changed since the last call."""
        events = [e for e in self._watcher.events() if e.is_news]
        if not events:
            return
        from rltui.output.json_document import event_message  # heavy
        from rltui.output.text_report import event_words  # heavy

        for event in events:
            if self._hook is not None and self._hook.wants(event):
                self._hook.post(event_message(event))
        quiet = (EventKind.RESOLVED, EventKind.FINISHED)
        begun = [e for e in events if e.kind not in quiet]
        loud = [e for e in begun if self._least is not None and e.finding.level >= self._least]
        if loud:
            more = f" and {len(loud) - 1} more" if len(loud) > 1 else ""
            self._app.bell()
            self._app.write_terminal(notification(event_words(loud[0]) + more, os.environ))

    def close(self, *, hurried: bool) -> list[str]:
        """Wait briefly for messages that the hook has not received yet, less when ``hurried``;
        returns what went wrong meanwhile, which no notice shows."""
        said: list[str] = []
        if self._hook is not None:
            self._hook.trouble = said.append
            self._hook.close(_LAST_S / 2 if hurried else _LAST_S)
        return said

    def _complain(self, text: str) -> None:
        """Show a notice. Called on the thread of the hook; the loop may be closed already."""
        with contextlib.suppress(RuntimeError):
            self._app.call_later(self._app.say, text)


def notification(text: str, environ: Mapping[str, str]) -> str:
    """The control sequences with which terminals show a notification: OSC 9 and OSC 777. A
    terminal ignores the one it does not know. "" where neither can be shown."""
    text = kept_clean(text)[:_TEXT_CHARS].replace(";", ",")
    term = environ.get("TERM", "")
    sequences = []
    if not term.startswith((*_ONLY_777, *_NEITHER)):
        sequences.append(f"\x1b]9;rltui: {text}\x07")
    if not term.startswith((*_ONLY_9, *_NEITHER)):
        sequences.append(f"\x1b]777;notify;rltui;{text}\x07")
    return "".join(passed_through(sequence, environ) for sequence in sequences)
