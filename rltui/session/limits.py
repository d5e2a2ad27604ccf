"""Limits of the anatomy of a step, of groups and of gates, from ``data/limits.yaml``."""

from __future__ import annotations

from functools import cache
from typing import Annotated, NamedTuple

from rltui.core.yaml_record import Keyed, shipped_record
from rltui.health.limits import limits_of


class StageLimits(NamedTuple):
    """Which timers are stages of a step, and when it got slower; ``stages`` in the document."""

    recent: int
    warm_up: int
    usual: int
    smooth: int
    occasional: float
    fits: float
    unrelated: float
    slower: float
    as_usual: float


class GroupLimits(NamedTuple):
    """When two groups of runs differ; ``groups`` in the document."""

    last_share: float
    chance: float


class GateLimits(NamedTuple):
    """How seldom a good run may fail a gate; ``gate`` in the document."""

    chance: float
    runs: int


class SessionLimits(NamedTuple):
    """``data/limits.yaml``; see there for the meaning of each limit."""

    stages: Annotated[StageLimits, Keyed(read=limits_of(StageLimits))]
    groups: Annotated[GroupLimits, Keyed(read=limits_of(GroupLimits))]
    gate: Annotated[GateLimits, Keyed(read=limits_of(GateLimits))]


@cache
def session_limits() -> SessionLimits:
    """Reads the shipped document once. Raises DocumentError."""
    return shipped_record(SessionLimits, "session", "data", "limits.yaml")
