"""MLflow's file store: ``mlruns/<experiment id>/<run id>/`` is one run.

``tags/mlflow.runName`` holds its name, ``meta.yaml`` its status; :mod:`rltui.trackers.mlflow_run`
reads the rest. The folders of logged models (``models/<id>/metrics``, MLflow 3) are no runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from rltui.core.clock import Clock, SystemClock
from rltui.core.text import clean_bytes
from rltui.files.disk import status as status_of
from rltui.trackers.base import Follower, TrackedRun
from rltui.trackers.mlflow_values import META, MOST_META, meta_of, read_start

#: Bytes that are read of a name.
_MOST_NAME = 500
_RUN = re.compile(rb"^run_(?:id|uuid): ", re.MULTILINE)
_MODEL = re.compile(rb"^model_id: ", re.MULTILINE)
#: Folders that every run has.
_FOLDERS = frozenset(("metrics", "params", "tags"))
#: Places of runs that are remembered.
_MOST_KNOWN = 100_000


class MlflowFiles:
    """See :class:`rltui.trackers.base.Tracker`."""

    name = "mlflow-files"
    files = "`mlruns/EXPERIMENT/RUN/`"
    written_by = "MLflow's file store, with parameters, names and how the run ended"
    precision_rank = 3
    local_only = False

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._known: set[Path] = set()

    def claims_name(self, name: str) -> bool:  # noqa: ARG002
        return False

    def claims_file(self, path: Path) -> bool:  # noqa: ARG002
        return False

    def claims_directory(self, path: Path, names: Collection[str]) -> bool:
        """Whether the directory is that of a run: by its names, then by its meta.yaml, unless
        that is broken."""
        if META not in names or "metrics" not in names:
            return False
        if path in self._known:
            return True
        try:
            start = read_start(path / META, MOST_META)
        except OSError:
            return False

        claimed = _RUN.search(start) is not None or (
            _FOLDERS.issubset(names) and not _MODEL.search(start)
        )
        if claimed and len(self._known) < _MOST_KNOWN:
            self._known.add(path)
        return claimed

    def runs(self, path: Path) -> Sequence[TrackedRun]:
        """The run, or none when it was deleted (such runs stay on the disk)."""
        from rltui.trackers.mlflow_run import Folder  # most directories hold no store

        meta = meta_of(path)
        if _is_deleted(path, meta):
            return ()
        status = status_of(path / META)
        size, modified = 0, status.st_mtime
        folder = Folder(path / "metrics", self._clock)
        for name in folder.new():
            with suppress(OSError):  # deleted since it was listed
                file = status_of(folder.path / name)
                size, modified = size + file.st_size, max(modified, file.st_mtime)

        return (TrackedRun("", _name_of(path, meta), size, modified),)

    def parts(self, path: Path) -> frozenset[str]:
        """The only run, or none when it was deleted."""
        return frozenset() if _is_deleted(path, meta_of(path)) else frozenset(("",))

    def follow(self, path: Path, part: str) -> Follower:  # noqa: ARG002
        from rltui.trackers.mlflow_run import MlflowRun  # as above

        return MlflowRun(path, self._clock)


def _is_deleted(path: Path, meta: dict[bytes, bytes]) -> bool:
    return meta.get(b"lifecycle_stage") == b"deleted" or path.parent.parent.name == ".trash"


def _name_of(path: Path, meta: dict[bytes, bytes]) -> str:
    """The name that the user or MLflow gave to the run; else its id."""
    try:
        raw = read_start(path / "tags" / "mlflow.runName", _MOST_NAME)
    except OSError:
        raw = b""
    shown = clean_bytes(raw.strip() or meta.get(b"run_name", b"")).strip("/")
    return shown or clean_bytes(os.fsencode(path.name))
