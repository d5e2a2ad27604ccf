"""Leaving, whatever became of the terminal.

A terminal can vanish at any time: an ssh connection drops, a multiplexer is killed, a window is
closed. Textual's writer thread then dies of its first error, the queue to it fills up, and
whoever waits for it waits for ever. :class:`Departure` surrounds the run of an app and sees to
it that the process ends, in order where that is possible and otherwise by force:

- SIGTERM and SIGHUP ask the app to exit. The exit code is 128 + the signal.
- A terminal that hangs up, or refuses what is written to it, counts as SIGHUP, also where the
  kernel sends none (no controlling terminal, a background job). What is written to it after that
  is dropped, so that no thread dies and nobody waits.
- From the signal on everything (the app, the reader thread, the verdict, the interpreter's own
  end) has :data:`GRACE_S` seconds. Then a thread that waits for nothing but the clock puts the
  terminal back as far as there is one, runs what ``atexit`` holds, and ends the process.

The thread learns of signals from a pipe that the interpreter's C handler writes to, so that it
does not depend on the main thread. It costs nothing: it sleeps in ``poll``.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable
from functools import partial
from types import FrameType, TracebackType
from typing import Any

#: What an orderly end may take after a signal.
GRACE_S = 1.5
#: What putting the terminal back may take when the end is by force: it can be blocked as well.
_TIDY_S = 0.3
_SIGNALS = (signal.SIGHUP, signal.SIGTERM)
#: Job control; a process that leaves must not be stopped by it, nor come back to the screen.
_JOB_CONTROL = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT)
#: Ends what Textual switched on: key protocol, mouse, focus, paste, resize, alternate screen.
_RESTORE = (
    b"\x1b[0m\x1b[<u\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?1004l"
    b"\x1b[?2004l\x1b[?2048l\x1b[?7h\x1b[?1049l\x1b[?25h"
)
_GONE = select.POLLHUP | select.POLLERR


class Departure:
    """Surrounds the run of an app on the main thread: ``with Departure(app.exit): app.run()``.

    ``exit_app`` is called on the main thread as ``exit_app(return_code=N)``.
    """

    def __init__(self, exit_app: Callable[..., object]) -> None:
        self._exit_app = exit_app
        self._code = 0
        self._terminal = _terminal()
        self._modes: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._pipe = (-1, -1)
        self._wakeup = -1
        self._stderr = sys.__stderr__
        self._thread = threading.Thread(target=self._watch, name="rltui-departure", daemon=True)

    @property
    def code(self) -> int:
        """128 + the signal that ended the app; 0 when none did."""
        return self._code

    def __enter__(self) -> Departure:
        if self._terminal is not None:
            with contextlib.suppress(termios.error):
                self._modes = termios.tcgetattr(self._terminal)
        self._pipe = os.pipe()
        for end in self._pipe:
            os.set_blocking(end, False)
        self._wakeup = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        for number in _SIGNALS:
            self._handlers[number] = signal.signal(number, self._leave)
        if self._stderr is not None:  # what Textual writes to
            _replace_stderr(_Output(self._stderr))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if self._code == 0 and self._terminal is not None and _is_gone(self._terminal):
            self._leave(signal.SIGHUP, None)
        if self._code:
            # The process ends: the thread, the handlers and the output stay, and what failed
            # because the terminal is gone is no error.
            return kind is not None and issubclass(kind, OSError)
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        _replace_stderr(self._stderr)
        os.close(self._pipe[1])
        self._thread.join()
        os.close(self._pipe[0])
        return False

    # -- on the main thread ----------------------------------------------------------------

    def _leave(self, number: int, frame: FrameType | None) -> None:
        """A signal: ask the app to exit."""
        del frame
        if self._code:
            return
        self._code = 128 + number
        for other in _JOB_CONTROL:
            signal.signal(other, _ignored)
        with contextlib.suppress(OSError):  # for a hang-up that was noticed without a signal
            os.write(self._pipe[1], bytes([number]))
        exit_app = partial(self._exit_app, return_code=self._code)
        try:
            asyncio.get_running_loop().call_soon_threadsafe(exit_app)
        except RuntimeError:  # not running yet, or no more
            exit_app()

    # -- on the thread ---------------------------------------------------------------------

    def _watch(self) -> None:
        """Wait for a signal, for a terminal that hangs up, or for the end of the app."""
        reader = self._pipe[0]
        poll = select.poll()
        poll.register(reader, select.POLLIN)
        if self._terminal is not None:
            poll.register(self._terminal, 0)
        while True:
            for end, events in poll.poll():
                if end != reader:
                    poll.unregister(end)
                    if events & _GONE:
                        hang_up()
                    continue
                numbers = os.read(reader, 64)
                if not numbers:
                    return
                for number in _SIGNALS:
                    if number in numbers:
                        self._end(128 + number)

    def _end(self, code: int) -> None:
        """Give an orderly end its time; it does not come back."""
        time.sleep(GRACE_S)
        tidy = threading.Thread(target=self._tidy, daemon=True)
        tidy.start()
        tidy.join(_TIDY_S)
        os._exit(code)

    def _tidy(self) -> None:
        # A background job that sets modes would be stopped.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        atexit._run_exitfuncs()
        if self._terminal is not None and not _is_gone(self._terminal):
            with contextlib.suppress(OSError, termios.error):
                if self._modes is not None:
                    termios.tcsetattr(self._terminal, termios.TCSANOW, self._modes)
                os.write(self._terminal, _RESTORE)


def hang_up() -> None:
    """The terminal is gone: what the kernel says to most, said by ourselves."""
    identity = threading.main_thread().ident
    if identity is not None:
        signal.pthread_kill(identity, signal.SIGHUP)


def say_last(text: str) -> None:
    """Write ``text`` to standard output, if that still leads anywhere."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, ValueError):
        # The interpreter flushes once more when it ends, and would turn the exit code into 120.
        with contextlib.suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            os.close(null)


class _Output:
    """A text stream that never raises for a terminal that is gone."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._dead = False

    def write(self, text: str) -> int:
        self._try(partial(self._file.write, text))
        return len(text)

    def flush(self) -> None:
        self._try(self._file.flush)

    def _try(self, action: Callable[[], object]) -> None:
        if self._dead:
            return
        try:
            action()
        except OSError:
            self._dead = True
            hang_up()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _terminal() -> int | None:
    """The descriptor of the terminal that keys come from."""
    try:
        stdin = sys.__stdin__.fileno() if sys.__stdin__ is not None else -1
        return stdin if os.isatty(stdin) else None
    except (OSError, ValueError):
        return None


def _is_gone(terminal: int) -> bool:
    poll = select.poll()
    poll.register(terminal, 0)
    return any(events & _GONE for _, events in poll.poll(0))


def _replace_stderr(file: Any) -> None:
    setattr(sys, "__stderr__", file)  # noqa: B010 - declared final, but Textual writes to it


def _ignored(number: int, frame: FrameType | None) -> None:
    """Not SIG_IGN: one that is pending would be reported as an error."""
    del number, frame
