"""Serves the session's process: runs a driver as it says, until it says no more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import TYPE_CHECKING

from rltui.core.clock import Clock
from rltui.remote.ray.driver import Driver
from rltui.remote.ray.message import Again, Alive, Begin, Chosen, Looked, Opening
from rltui.remote.ray.node import ClusterError

if TYPE_CHECKING:
    from rltui.remote.ray.cluster import Cluster


def serve(
    connection: Connection,
    connect: Callable[[str], Cluster],
    *,
    on_over: Callable[[], None] = lambda: None,
    clock: Clock | None = None,
) -> None:
    """Until the other side of ``connection`` has closed it; ``on_over`` is called then, in a
    thread. ``connect`` gives the cluster of an address, and raises ClusterError."""
    opening = connection.recv()
    assert isinstance(opening, Opening)
    word = _Word(connection, on_over)
    driver: Driver | None = None
    try:
        cluster = connect(opening.address)
        driver = Driver(opening, cluster, connection.send, clock)
        driver.look()
        driver.say(Looked(address=cluster.address, version=cluster.version))
        _work(driver, word)
    except ClusterError as error:
        with suppress(OSError):
            connection.send(Looked(str(error)))
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        if driver is not None:
            driver.close()


def _work(driver: Driver, word: _Word) -> None:
    """Do what is said; when all is done, runs may still have to be read again."""
    told = False
    while not word.over:
        for message in word.said(wait=not driver.begun or driver.idle):
            if isinstance(message, Begin):
                driver.begin(message.task)
            elif isinstance(message, Chosen | Again):
                driver.take(message)
        if driver.begun:
            driver.step()
        if driver.ended and not told:
            told = True
            driver.say(Alive(ended=True))


class _Word:
    """What the session's process says."""

    def __init__(self, connection: Connection, on_over: Callable[[], None]) -> None:
        self._connection = connection
        self._on_over = on_over
        self._said: SimpleQueue[object] = SimpleQueue()
        self.over = False
        """Whether it says no more."""
        threading.Thread(target=self._listen, daemon=True).start()

    def said(self, *, wait: bool) -> Iterator[object]:
        """What was said since the last call; ``wait`` for it."""
        while wait or not self._said.empty():
            wait = False
            yield self._said.get()

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._said.put(self._connection.recv())
        self.over = True
        self._said.put(None)
        self._on_over()
