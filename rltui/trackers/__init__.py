"""Experiment trackers that keep their runs in a store of their own.

A new tracker is one module with a class that satisfies :mod:`rltui.trackers.base`, in
:data:`TRACKERS`. One whose runs are rows of a SQLite table needs only a dialect
(:mod:`rltui.trackers.sqlite.dialect`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.trackers.base import Followed, Follower, TrackedRun, Tracker
from rltui.trackers.mlflow_files import MlflowFiles
from rltui.trackers.sqlite.tracker import RowStore

if TYPE_CHECKING:
    from rltui.trackers.sqlite.stores import Stores


# what reads a database is imported when there is one


def _mlflow() -> Stores:
    from rltui.trackers.sqlite.mlflow import MlflowTables  # see above
    from rltui.trackers.sqlite.stores import Stores  # see above

    return Stores(MlflowTables())


def _trackio() -> Stores:
    from rltui.trackers.sqlite.stores import Stores  # see above
    from rltui.trackers.sqlite.trackio import TrackioTables  # see above

    return Stores(TrackioTables())


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
