"""Experiment trackers that keep their runs in a store of their own.

A new tracker is one module with a class that derives from :class:`rltui.trackers.base.Tracker`, in
:data:`TRACKERS`. One whose runs are rows of a SQLite table needs only its tables
(:class:`rltui.trackers.sqlite.row_follower.RunTables`).
"""

from __future__ import annotations

from rltui.trackers.base import Followed, Follower, TrackedRun, Tracker
from rltui.trackers.mlflow_files import MlflowFiles
from rltui.trackers.sqlite.tracker import MlflowStore, TrackioStore

#: The first one that claims a store gets it.
TRACKERS: tuple[Tracker, ...] = (MlflowFiles(), MlflowStore(), TrackioStore())

__all__ = ["TRACKERS", "Followed", "Follower", "TrackedRun", "Tracker"]
