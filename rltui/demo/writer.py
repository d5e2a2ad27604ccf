"""Appends steps to a demo run in the background: one thread that waits and writes."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rltui.demo.demo_run import DemoRun

#: ``wait(seconds)`` returns True when the wait was cut short because the writer is to stop.
Wait = Callable[[float], bool]


class DemoWriter:
    """Owns ``run`` between :meth:`start` and :meth:`stop`; it must not be used elsewhere then."""

    def __init__(self, run: DemoRun, *, wait: Wait | None = None) -> None:
        self._run = run
        self._stopping = threading.Event()
        self._wait = wait or self._stopping.wait
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    @property
    def running(self) -> bool:
        """Whether steps are still being written."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, speed: float = 1.0) -> None:
        """Start writing; at speed 1 a step takes the second or so that it logs as its duration.

        Raises ValueError when ``speed`` is not positive.
        """
        if not speed > 0:
            raise ValueError("speed must be positive")
        if self._thread is not None:
            raise RuntimeError("already started")
        self._thread = threading.Thread(
            target=self._write, args=(speed,), name="rltui-demo", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close the file. Raises what went wrong while writing, if anything."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._run.close()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _write(self, speed: float) -> None:
        try:
            while not (self._run.finished or self._stopping.is_set()):
                if self._wait(self._run.next_duration / speed):
                    return
                self._run.write_step()
        except OSError as error:
            # the directory is gone or the disk is full; stop() raises it
            self._error = error
