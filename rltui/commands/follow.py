"""``rltui check --follow``: one line for each change of the verdict."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rltui.commands.command import emit

if TYPE_CHECKING:
    from rltui.session import Session

#: Seconds between checks of ages: a run that stalls writes nothing that would wake this loop.
_LOOK_S = 1.0


def follow(session: Session, *, json: bool) -> None:
    """Print changes until interrupted, or until all input has ended."""
    from rltui.present.output.json_document import event_line
    from rltui.present.output.text_report import event_text
    from rltui.session.event import Watcher

    news = threading.Event()
    session.on_news(news.set)
    watcher = Watcher(session)
    session.start()
    try:
        while True:
            ended = session.ended  # read first: what came before the end is still drained
            session.drain()
            session.refresh_progress()
            for event in watcher.events():
                line = event_line(event) if json else event_text(event, session.clock.now())
                emit(line + "\n")
            if ended and not session.busy and not session.unsettled:
                return
            if not session.busy:
                news.wait(_LOOK_S)
            news.clear()
    except KeyboardInterrupt:
        return
    finally:
        session.stop()
