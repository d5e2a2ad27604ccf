"""Limits of the anatomy of a step, of groups and of gates, from ``data/limits.yaml``."""

from __future__ import annotations

from typing import NamedTuple

from rltui.core.yaml_record import Count, Limit, shipped_record


class StageLimits(NamedTuple):
    """Which timers are stages of a step, and when it got slower; ``stages`` in the document."""

    recent: Count
    warm_up: Count
    usual: Count
    smooth: Count
    occasional: Limit
    fits: Limit
    unrelated: Limit
    slower: Limit
    as_usual: Limit


class GroupLimits(NamedTuple):
    """When two groups of runs differ; ``groups`` in the document."""

    last_share: Limit
    chance: Limit


class GateLimits(NamedTuple):
    """How seldom a good run may fail a gate; ``gate`` in the document."""

    chance: Limit
    runs: Count


class SessionLimits(NamedTuple):
    """``data/limits.yaml``; see there for the meaning of each limit."""

    stages: StageLimits
    groups: GroupLimits
    gate: GateLimits


def session_limits() -> SessionLimits:
    """Reads the shipped document once. Raises DocumentError."""
    return shipped_record(SessionLimits, "session", "data", "limits.yaml")
