"""Finds the reference run that the command line names: among the runs, or at a path."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from rltui.core.errors import UsageError
from rltui.core.yaml_document import nearest
from rltui.session.run import RunView

#: A path read whole: the runs below it.
Read = Callable[[Path], list[RunView]]


class Wanted:
    """The reference run that was asked for, until it is there. Main thread only."""

    def __init__(self, name: str | None, read: Read) -> None:
        """``read`` reads what lies at a path that is not among the logdirs."""
        self._name = name
        self._read = read

    @property
    def waits(self) -> bool:
        """Whether it was asked for and has not been found."""
        return self._name is not None

    def find(self, runs: Iterable[RunView]) -> RunView | None:
        """The run of this name that has been read, else the run at this path; each once."""
        if self._name is None:
            return None
        for run in runs:
            if self._name in (run.name, run.key.name) and not run.data.files.reading:
                self._name = None
                return run
        path = Path(self._name).expanduser()
        return self._at(path) if _exists(path) else None

    def _at(self, path: Path) -> RunView:
        """Raises UsageError when there is no run, or more than one."""
        found = [r for r in self._read(path) if r.infos]
        if len(found) != 1:
            names = ", ".join(r.name for r in found[:10]) or "none"
            raise UsageError(f"--reference {path}: one run is needed, and there are: {names}")
        self._name = None
        return found[0]

    def missing(self, runs: Iterable[RunView]) -> UsageError:
        """What to say when everything has been read and it was not there."""
        names = [r.name for r in runs]
        hint = nearest(str(self._name), names)
        return UsageError(f"--reference: no run and no path {self._name!r}", hint=hint)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
