"""Reads the logdirs of one host through ``ssh HOST rltui stream``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rltui.core.address import RemotePath
from rltui.core.errors import SourceError
from rltui.files.disk import offer
from rltui.remote.ssh.connection import CommandProcess, HostPaths, stream_command
from rltui.remote.ssh.files import HostReader, SshFiles
from rltui.remote.stream_client import NotInstalledError, StreamError
from rltui.remote.stream_reader import StreamReader
from rltui.sources.options import ReaderOptions


class SshReader(StreamReader):
    """Reads the logdirs of one host. A search raises NotInstalledError where that has no rltui, or
    one that speaks another version of the stream."""

    def __init__(self, logdirs: Sequence[RemotePath], options: ReaderOptions) -> None:
        """Raises UsageError for what is not a host."""
        self._addresses = logdirs
        host = logdirs[0].authority
        command = stream_command(host, [p.place for p in logdirs], os.environ)
        connect = partial(CommandProcess, command)
        super().__init__(logdirs, options, host, connect, partial(HostPaths, logdirs))
        root = RemotePath(*logdirs[0].parts[:2])
        self._store = SshFiles(root, stream_command(host, ["~"], os.environ), options.clock)
        offer(root, self._store)

    def _unreachable(self, error: StreamError) -> SourceError:
        if not error.missing:
            return super()._unreachable(error)
        options = replace(self._options, waits=self._waits)
        return NotInstalledError(error.missing, partial(HostReader, self._addresses, options))

    def _interrupt(self) -> None:
        self._store.close()
        super()._interrupt()
