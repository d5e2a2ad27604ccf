"""The reference run: chosen by the user, or named on the command line and found among the runs or
at a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rltui.core.address import is_remote, parse_logdir
from rltui.core.errors import UsageError
from rltui.core.text import first_of
from rltui.core.yaml_document import nearest
from rltui.session.judging import Judge
from rltui.session.naming import Naming
from rltui.session.run import JudgedRun, RunList


class ReferenceRun:
    """The run that all others are compared with. Owned by the session; main thread only."""

    def __init__(
        self,
        name: str | None,
        logdirs: Sequence[Path],
        naming: Naming,
        runs: RunList,
        judge: Judge,
        read: Callable[[Path], list[JudgedRun]],
    ) -> None:
        """``name``: what the command line calls it; ``read`` reads whole what lies at a path that
        is not among the logdirs."""
        self._wanted = name
        """Name or path of the run that was asked for and has not been found."""
        self._logdirs = logdirs
        self._naming = naming
        self._runs = runs
        self._judge = judge
        self._read = read
        self._several: list[JudgedRun] = []
        """The runs that the name means, when these are more than one."""
        self.run: JudgedRun | None = None
        """None while runs are compared with none."""
        self.given: JudgedRun | None = None
        """The one that the command line names, once it has been read."""

    @property
    def waits(self) -> bool:
        """Whether one was asked for and has not been found."""
        return self._wanted is not None

    def choose(self, run: JudgedRun | None) -> None:
        """Compare all runs with this one, or with none: they are judged anew."""
        self.run = run
        self._judge.compare(run)

    def _give(self, found: JudgedRun) -> None:
        self._wanted = None
        self.given = self._runs.frozen_of(found)
        self.choose(self.given)

    def read_apart(self) -> None:
        """Read the run at the path that was named, if the session does not read it anyway. Raises
        UsageError when there is no run, or more than one."""
        path = _path_of(self._wanted) if self._wanted else None
        # reading shows whether there is something elsewhere
        if path is None or not (is_remote(path) or path.exists()):
            return
        logdirs = map(_resolved, self._logdirs)
        if any(d is not None and (d == path or d in path.parents) for d in logdirs):
            return
        found = [r for r in self._read(path) if r.infos]
        if len(found) != 1:
            raise _several_at(str(path), found)
        # in no logdir: a run of the session may have its name
        found[0].data.key = found[0].key._replace(logdir=-1)
        self._give(found[0])

    def find(self) -> None:
        """Look for the run that was named among those that have been read."""
        if self._wanted is None:
            return
        runs = self._runs.all
        keys = self._naming.called(self._wanted)
        if not keys:
            path = _path_of(self._wanted)
            keys = [k for k, r in runs.items() if path in (r.data.path, *r.data.files.by_path)]
        if not all(key in runs and not runs[key].data.files.reading for key in keys):
            return
        found = [runs[key] for key in sorted(keys) if runs[key].infos]
        self._several = found[1:] and found
        if len(found) == 1:
            self._give(found[0])

    def missing(self) -> UsageError:
        """The error when everything has been read and no single run was found."""
        wanted = str(self._wanted)
        if self._several:
            return _several_at(wanted, self._several)
        names = [run.name for run in self._runs.in_order()]
        message = f"--reference {wanted}: no run of this name, and no log of a single run"
        if not self._naming.is_whole:
            message += "; one that --run leaves out is found by its name, not by its path"
        return UsageError(message, hint=nearest(wanted, names))


def _several_at(place: str, found: Sequence[JudgedRun]) -> UsageError:
    listed = first_of([run.name for run in found]) or "none"
    return UsageError(f"--reference {place}: one run is needed, and there are: {listed}")


def _path_of(name: str) -> Path | None:
    """The path that a name stands for; an address has a slash."""
    return _resolved((parse_logdir(name) if "/" in name else Path(name)).expanduser())


def _resolved(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):  # no such path can exist
        return None
