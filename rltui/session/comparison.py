"""The reference run: chosen by the user, or named on the command line and found among the runs or
at a path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from rltui.core.address import is_remote, parse_logdir
from rltui.core.batch import RunKey
from rltui.core.errors import UsageError
from rltui.core.yaml_document import nearest
from rltui.session.hold import Hold
from rltui.session.judging import Judging
from rltui.session.naming import Naming
from rltui.session.run import RunView

#: A path read whole: the runs below it.
Read = Callable[[Path], list[RunView]]

#: Names of runs in a message.
_MOST_NAMES = 10


class Wanted:
    """The reference run that was asked for, until it is there. Main thread only."""

    def __init__(
        self, name: str | None, logdirs: Iterable[Path], naming: Naming, read: Read
    ) -> None:
        """``read`` reads what lies at a path that is not among the logdirs."""
        self._name = name
        self._logdirs = tuple(logdirs)
        self._naming = naming
        self._read = read
        self._several: list[RunView] = []
        """The runs that the name means, when these are more than one."""

    @property
    def waits(self) -> bool:
        """Whether it was asked for and has not been found."""
        return self._name is not None

    def read_apart(self) -> RunView | None:
        """The run at this path, if it is one that the session does not read anyway. Raises
        UsageError when there is no run, or more than one."""
        path = _path_of(self._name) if self._name else None
        if path is None or not _may_exist(path) or self._is_read(path):
            return None
        found = [r for r in self._read(path) if r.infos]
        if len(found) != 1:
            raise UsageError(
                f"--reference {path}: one run is needed, and there are: {_listed(found)}"
            )
        self._name = None
        return found[0]

    def _is_read(self, path: Path) -> bool:
        logdirs = [_resolved(p) for p in self._logdirs]
        return any(d is not None and (d == path or d in path.parents) for d in logdirs)

    def find(self, runs: Mapping[RunKey, RunView]) -> RunView | None:
        """The run of this name or path that has been read; once. None while more than one run may
        be meant."""
        if self._name is None:
            return None
        keys = self._naming.called(self._name)
        if not keys:
            path = _path_of(self._name)
            keys = [key for key, run in runs.items() if _lies_at(run, path)]
        if not all(key in runs and not runs[key].data.files.reading for key in keys):
            return None
        found = [runs[key] for key in sorted(keys) if runs[key].infos]
        self._several = found[1:] and found
        if len(found) != 1:
            return None
        self._name = None
        return found[0]

    def missing(self, runs: Iterable[RunView]) -> UsageError:
        """What to say when everything has been read and no single run was found."""
        if self._several:
            return UsageError(
                f"--reference {self._name}: one run is needed, and there are: "
                f"{_listed(self._several)}"
            )
        names = [r.name for r in runs]
        hint = nearest(str(self._name), names)
        message = f"--reference {self._name}: no run of this name, and no log of a single run"
        return UsageError(message, hint=hint)


def _listed(runs: Sequence[RunView]) -> str:
    more = ", ..." if len(runs) > _MOST_NAMES else ""
    return ", ".join(r.name for r in runs[:_MOST_NAMES]) + more or "none"


class ReferenceRun:
    """The run that all others are compared with. Main thread only."""

    def __init__(
        self, wanted: Wanted, judging: Judging, align: str, hold: Callable[[], Hold | None]
    ) -> None:
        """``hold`` returns what lets the runs to show stand still, if they do."""
        self._wanted = wanted
        self._judging = judging
        self._align = align
        self._hold = hold
        self.run: RunView | None = None
        """None while runs are compared with none."""
        self.given: RunView | None = None
        """The one that the command line names, once it has been read."""

    @property
    def waits(self) -> bool:
        """Whether one was asked for and has not been found."""
        return self._wanted.waits

    def missing(self, runs: Iterable[RunView]) -> UsageError:
        """What to say when everything has been read and it was not there."""
        return self._wanted.missing(runs)

    def choose(self, run: RunView | None) -> None:
        """Compare all runs with this one, or with none: they are judged anew."""
        self.run, hold = run, self._hold()
        judged = run if run is None or hold is None else hold.twin(run)
        self._judging.compare(judged, self._align)

    def read_apart(self) -> None:
        """Take the run at the path that was named, if the session does not read it anyway. Raises
        UsageError when there is no run, or more than one."""
        self._take(self._wanted.read_apart())

    def find(self, runs: Mapping[RunKey, RunView]) -> None:
        """Take the run that was named, once it has been read."""
        self._take(self._wanted.find(runs))

    def _take(self, found: RunView | None) -> None:
        if found is not None:
            hold = self._hold()
            self.given = found if hold is None else hold.original(found)
            self.choose(self.given)


def _path_of(name: str) -> Path | None:
    """What a name means as a path; an address has a slash."""
    return _resolved((parse_logdir(name) if "/" in name else Path(name)).expanduser())


def _may_exist(path: Path) -> bool:
    """Whether to read a path; reading shows whether there is something elsewhere."""
    return is_remote(path) or path.exists()


def _resolved(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):  # no such path can exist
        return None


def _lies_at(run: RunView, path: Path | None) -> bool:
    return path is not None and path in (run.data.path, *run.data.files.sources)
