"""Reads logs on a Ray cluster through a process that speaks the frames of ``rltui stream``."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from functools import partial

from rltui.core.address import RemotePath
from rltui.core.batch import RunKey
from rltui.core.errors import SourceError
from rltui.core.installation import need
from rltui.remote.ray.helper import HelperProcess
from rltui.remote.ray.nodes import Opening
from rltui.remote.ssh.connection import HostPaths
from rltui.remote.stream_client import StreamError, Transport
from rltui.remote.stream_reader import StreamReader
from rltui.sources.options import ReaderOptions

#: Name of the output of a worker, by its id, job and process id: too long to be read.
_WORKER = re.compile(r"\bworker-([0-9a-f]{4})[0-9a-f]{52}-([0-9a-f]{8})-(\d+)")


class RayPaths(HostPaths):
    """Paths of a cluster; the outputs of its workers have shorter names."""

    def key(self, key: RunKey) -> RunKey:
        return RunKey(key.logdir, _WORKER.sub(r"worker-\3-\1", key.name))


class RayReader(StreamReader):
    """Reads the logdirs on one cluster."""

    def __init__(self, logdirs: Sequence[RemotePath], options: ReaderOptions) -> None:
        """Raises UsageError where Ray is not installed."""
        need(f"{logdirs[0]}:", "ray[client]")
        places = tuple("" if p.place == "/" else p.place for p in logdirs)
        self._opening_of_helper = Opening(logdirs[0].authority, places, options.ends)
        self._helper: HelperProcess | None = None
        self._dialing = threading.Lock()
        """Held by the one thread that may start or end a helper."""
        paths = partial(RayPaths, logdirs)
        super().__init__(logdirs, options, str(logdirs[0]), self._dial, paths)

    def scan(self) -> None:
        """See :meth:`StreamReader.scan`; the helper ends where that fails."""
        try:
            super().scan()
        except SourceError:
            self._end_helper()
            raise

    def _dial(self) -> Transport:
        """A connection to the helper, which is started where none runs."""
        with self._dialing:
            if self._stopping.is_set():
                raise StreamError("the reader was stopped")
            helper = self._helper
            found = None if helper is None else helper.connected()
            if found is None:
                if helper is not None:
                    helper.end()
                self._helper = helper = HelperProcess(self._opening_of_helper)
                found = helper.connected()
            if found is None:
                raise StreamError("the process connected to Ray has ended")
            return found

    def _interrupt(self) -> None:
        talk = self._talk
        known = talk is not None and talk.paths is not None
        super()._interrupt()
        self._end_helper(at_once=not known)

    def _end_helper(self, *, at_once: bool = False) -> None:
        with self._dialing:
            helper = self._helper
            self._helper = None
        if helper is not None:
            helper.end(at_once=at_once)
