"""Experiment trackers that keep their runs in a store of their own.

A new tracker is one module with a class as :mod:`rltui.trackers.base` says, in
:data:`TRACKERS`. One whose runs are rows of a SQLite table needs only a dialect
(:mod:`rltui.trackers.sqlite.schema`). The modules are imported when a name looks like a store.
"""

from __future__ import annotations

from rltui.trackers.base import DATABASES, Followed, Follower, TrackedRun, Tracker
from rltui.trackers.lazy import LateTracker


def _mlflow_files() -> Tracker:
    from rltui.trackers.mlflow_files import MlflowFiles

    return MlflowFiles()


def _mlflow() -> Tracker:
    from rltui.trackers.sqlite.mlflow import MlflowTables
    from rltui.trackers.sqlite.sqlite_tracker import RowStore

    return RowStore("mlflow", MlflowTables())


def _trackio() -> Tracker:
    from rltui.trackers.sqlite.sqlite_tracker import RowStore
    from rltui.trackers.sqlite.trackio import TrackioTables

    return RowStore("trackio", TrackioTables())


#: In the order in which they are asked whether a store is theirs.
TRACKERS: tuple[Tracker, ...] = (
    LateTracker("mlflow-files", _mlflow_files, inside=("meta.yaml", "metrics")),
    LateTracker("mlflow", _mlflow, suffixes=DATABASES),
    LateTracker("trackio", _trackio, suffixes=DATABASES),
)

__all__ = ["TRACKERS", "Followed", "Follower", "TrackedRun", "Tracker"]
