"""Calls a function on several arguments, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, TypeVar

from rltui.core.errors import RltuiError

T = TypeVar("T")
R = TypeVar("R")

_END_S = 2.0


def in_processes(
    function: Callable[[T], R], items: Sequence[T], here: Sequence[T] = ()
) -> Iterator[R]:
    """The results, in the order in which they come. ``function`` and ``items`` are pickled; this
    process works on those of ``here`` meanwhile: it has what the others must import and load.

    Raises RltuiError with the text of one that a process raised, RuntimeError for any other
    failure of one, and what ``function`` raises here. All processes have ended when the iterator
    has, and end when this process does.
    """
    workers: dict[Connection, SpawnProcess] = {}
    try:
        with _interrupts_blocked():
            for _ in items:
                connection, process = _started()
                workers[connection] = process
        for connection, item in zip(workers, items, strict=True):
            with suppress(OSError):  # it has ended, which its result says
                connection.send((function, item))
        for item in here:
            yield function(item)
        waiting = set(workers)
        while waiting:
            ready = wait(list(waiting))
            for connection in [c for c in waiting if c in ready]:
                waiting.discard(connection)
                yield _result(connection)
    finally:
        for connection in workers:
            connection.close()
        for process in workers.values():
            process.terminate()
        for process in workers.values():
            process.join(_END_S)


def _started() -> tuple[Connection, SpawnProcess]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_work, args=(there,), daemon=True)
    process.start()
    there.close()
    return here, process


def _result(connection: Connection) -> Any:
    try:
        error, expected, result = connection.recv()
    except (EOFError, OSError):
        raise RuntimeError("a process ended before it had judged its runs") from None
    if error:
        raise RltuiError(error) if expected else RuntimeError(error)
    return result


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Ctrl+c is for this process, which ends the others: they inherit that it is blocked."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _work(connection: Connection) -> None:
    """The body of a process."""
    function, item = connection.recv()
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    try:
        answer = "", False, function(item)
    except RltuiError as error:
        answer = str(error), True, None
    except Exception as error:  # noqa: BLE001 - raised by the process that waits
        answer = f"{type(error).__name__}: {error}", False, None
    connection.send(answer)


def _end_with(connection: Connection) -> None:
    """End this process when the one that waits for it has ended: nothing else ever comes."""
    try:
        connection.recv()
    except (EOFError, OSError):
        os._exit(1)
