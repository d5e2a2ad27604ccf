"""Experiment trackers that keep their runs in a store of their own.

A new tracker is one module with a class that satisfies :mod:`rltui.trackers.base`, in
:data:`TRACKERS`. One whose runs are rows of a SQLite table needs only a dialect
(:mod:`rltui.trackers.sqlite.schema`). The modules are imported when a name looks like a store.
"""

from __future__ import annotations

from rltui.trackers.base import DATABASES, Followed, Follower, TrackedRun, Tracker
from rltui.trackers.lazy import LazyTracker


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


#: The first one that claims a store gets it.
TRACKERS: tuple[Tracker, ...] = (
    LazyTracker("mlflow-files", _mlflow_files, inside=("meta.yaml", "metrics")),
    LazyTracker("mlflow", _mlflow, suffixes=DATABASES),
    LazyTracker("trackio", _trackio, suffixes=DATABASES),
)

__all__ = ["TRACKERS", "Followed", "Follower", "TrackedRun", "Tracker"]
