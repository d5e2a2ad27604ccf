"""Experiment trackers that keep their runs in a store of their own.

A new tracker is one module with a class that satisfies :mod:`rltui.trackers.base`, in
:data:`TRACKERS`. One whose runs are rows of a SQLite table needs only a dialect
(:mod:`rltui.trackers.sqlite.schema`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.trackers.base import Followed, Follower, TrackedRun, Tracker
from rltui.trackers.mlflow_files import MlflowFiles
from rltui.trackers.sqlite.sqlite_tracker import RowStore

if TYPE_CHECKING:
    from rltui.trackers.sqlite.schema import Dialect


def _mlflow() -> Dialect:
    from rltui.trackers.sqlite.mlflow import MlflowTables

    return MlflowTables()


def _trackio() -> Dialect:
    from rltui.trackers.sqlite.trackio import TrackioTables

    return TrackioTables()


#: The first one that claims a store gets it.
TRACKERS: tuple[Tracker, ...] = (
    MlflowFiles(),
    RowStore(
        "mlflow",
        _mlflow,
        files="`mlflow.db`, `mlruns.db`, `*.db`",
        written_by="MLflow's database: each of its runs, read without locking it",
    ),
    RowStore(
        "trackio",
        _trackio,
        files="`PROJECT.db`",
        written_by="trackio's database: each of its runs",
    ),
)

__all__ = ["TRACKERS", "Followed", "Follower", "TrackedRun", "Tracker"]
