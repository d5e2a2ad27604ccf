"""Hyperparameters in files beside the logs, read on demand.

RLlib and d3rlpy write ``params.json``, ms-swift ``args.json``, sacred ``config.json``, Lightning
``hparams.yaml``, SB3's zoo ``args.yml``, Hydra ``.hydra/config.yaml``, W&B and SwanLab
``files/config.yaml``, Isaac Lab ``params/agent.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rltui.core.errors import RltuiError
from rltui.core.text import clean
from rltui.core.yaml_document import parse_document
from rltui.files.disk import Entry, listing, read_all, status
from rltui.files.trouble import is_missing, reason_of
from rltui.formats.json_value import parsed
from rltui.formats.settings import flat_settings

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


@dataclass(frozen=True, slots=True)
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
        paths, why = _settings_files(folder)
        trouble = why or trouble
        for path in paths:
            found = _read(path)
            if found:
                values.update(found)
                files[clean(path.name)] = None
    return FileSettings(values, tuple(files), trouble)


def _settings_files(folder: Path) -> tuple[list[Path], str]:
    """The files of a directory and of those below it whose names say that they hold settings, and
    why it cannot be listed."""
    try:
        names = {entry.name: entry for entry in listing(folder)}
    except OSError as error:
        return [], "" if is_missing(error) else reason_of(error)
    paths: list[Path] = []
    for below in _FOLDERS:
        if not below or below in names:
            paths += _named(folder / below, names if not below else None)
    return paths, ""


def _named(folder: Path, names: Mapping[str, Entry] | None) -> list[Path]:
    if names is None:
        try:
            names = {entry.name: entry for entry in listing(folder)}
        except OSError:
            return []
    return [folder / name for name in _NAMES if name in names and names[name].is_file()]


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
    if "architectures" in settings or "model_type" in settings:
        return {}  # the configuration of a model
    return flat_settings(settings)


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
