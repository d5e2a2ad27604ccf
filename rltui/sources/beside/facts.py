"""What files beside the logs of a run say about its end: the planned steps, and how it ended."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rltui.files.disk import is_directory, listing, read_all, status
from rltui.formats.json_value import parsed
from rltui.sources.beside.settings_files import read_settings

#: Ray Tune's record of all trials of an experiment (ray/tune/execution/experiment_state.py).
_TUNE = "experiment_state-"
_MAX_TUNE = 1 << 25
#: How a trial ended (ray/tune/experiment/trial.py).
_EXIT_CODES = {"TERMINATED": 0, "ERROR": 1}
#: Before the name of a criterion at which Tune stops a trial.
STOP = "stop."


@dataclass(frozen=True, slots=True)
class Facts:
    """Of one run."""

    plan: Mapping[str, object] = field(default_factory=dict)
    """The hyperparameters that may hold the planned steps, before them what Tune stops at as
    ``stop.NAME``."""
    exit_code: int | None = None
    """That of the training, where it is recorded."""
    recorded_at: float = 0.0
    """When that was written, seconds since the epoch."""


NO_FACTS = Facts()


class FactFiles:
    """Reads the facts of many runs; what they share is read once. Never raises: a file that cannot
    be read is left out."""

    def __init__(self, plan: Container[str]) -> None:
        """``plan``: names of hyperparameters that may hold the planned steps."""
        self._plan = plan
        self._facts: dict[tuple[Path, ...], Facts] = {}
        self._experiments: dict[Path, tuple[float, Mapping[str, Mapping[str, object]]]] = {}

    def read(self, path: Path, above: Sequence[Path]) -> Facts:
        """The facts beside the logs of the run at a path, and in directories ``above`` that hold no
        other run, the nearest first."""
        home = path if is_directory(path) else path.parent
        folders = tuple(dict.fromkeys((*reversed(above), home)))
        facts = self._facts.get(folders)
        if facts is None:
            facts = self._facts[folders] = self._read(folders)
        return facts

    def _read(self, folders: tuple[Path, ...]) -> Facts:
        settings, home = read_settings(folders).values, folders[-1]
        if home.parent not in self._experiments:
            self._experiments[home.parent] = _experiment(home.parent)
        recorded_at, trials = self._experiments[home.parent]
        trial = trials.get(home.name, {})
        stop = trial.get("stopping_criterion")
        plan = {}
        if isinstance(stop, Mapping):
            plan = {f"{STOP}{name}": limit for name, limit in stop.items()}
        plan |= {name: value for name, value in settings.items() if name in self._plan}
        return Facts(plan, _EXIT_CODES.get(str(trial.get("status"))), recorded_at)


def _experiment(folder: Path) -> tuple[float, Mapping[str, Mapping[str, object]]]:
    """What Tune has recorded of the trials in a directory, by the names of theirs, and when."""
    try:
        names = sorted(e.name for e in listing(folder) if e.name.startswith(_TUNE))
        path = folder / names[-1] if names else None
        found = None if path is None else status(path)
        if path is None or found is None or found.st_size > _MAX_TUNE:
            return 0.0, {}
        return found.st_mtime_ns / 1e9, dict(_trials(parsed(read_all(path))))
    except (OSError, ValueError):
        return 0.0, {}


def _trials(document: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    records = document.get("trial_data") if isinstance(document, Mapping) else None
    for record in records if isinstance(records, list) else ():
        first = record[0] if isinstance(record, list) and record else record
        try:  # a record is the trial as text, mostly with what ran it
            trial = parsed(first.encode()) if isinstance(first, str) else first
        except ValueError:
            continue
        if isinstance(trial, Mapping):
            yield str(trial.get("relative_logdir", "")).rpartition("/")[2], trial
