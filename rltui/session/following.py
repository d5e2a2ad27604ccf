"""Follows a session: ``check --follow``, ``serve-metrics``, ``rltui.follow``."""

from __future__ import annotations

import threading
from collections.abc import Generator

from rltui.session.event import Event, Watcher
from rltui.session.session import Session

#: Seconds between checks of ages: a run that stalls writes nothing that would wake this loop.
_LOOK_S = 1.0


def turns(
    session: Session, stop: threading.Event | None = None, wake: threading.Event | None = None
) -> Generator[None, None, None]:
    """Start a session and yield whenever its runs are up to date, until all input has ended or
    ``stop`` is set; then end its reader.

    Yields about once a second, sooner with news or when ``wake`` is set. ``stop`` is noticed within
    a second.
    """
    news = threading.Event() if wake is None else wake
    session.on_news(news.set)
    session.start()
    try:
        while stop is None or not stop.is_set():
            ended = session.ended  # read first: what came before the end is still drained
            session.drain()
            if ended and not session.busy:
                session.finish()
            session.refresh_progress()
            yield
            if ended and not session.busy and not session.unsettled:
                return
            if not session.busy and not session.judging:
                news.wait(_LOOK_S)
            news.clear()
    finally:
        session.stop()


def changes(session: Session, stop: threading.Event | None = None) -> Generator[Event, None, None]:
    """Yield changes of the verdict; ends as :func:`turns` does."""
    watcher = Watcher(session)
    for _ in turns(session, stop):
        yield from watcher.events()
