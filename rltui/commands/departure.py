"""The end of a verb that runs until it is told to stop, whatever became of the terminal.

A terminal can vanish at any time: an ssh connection drops, a multiplexer is killed, a window is
closed. Textual's writer thread then dies of its first error, the queue to it fills up, and
whoever waits for it waits for ever. A :class:`Departure` surrounds such a verb, from reading the
configuration to its last line, and ensures that the process ends, in order where that is
possible and otherwise by force:

- SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 (warnings of Slurm and submitit before the time is
  up) and every other signal whose default ends a process end the verb: the app exits, anything else
  is left by SystemExit. The exit code is 128 + the signal. Those of a program that fails (SIGSEGV)
  count when another process sends them; a program that did fail ends at once.
- An output that hangs up, or refuses what is written to it, counts as SIGHUP, also where the
  kernel sends none (no controlling terminal, SIGHUP ignored, a pipe that nobody reads). What an
  app writes to it after that is dropped, so that no thread dies and nobody waits.
- From the signal on everything (the app, the reader thread, the verdict, the interpreter's own
  end) has :data:`GRACE_S` seconds. Then a thread puts the terminal back, saves the view, writes the
  last line as far as there is a terminal, and runs what ``atexit`` holds; another, which waits
  for nothing but the clock, ends the process.

The thread learns of signals from a pipe that the interpreter's C handler writes to, so that it
does not depend on the main thread. It costs nothing: it sleeps in ``poll``.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any, TextIO

from rltui.commands.standard_output import discard, emit

#: Seconds that an orderly end may take after a signal.
GRACE_S = 1.2
#: Seconds of an end by force, in which every step can block; milliseconds that a full terminal has.
_FORCE_S = 0.4
_WRITE_MS = 150
_SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1)
#: Job control; a process that leaves must not be stopped by it, nor come back to the screen.
_JOB_CONTROL = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT)
#: What the processor raises: a handler would return to the instruction that failed, for ever.
_FAILURES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
#: Signals that end no process by default, and those that nobody can handle.
_HARMLESS = (
    *(*_JOB_CONTROL, signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGKILL),
    *(signal.SIGSTOP, getattr(signal, "SIGINFO", signal.SIGSTOP)),
    *(() if sys.platform == "linux" else (signal.SIGIO,)),
)
#: Ends what Textual switched on: key protocol, mouse, focus, paste, resize, alternate screen.
_RESTORE = (
    "\x1b[0m\x1b[<u\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?1004l"
    "\x1b[?2004l\x1b[?2048l\x1b[?7h\x1b[?1049l\x1b[?25h"
)
_GONE = select.POLLHUP | select.POLLERR


def departing(
    verb: Callable[[Departure], int], output: TextIO | None, *, debugged: bool = False
) -> int:
    """Run a verb that ends with its output, if that is given; returns its exit code, or 128 + the
    signal. Where it is ``debugged``, SIGUSR1 writes to the debug log."""
    code = 0
    with Departure(output, debugged=debugged) as departure:
        code = verb(departure)
    return departure.code or code


class Departure:
    """Surrounds a verb on the main thread, once in a process."""

    def __init__(self, output: TextIO | None, *, debugged: bool = False) -> None:
        """``output`` is the stream without which the verb is of no use, if there is one."""
        usual = signal.valid_signals() - {*_SIGNALS, *_HARMLESS, *_FAILURES}
        others = [int(n) for n in usual if signal.getsignal(n) == signal.SIG_DFL]
        self._signals = [*_SIGNALS, *others]
        self._failures: tuple[signal.Signals, ...] = _FAILURES
        if debugged:  # what the debug log takes
            self._signals.remove(signal.SIGUSR1)
            self._failures = ()
        self.code = 0
        """128 + the signal that ended the verb; 0 when none did."""
        self._interrupted = False
        """Whether SystemExit was raised: anywhere, such as in the middle of an import."""
        self._output = _descriptor(output)
        self._exit_app: Callable[..., object] | None = None
        self._rescue: Callable[[], str] = str
        self._modes: list[Any] | None = None
        """Modes of the terminal, once an app has run on it."""
        self._handlers: dict[int, Any] = {}
        self._deaf = False
        """Whether SIGHUP was ignored from the start, as below ``nohup``."""
        self._pipe = (-1, -1)
        self._wakeup = -1
        self._stderr = sys.__stderr__
        self._failed: int | None = None
        self._mask: set[Any] = set()
        self._failing = threading.Thread(target=self._wait_for_failure, daemon=True)
        self._thread = threading.Thread(target=self._watch, name="rltui-departure", daemon=True)
        # From Python 3.12 a process that waits for its threads starts no other: this one waits.
        self._late = threading.Event()
        self._cleaner = threading.Thread(target=self._force, daemon=True)

    def __enter__(self) -> Departure:
        self._pipe = os.pipe()
        for end in self._pipe:
            os.set_blocking(end, False)
        self._wakeup = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        self._deaf = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        for number in self._signals:
            self._handlers[number] = signal.signal(number, self._leave)
        if self._failures:
            # in all threads: one of them waits for those that another process sends
            self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._failures)
            self._failing.start()
        self._cleaner.start()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        if self.code == 0 and self._is_gone():
            self._depart(signal.SIGHUP)
        if self.code:
            # The process ends: the thread, the handlers and the output stay, and what failed
            # because the terminal is gone, or in consequence of SystemExit, is no error.
            for stream in (sys.stdout, sys.stderr):
                descriptor = _descriptor(stream)
                if descriptor is not None and _is_gone(descriptor):
                    discard(stream)
            return kind is not None and (self._interrupted or issubclass(kind, OSError))
        if self._failures and self._failing.ident is not None:
            awaited = self._failures[0]
            self._failures = ()
            signal.pthread_kill(self._failing.ident, awaited)
            self._failing.join()
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self._pipe[1])
        self._late.set()
        self._cleaner.join()
        self._thread.join()
        os.close(self._pipe[0])

        return False

    # -- on the main thread ----------------------------------------------------------------

    @contextlib.contextmanager
    def ending_by(
        self, exit_app: Callable[..., object], rescue: Callable[[], str] = str
    ) -> Iterator[None]:
        """Surrounds the run of an app, which ends by ``exit_app(return_code=N)``.

        ``rescue`` is called on another thread if it does not: it saves what is to be saved and
        returns what is still to be written.
        """
        self._exit_app = exit_app
        self._rescue = rescue
        if self._output is not None and os.isatty(self._output):
            with contextlib.suppress(termios.error):
                self._modes = termios.tcgetattr(self._output)
        if self._stderr is not None:  # what Textual writes to
            _replace_stderr(_Output(self._stderr))
        try:
            yield
        finally:
            self._exit_app = None
            if not self.code:
                self._rescue = str
                _replace_stderr(self._stderr)

    def _leave(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        del frame
        if self.code or not self._counts(number):
            return
        self._depart(self._failed or number)
        if self._exit_app is None:
            self._interrupted = True
            raise SystemExit(self.code)
        exit_app = partial(self._exit_app, return_code=self.code)
        loop = None
        if "asyncio" in sys.modules:
            with contextlib.suppress(RuntimeError):  # not running yet, or no more
                loop = sys.modules["asyncio"].get_running_loop()
        if loop is None:
            exit_app()
        else:
            loop.call_soon_threadsafe(exit_app)

    def _depart(self, number: int) -> None:
        """Begin the end: note the exit code, ignore job control, wake the thread."""
        self.code = 128 + number
        for other in _JOB_CONTROL:
            signal.signal(other, _ignored)
        with contextlib.suppress(OSError):  # for a hang-up that was noticed without a signal
            os.write(self._pipe[1], bytes([number]))

    def _counts(self, number: int) -> bool:
        """Whether a signal is meant for this process."""
        return not (number == signal.SIGHUP and self._deaf) or self._is_gone()

    def _is_gone(self) -> bool:
        return self._output is not None and _is_gone(self._output)

    # -- on threads ------------------------------------------------------------------------

    def _wait_for_failure(self) -> None:
        """Leave for a signal of a program that fails as for SIGTERM, with its exit code; or end
        with the verb."""
        number = signal.sigwait(self._failures)
        if self._failures:
            self._failed = number
            _send(signal.SIGTERM)

    def _watch(self) -> None:
        """Wait for a signal, for an output that hangs up, or for the end of the verb."""
        reader = self._pipe[0]
        poll = select.poll()
        poll.register(reader, select.POLLIN)
        if self._output is not None:
            poll.register(self._output, 0)
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
                for number in self._signals:
                    if number in numbers and self._counts(number):
                        # an orderly end has its time
                        time.sleep(GRACE_S)
                        self._late.set()
                        self._cleaner.join(_FORCE_S)
                        os._exit(128 + (self._failed or number))

    def _force(self) -> None:
        """Clean up in place of a main thread that is stuck: terminal, view, exit handlers."""
        self._late.wait()
        if not self.code:
            return
        self._write_last(_RESTORE)
        with contextlib.suppress(Exception):
            self._write_last(self._rescue())
        with contextlib.suppress(Exception):
            atexit._run_exitfuncs()

    def _write_last(self, text: str) -> None:
        """Write to the terminal, in the modes that it had, if there was one and still is."""
        if self._modes is None or self._output is None or self._is_gone():
            return
        # A background job that sets modes would be stopped.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(self._output, termios.TCSANOW, self._modes)
            room = select.poll()
            room.register(self._output, select.POLLOUT)
            if room.poll(_WRITE_MS):
                os.write(self._output, text.encode("utf-8", "backslashreplace"))


def hang_up() -> None:
    """Send SIGHUP to the main thread, as the kernel does when a terminal hangs up."""
    _send(signal.SIGHUP)


def _send(number: signal.Signals) -> None:
    identity = threading.main_thread().ident
    if identity is not None:
        signal.pthread_kill(identity, number)


def say_last(text: str) -> None:
    """Write ``text`` to standard output, if that still leads anywhere."""
    with contextlib.suppress(OSError, ValueError):
        emit(text)


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


def _descriptor(output: TextIO | None) -> int | None:
    """The descriptor of a stream; None where it has none or is closed."""
    try:
        return output.fileno() if output is not None else None
    except (OSError, ValueError):
        return None


def _is_gone(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & _GONE for _, events in poll.poll(0))


def _replace_stderr(file: Any) -> None:
    setattr(sys, "__stderr__", file)  # noqa: B010 - declared final, but Textual writes to it


def _ignored(number: int, frame: FrameType | None) -> None:
    """Do nothing. With SIG_IGN a pending signal would be reported as an error."""
    del number, frame
