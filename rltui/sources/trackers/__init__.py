"""Experiment trackers that keep their runs in a store of their own (floor 2).

A new tracker is one module with a class as :mod:`rltui.sources.trackers.base` says, in
:data:`TRACKERS`.
"""

from __future__ import annotations

from rltui.sources.trackers.base import Followed, Follower, TrackedRun, Tracker

#: In the order in which they are asked whether a store is theirs.
TRACKERS: tuple[Tracker, ...] = ()

__all__ = ["TRACKERS", "Followed", "Follower", "TrackedRun", "Tracker"]
