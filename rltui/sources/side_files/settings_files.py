"""Files beside the logs, read on demand: the hyperparameters of a run, and how it ended.

RLlib and d3rlpy write ``params.json``, ms-swift ``args.json``, sacred ``config.json``, Lightning
``hparams.yaml``, SB3's zoo ``args.yml``, Hydra ``.hydra/config.yaml``, W&B and SwanLab
``files/config.yaml``, Isaac Lab ``params/agent.yaml``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from sys import intern

from rltui.core.errors import RltuiError
from rltui.core.record import record
from rltui.core.text import clean
from rltui.core.yaml_document import parse_document
from rltui.files.disk import is_directory, listing, read_all, status
from rltui.files.trouble import is_missing, reason_of
from rltui.formats.json_value import flat_settings, parsed

_NAMES = tuple(
    f"{stem}.{suffix}"
    for stem in ("args", "params", "hparams", "config", "training_args", "variant", "agent")
    for suffix in ("json", "yaml", "yml")
)
#: Directories of such files below that of the run.
_FOLDERS = ("", ".hydra", "files", "params")
#: Bytes of a file.
_MAX_BYTES = 1 << 18
#: What W&B and SwanLab write for each setting.
_WRAPPED = {"value", "desc", "sort"}
#: What they write about the machine and the program, and the names of what is told of it:
#: no account, no arguments, no environment variables.
_METADATA = ("wandb-metadata.json", "swanlab-metadata.json")
_ENVIRONMENT = {
    "host": ("host", "runtime.hostname"),
    "system": ("os", "runtime.os_pretty"),
    "Python": ("python", "runtime.python_version"),
    "processor": ("apple.name", "hardware.cpu.brand"),
    "GPU": ("gpu",),
    "GPUs": ("gpucount", "gpu_count"),
    "CUDA": ("cuda", "cudaversion"),
    "program": ("program",),
    "commit": ("git.commit",),
}
#: Ray Tune's record of all trials of an experiment (ray/tune/execution/experiment_state.py).
_TUNE = "experiment_state-"
_MAX_TUNE = 1 << 25
#: How a trial ended (ray/tune/experiment/trial.py).
_EXIT_CODES = {"TERMINATED": 0, "ERROR": 1}
#: Before the name of a criterion at which Tune stops a trial.
STOP = "stop."


@record
class FileSettings:
    """The hyperparameters in files beside the logs of a run."""

    values: dict[str, object] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    """Names of the files, cleaned."""
    trouble: str = ""
    """Why the newest directory that could not be listed could not; a missing one is none."""


def read_settings(folders: Iterable[Path]) -> FileSettings:
    """The settings in some directories, the last one wins. Never raises: a file that cannot be
    read is left out."""
    values: dict[str, object] = {}
    files: dict[str, None] = {}
    trouble = ""
    for folder in folders:
        names: Collection[str] = ()
        for below in _FOLDERS:  # a directory that is not listed here is not asked for
            if below and below not in names:
                continue
            try:
                entries = {entry.name: entry for entry in listing(folder / below)}
            except OSError as error:
                if not below and not is_missing(error):
                    trouble = reason_of(error)
                continue

            names = names if below else entries
            for name in _NAMES:
                if name in entries and entries[name].is_file():
                    found = _read(folder / below / name)
                    values.update(found)
                    files |= {clean(name): None} if found else {}
    return FileSettings(values, tuple(files), trouble)


def _read(path: Path) -> dict[str, object]:
    try:
        if status(path).st_size > _MAX_BYTES:
            return {}
        if path.suffix == ".json":
            document = parsed(read_all(path))
        else:
            document = parse_document(read_all(path).decode(), path).plain()
    except (OSError, ValueError, RltuiError):
        return {}

    settings = dict(_pairs(document))
    is_model = "architectures" in settings or "model_type" in settings
    return {} if is_model else flat_settings(settings)


def _pairs(document: object) -> Iterator[tuple[object, object]]:
    """The settings of a document: an object, or a list of pairs (SB3's zoo), unwrapped."""
    while isinstance(document, list) and len(document) == 1:
        document = document[0]

    if isinstance(document, list) and all(isinstance(p, list) and len(p) == 2 for p in document):
        yield from ((name, value) for name, value in document)
    elif isinstance(document, Mapping):
        for name, value in document.items():
            if isinstance(value, Mapping) and "value" in value and set(value) <= _WRAPPED:
                value = value["value"]
            if name not in ("_wandb", "wandb_version"):
                yield name, value


def read_environment(folders: Iterable[Path]) -> dict[str, object]:
    """Read the records of W&B and SwanLab on machine and program, by names of ours; of several
    directories the last one wins. Never raises: a file that cannot be read is left out."""
    found: dict[str, object] = {}
    for folder in folders:
        for name in _METADATA:
            for path in (folder / name, folder / "files" / name):
                values = {n.lower(): v for n, v in _read(path).items()}
                found.update(
                    (ours, values[known])
                    for ours, names in _ENVIRONMENT.items()
                    for known in names
                    if values.get(known) not in (None, "")
                )
    return found


# -- how a run ended ----------------------------------------------------------------------------


@record
class Facts:
    """Facts about a run from files beside its logs: how it was set up, and how it ended."""

    settings: Mapping[str, object] = field(default_factory=dict)
    """The hyperparameters, before them what Tune stops at as ``stop.NAME``."""
    exit_code: int | None = None
    """Exit code of the training, where it is recorded."""
    recorded_at: float = 0.0
    """When that was written, seconds since the epoch."""


NO_FACTS = Facts()


class FactFiles:
    """Reads the facts of many runs; what they share is read once. Never raises: a file that cannot
    be read is left out."""

    def __init__(self) -> None:
        self._facts: dict[tuple[Path, ...], Facts] = {}
        self._experiments: dict[Path, tuple[float, Mapping[str, Mapping[str, object]]]] = {}

    def read(self, path: Path, above: Sequence[Path]) -> Facts:
        """The facts beside the logs of the run at a path, and in directories ``above`` that hold no
        other run, the nearest first."""
        home = path if is_directory(path) else path.parent
        folders = tuple(dict.fromkeys((*reversed(above), home)))
        if folders in self._facts:
            return self._facts[folders]

        if home.parent not in self._experiments:
            self._experiments[home.parent] = _experiment(home.parent)

        recorded_at, trials = self._experiments[home.parent]
        trial = trials.get(home.name, {})
        stop = trial.get("stopping_criterion")
        limits = stop.items() if isinstance(stop, Mapping) else ()
        settings = {f"{STOP}{name}": limit for name, limit in limits}
        found = read_settings(folders).values.items()  # runs have the same names, and many values
        settings |= {intern(n): intern(v) if isinstance(v, str) else v for n, v in found}
        facts = Facts(settings, _EXIT_CODES.get(str(trial.get("status"))), recorded_at)
        self._facts[folders] = facts
        return facts


def _experiment(folder: Path) -> tuple[float, Mapping[str, Mapping[str, object]]]:
    """When Tune recorded the trials in a directory, and the record of each by its directory's
    name."""
    trials: dict[str, Mapping[str, object]] = {}
    try:
        names = sorted(e.name for e in listing(folder) if e.name.startswith(_TUNE))
        if not names or (found := status(folder / names[-1])).st_size > _MAX_TUNE:
            return 0.0, {}
        document = parsed(read_all(folder / names[-1]))
    except (OSError, ValueError):
        return 0.0, {}

    records = document.get("trial_data") if isinstance(document, Mapping) else None
    for entry in records if isinstance(records, list) else ():
        first = entry[0] if isinstance(entry, list) and entry else entry
        # an entry is the trial as text, mostly with what ran it
        with suppress(ValueError):
            trial = parsed(first.encode()) if isinstance(first, str) else first
            if isinstance(trial, Mapping):
                trials[str(trial.get("relative_logdir", "")).rpartition("/")[2]] = trial
    return found.st_mtime_ns / 1e9, trials
