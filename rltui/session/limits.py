"""Limits of the anatomy of a step and of the comparison of groups, from ``data/limits.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rltui.core.yaml_document import shipped_table
from rltui.health.limits import read_limits


@dataclass(frozen=True, slots=True)
class StageLimits:
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


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """When two groups of runs differ; ``groups`` in the document."""

    last_share: float
    chance: float


@cache
def _limits() -> tuple[StageLimits, GroupLimits]:
    """Reads the shipped document once. Raises DocumentError."""
    table = shipped_table("session", "data", "limits.yaml")
    stages = read_limits(table.need("stages"), StageLimits)
    groups = read_limits(table.need("groups"), GroupLimits)
    table.finish()
    return stages, groups


def stage_limits() -> StageLimits:
    """The limits of the anatomy of a step."""
    return _limits()[0]


def group_limits() -> GroupLimits:
    """The limits of the comparison of groups."""
    return _limits()[1]
