"""Files of a host without rltui, as those of a server: its logs are followed and decoded here.

Listings and bytes come from :mod:`rltui.remote.host_script`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rltui.core.address import RemotePath
from rltui.core.clock import Clock
from rltui.core.errors import SourceError, UnreachableError
from rltui.files.disk import offer
from rltui.files.remote.server import Info, RemoteServer
from rltui.files.remote.store import RemoteStore, register
from rltui.remote.host_script import NOT_REGULAR
from rltui.remote.ssh.connection import script_command
from rltui.remote.ssh.files import MOST_WHOLE, SshFiles, error_in
from rltui.remote.wire.messages import Answer, Name, Question, Sort, What
from rltui.sources.discovery.processes import Hold
from rltui.sources.follow.reader import Reader
from rltui.sources.options import ReaderOptions

#: Most seconds between two listings of a directory that changes, and of one that is quiet.
_PACE_S, _MOST_PAUSE_S = 0.1, 1.0
_NEITHER = (
    "{host} has neither rltui nor python3 ({why}): copy its logs (scp -r), mount them (sshfs), or "
    "name one of the two where ssh does not find it (RLTUI_REMOTE_COMMAND, RLTUI_REMOTE_PYTHON)"
)


class HostServer(RemoteServer):
    """The host as a server; it answers many questions at once."""

    def __init__(self, files: SshFiles) -> None:
        super().__init__(files.root, lambda _: files)
        self._files = files

    @property
    def asks_together(self) -> bool:
        return True

    def name_of(self, path: Path) -> str:
        assert isinstance(path, RemotePath)
        return path.place

    def _answers(self, method: str, asked: Sequence[tuple[Path, dict[str, Any]]]) -> list[Any]:
        paths = [path for path, _ in asked]
        if method == "cat_file":
            ranges = []
            for path, how in asked:
                begin = how.get("start", 0)
                ranges.append((path, begin, how.get("end", begin + MOST_WHOLE)))
            return list(self._files.ranges(ranges))

        what = What.NAMES if method == "ls" else What.STATUS
        answers = self._files.ask([Question(what, Path(self.name_of(path))) for path in paths])
        found: list[Any] = []
        for path, (answer, _) in zip(paths, answers, strict=True):
            if (error := error_in(answer)) is not None:
                found.append(error)
            elif method == "ls":
                names = [name for name in answer.names if name.sort is not Sort.OTHER]
                found.append([_info(self.name_of(path / name.name), name) for name in names])
            elif answer.sort is Sort.OTHER:
                found.append(OSError(errno.EINVAL, NOT_REGULAR))
            else:
                found.append(_info(self.name_of(path), answer))
        return found


def _info(name: str, found: Answer | Name) -> Info:
    """Entry of a file or directory as fsspec writes it."""
    kind, modified = found.sort.value, found.modified_ns / 1e9
    return {"name": name, "type": kind, "size": found.size, "mtime": modified}


class HostReader(Reader):
    """Reads the logdirs of a host without rltui."""

    def __init__(self, logdirs: Sequence[RemotePath], options: ReaderOptions) -> None:
        """Connects. Raises UnreachableError, and SourceError for a host without Python."""
        self._store = HostStore(RemotePath(*logdirs[0].parts[:2]), options.clock)
        super().__init__(logdirs, options)

    def _interrupt(self) -> None:
        super()._interrupt()
        self._store.close()


class HostStore(RemoteStore):
    """A :class:`~rltui.files.disk.Host`."""

    most_pause_s = _MOST_PAUSE_S

    def __init__(self, root: RemotePath, clock: Clock) -> None:
        """Connects. Raises as :class:`HostReader` does."""
        command, script = script_command(root.authority, os.environ)
        self._host_files = SshFiles(root, command, clock, script)
        super().__init__(HostServer(self._host_files))
        self.use(clock, _PACE_S)
        try:
            self._host_files.status(root / "~")
        except OSError as error:
            if self._host_files.missing:
                why = _NEITHER.format(host=root.authority, why=error.strerror)
                raise SourceError(why) from None
            raise UnreachableError(f"{root.authority}: {error.strerror}") from None
        offer(root, self)
        register(root, self)

    def use(self, clock: Clock, pace_s: float) -> None:
        super().use(clock, min(pace_s, _PACE_S))

    def hold(self, path: Path, kind: str) -> Hold | None:
        """See :meth:`SshFiles.hold`."""
        return self._host_files.hold(path, kind)

    def close(self) -> None:
        """End the connection, from any thread."""
        self._host_files.close()
