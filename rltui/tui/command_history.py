"""The commands that were entered, in this start and in earlier ones, and their completion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rltui.core.installation import state_directory, write_private
from rltui.core.text import Names, clean, kept_clean, shared_start

#: Commands that are kept, and characters that are read of the file.
_MOST = 200
_MOST_CHARS = 100_000


class CommandHistory:
    """Oldest first. A command that is entered again moves to the end."""

    def __init__(self, path: Path | None = None) -> None:
        """``path`` None: nothing outlives the app."""
        self._path = path
        self._entries: list[str] | None = None
        """None until their first use."""
        self._at = 0
        """The entry that is shown; one past the end for what the user types."""
        self._typed = ""

    @classmethod
    def of_user(cls, environ: Mapping[str, str]) -> CommandHistory:
        """The history in the state directory."""
        return cls(state_directory(environ) / "history")

    @property
    def entries(self) -> list[str]:
        """The commands, read from the file on first use; none if it cannot be read."""
        if self._entries is None:
            self._entries = []
            if self._path is not None:
                with suppress(OSError), self._path.open("rb") as file:
                    text = file.read(_MOST_CHARS).decode(errors="replace")
                    self._keep(kept_clean(x).strip() for x in text.splitlines())
        return self._entries

    def begin(self) -> None:
        """Go behind the newest entry, before the user types."""
        self._at = len(self.entries)
        self._typed = ""

    def add(self, text: str) -> None:
        """Add a command that was entered."""
        text = clean(text).strip()
        if not text:
            return
        kept = self._keep([*self.entries, text])
        if self._path is not None:
            with suppress(OSError):
                write_private(self._path, "\n".join(kept) + "\n")

    def _keep(self, texts: Iterable[str]) -> list[str]:
        """Keep the newest without empty ones; of equal ones the last stays."""
        kept = dict.fromkeys(reversed([t for t in texts if t]))
        self._entries = list(reversed(kept))[-_MOST:]
        return self._entries

    def move(self, by: int, shown: str) -> str | None:
        """The entry before or after the one that is shown; None at the end. Past the newest one is
        what the user had typed."""
        to = self._at + by
        if not 0 <= to <= len(self.entries):
            return None
        if self._at == len(self.entries):
            self._typed = shown
        self._at = to
        return self._typed if to == len(self.entries) else self.entries[to]


class Completion:
    """Completes what is typed: first what all candidates share, then one after the other."""

    def __init__(self, offered: Iterable[str] = ()) -> None:
        """``offered``: the candidates at the beginning, of which the first is shown."""
        self._offered = tuple(offered)
        self._shown = next(iter(self._offered), None)

    def complete(self, text: str, candidates: Sequence[str]) -> str:
        """``text`` completed; unchanged when nothing fits."""
        if text == self._shown and len(self._offered) > 1:
            at = self._offered.index(text) + 1 if text in self._offered else 0
            self._shown = self._offered[at % len(self._offered)]
            return self._shown
        fitting = matching(text, candidates)
        if not fitting:
            return text
        shared = shared_start(fitting)
        self._offered, self._shown = fitting, shared if len(shared) > len(text) else fitting[0]
        return self._shown


def matching(text: str, candidates: Iterable[str]) -> Names:
    """The candidates that begin with ``text`` and have as many words."""
    words = text.count(" ")
    fitting = (c for c in dict.fromkeys(candidates) if c.rstrip().count(" ") == words)
    return tuple(c for c in fitting if c.lower().startswith(text.lower()))
