"""Settings of notifications: bell, command, URL."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from rltui.config.setting import setting

FORMATS = ("json", "text")
ALERTS = ("off", "watch", "bad")


def _command_problem(words: tuple[str, ...]) -> str | None:
    """What is wrong with a command or URL, or None."""
    if len(words) != 1:
        return None
    scheme, colon, _ = words[0].partition("://")
    if colon and scheme.isalpha() and scheme not in ("http", "https"):
        return f"a URL begins with http:// or https://, found {scheme}://"
    try:
        return None if shlex.split(words[0]) else "must not be empty"
    except ValueError as error:
        return f"not a command: {str(error).lower()}"


@dataclass(frozen=True, slots=True)
class HooksConfig:
    """Where changes of the verdict go, besides the screen."""

    terminal: str = setting("bad", choices=ALERTS)
    """Level from which ``watch`` rings the bell and sends a notification of the terminal."""
    on_finding: tuple[str, ...] = setting((), check=_command_problem)
    """A command (one text, split like a shell does, or its words), or one URL; empty: off."""
    level: str = setting("watch", choices=("watch", "bad"))
    """Findings below this level are not handed to ``on_finding``."""
    format: str = setting("json", choices=FORMATS)
    """What is handed over: the event as JSON, or one line of text."""
    per_minute: int = setting(10, low=1, high=600)
    """Most messages in a minute; newer states of a finding replace those that wait."""
    timeout_s: float = setting(10.0, low=0.1, high=600)
    """Seconds after which a command is killed and a request given up."""

    @property
    def url(self) -> str | None:
        """``on_finding`` if it is a URL."""
        first = self.on_finding[0] if len(self.on_finding) == 1 else ""
        return first if first.startswith(("http://", "https://")) else None
