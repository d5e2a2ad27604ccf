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


def _mlflow() -> Stores:
    from rltui.trackers.sqlite.mlflow import MLFLOW  # it is imported when there is a database

    return MLFLOW


def _trackio() -> Stores:
    from rltui.trackers.sqlite.trackio import TRACKIO  # as above

    return TRACKIO


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
