"""Reading files for a screen on a thread, so that a file system that hangs never blocks a key."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial

from textual.message import Message

from rltui.tui.screen import ShellScreen

#: Takes in what was read, on the main thread.
Take = Callable[[], None]


def start_thread(work: Callable[[], None]) -> None:
    """Call ``work`` on a thread of its own."""
    # A daemon: one that hangs on a dead file system must not keep rltui from ending.
    threading.Thread(target=work, name="rltui-files", daemon=True).start()


class ReadingScreen(ShellScreen[None]):
    """A screen that reads one thing at a time. As a second base: Textual follows the first one
    only for the style."""

    class Done(Message):
        """What was requested has been read."""

        def __init__(self, take: Take | None, error: Exception | None = None) -> None:
            super().__init__()
            self.take = take
            self.error = error

    reading = False
    """Whether something is being read."""

    def read(self, work: Callable[[], Take]) -> None:
        """Call ``work`` on a thread, what it returns on the main thread, then update."""
        self.reading = True
        start_thread(partial(self._work, work))

    def _work(self, work: Callable[[], Take]) -> None:
        try:
            message = self.Done(work())
        except Exception as error:  # noqa: BLE001 - raised where it is seen
            message = self.Done(None, error)
        with contextlib.suppress(RuntimeError):  # the loop may be closed already
            self.post_message(message)

    def on_reading_screen_done(self, message: Done) -> None:
        """Show what was read; an unexpected failure ends the app, so that it is seen."""
        self.reading = False
        if message.error is not None:
            raise message.error
        if message.take is not None and self.is_attached:
            message.take()
            self.update()
