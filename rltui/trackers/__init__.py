"""Experiment trackers that keep their runs in a store of their own.

A new tracker is one module with a class that derives from :class:`rltui.trackers.base.Tracker`, in
:data:`TRACKERS`. One whose runs are rows of a SQLite table needs only its tables
(:class:`rltui.trackers.sqlite.row_follower.RunTables`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rltui.trackers.base import Followed, Follower, TrackedRun, Tracker
from rltui.trackers.mlflow_files import MlflowFiles
from rltui.trackers.sqlite.tracker import RowStore

if TYPE_CHECKING:
    from rltui.trackers.sqlite.row_follower import RunTables


def _tables(name: str) -> RunTables:
    """The reader of a tracker's tables."""
    from rltui.trackers.sqlite import mlflow, trackio  # most directories have no database

    return mlflow.MlflowTables() if name == "mlflow" else trackio.TrackioTables()


#: The first one that claims a store gets it.
TRACKERS: tuple[Tracker, ...] = (
    MlflowFiles(),
    RowStore(
        "mlflow",
        partial(_tables, "mlflow"),
        files="`mlflow.db`, `mlruns.db`, `*.db`",
        written_by="MLflow's database: each of its runs, read without locking it",
    ),
    RowStore(
        "trackio",
        partial(_tables, "trackio"),
        files="`PROJECT.db`",
        written_by="trackio's database: each of its runs",
    ),
)

__all__ = ["TRACKERS", "Followed", "Follower", "TrackedRun", "Tracker"]
