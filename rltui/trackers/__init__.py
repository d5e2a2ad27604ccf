"""Experiment trackers that keep their runs in a store of their own.

A new tracker is one module with a class that derives from :class:`rltui.trackers.base.Tracker`, in
:data:`TRACKERS`. One whose runs are rows of a SQLite table needs only its tables
(:class:`rltui.trackers.sqlite.row_follower.RunTables`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.trackers.base import Followed, Follower, TrackedRun, Tracker
from rltui.trackers.mlflow_files import MlflowFiles
from rltui.trackers.sqlite.tracker import RowStore

if TYPE_CHECKING:
    from rltui.trackers.sqlite.row_follower import RunTables


def _mlflow() -> RunTables:
    from rltui.trackers.sqlite.mlflow import MlflowTables  # imported when there is a database

    return MlflowTables()


def _trackio() -> RunTables:
    from rltui.trackers.sqlite.trackio import TrackioTables  # as above

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
