"""Experiment trackers that keep their runs in a store of their own (floor 2).

A new tracker is one module with a class as :mod:`rltui.sources.trackers.base` says, in
:data:`TRACKERS`. One whose runs are rows of a SQLite table needs only a dialect
(:mod:`rltui.sources.trackers.dialect`). The modules are imported when a name looks like a store.
"""

from __future__ import annotations

from rltui.sources.trackers.base import DATABASES, Followed, Follower, TrackedRun, Tracker
from rltui.sources.trackers.late import LateTracker


def _mlflow_files() -> Tracker:
    from rltui.sources.trackers.mlflow_files import MlflowFiles

    return MlflowFiles()


def _mlflow() -> Tracker:
    from rltui.sources.trackers.mlflow_sqlite import MlflowTables
    from rltui.sources.trackers.store import RowStore

    return RowStore("mlflow", MlflowTables())


def _trackio() -> Tracker:
    from rltui.sources.trackers.store import RowStore
    from rltui.sources.trackers.trackio_sqlite import TrackioTables

    return RowStore("trackio", TrackioTables())


#: In the order in which they are asked whether a store is theirs.
TRACKERS: tuple[Tracker, ...] = (
    LateTracker("mlflow-files", _mlflow_files, inside=("meta.yaml", "metrics")),
    LateTracker("mlflow", _mlflow, suffixes=DATABASES),
    LateTracker("trackio", _trackio, suffixes=DATABASES),
)

__all__ = ["TRACKERS", "Followed", "Follower", "TrackedRun", "Tracker"]
