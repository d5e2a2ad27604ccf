"""Which runs of a place are read: the session decides, for it alone knows all names."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection

from rltui.core.batch import RunKey
from rltui.remote.ray.message import Chosen


class RunChoice:
    """Answers the searches of one reader, in its thread, as the session says in another one."""

    def __init__(self, prefix: str, *, asks: bool, on_news: Callable[[], None]) -> None:
        """``prefix``: only runs whose name begins so exist; ``asks``: whether the session is asked
        which of them to read, else all are; ``on_news`` is called when a search has ended."""
        self._prefix = prefix
        self._asks = asks
        self._on_news = on_news
        self._lock = threading.Condition()
        self._chosen: frozenset[str] = frozenset()
        self._closed = False
        self._found: tuple[str, ...] | None = None
        self._question = 0

    @property
    def state(self) -> tuple[tuple[str, ...] | None, int]:
        """Names of the runs of the newest search, None before it; number of the question which of
        them to read that waits for its answer, 0 for none."""
        with self._lock:
            return self._found, self._question

    def choose(self, keys: Collection[RunKey]) -> Collection[RunKey]:
        """Those to read. Waits for the answer if these are others than before."""
        own = [key for key in keys if key.name.startswith(self._prefix)]
        found = tuple(key.name for key in own)
        with self._lock:
            news = found != self._found
            if news and self._asks:
                self._question = time.time_ns()  # not that of a reader that has ended
            self._found = found
        if news:
            self._on_news()
        if not self._asks:
            return own
        with self._lock:
            self._lock.wait_for(lambda: self._closed or not self._question)
            return [key for key in own if key.name in self._chosen]

    def take(self, chosen: Chosen) -> None:
        """Note which runs are to be read."""
        with self._lock:
            self._chosen = frozenset(chosen.runs)
            if chosen.question == self._question:
                self._question = 0
                self._lock.notify_all()

    def close(self) -> None:
        """Whoever waits waits no more."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
