"""Experiment trackers that keep their runs in a store of their own (floor 2).

A new tracker is one module with a class as :mod:`rltui.sources.trackers.base` says, in
:data:`TRACKERS`. One whose runs are rows of a SQLite table needs only a dialect
(:mod:`rltui.sources.trackers.dialect`).
"""

from __future__ import annotations

from rltui.sources.trackers.base import Followed, Follower, TrackedRun, Tracker
from rltui.sources.trackers.mlflow_files import MlflowFiles
from rltui.sources.trackers.mlflow_sqlite import MlflowTables
from rltui.sources.trackers.store import RowStore
from rltui.sources.trackers.trackio_sqlite import TrackioTables

#: In the order in which they are asked whether a store is theirs.
TRACKERS: tuple[Tracker, ...] = (
    MlflowFiles(),
    RowStore("mlflow", MlflowTables()),
    RowStore("trackio", TrackioTables()),
)

__all__ = ["TRACKERS", "Followed", "Follower", "TrackedRun", "Tracker"]
