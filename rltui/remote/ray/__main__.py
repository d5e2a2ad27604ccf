"""The process that speaks to Ray, which the session's process starts."""

from __future__ import annotations

import os
import sys
import threading
import time
from multiprocessing.connection import Connection

from rltui.remote.ray.driver import Driver
from rltui.remote.ray.message import Alive, Begin, Looked, Opening
from rltui.remote.ray.node import ClusterError

#: Seconds to end the actors when the session's process has ended.
_CLOSING_S = 3.0


def main() -> None:
    """Serve the session's process at the file descriptor of the command line."""
    connection = Connection(int(sys.argv[1]))
    opening = connection.recv()
    assert isinstance(opening, Opening)
    word = _Word(connection)
    threading.Thread(target=word.listen, daemon=True).start()
    driver: Driver | None = None
    try:
        from rltui.remote.ray.cluster import Cluster

        driver = Driver(opening, Cluster(opening.address), connection.send)
        driver.look()
        driver.say(Looked())
        once = word.wait()
        driver.begin(once=once)
        while not (word.over or driver.ended):
            driver.step()
        driver.say(Alive(driver.ended))
    except ClusterError as error:
        connection.send(Looked(str(error)))
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        if driver is not None:
            driver.close()


class _Word:
    """What the session's process says: to begin; nothing more when it has ended."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._begin = threading.Event()
        self._once = False
        self.over = False

    def listen(self) -> None:
        """The body of a thread. Ends this process some time after the session's has ended."""
        try:
            message = self._connection.recv()
            assert isinstance(message, Begin)
            self._once = message.once
            self._begin.set()
            self._connection.recv()
        except (EOFError, OSError):
            pass
        self.over = True
        self._begin.set()
        time.sleep(_CLOSING_S)
        os._exit(0)

    def wait(self) -> bool:
        """Until the word to begin; whether to read once."""
        self._begin.wait()
        return self._once


if __name__ == "__main__":
    main()
