"""Limits that are no parameters of a rule, each with its reason: documents under ``data/``."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import TypeVar

from rltui.core.yaml_document import Node, shipped_table

_Limits = TypeVar("_Limits")


@dataclass(frozen=True, slots=True)
class MoveLimits:
    """When a metric left its usual level; ``moved`` in ``data/movement.yaml``."""

    rows_before: int
    rows_after: int
    usual_rows: int
    usual_least: int
    sigmas: float
    share: float
    drifts: float
    far_inside: float


@dataclass(frozen=True, slots=True)
class SettingLimits:
    """When a setting jumped; ``setting`` in ``data/movement.yaml``."""

    rows_before: int
    factor: float
    least_rows: int
    usual_share: float
    same: float


@dataclass(frozen=True, slots=True)
class TrendLimits:
    """When a trend is clear enough to be drawn out; ``trend`` in ``data/movement.yaml``."""

    share: float
    least_rows: int
    blocks: int
    agreeing: float
    band_low: float
    band_high: float


@dataclass(frozen=True, slots=True)
class StoryLimits:
    """Which findings belong together; ``story`` in ``data/movement.yaml``."""

    onset_rows: float
    reach_rows: int
    anchored: int


@dataclass(frozen=True, slots=True)
class Movement:
    """``data/movement.yaml``; see there for the meaning of each limit."""

    moved: MoveLimits
    setting: SettingLimits
    trend: TrendLimits
    story: StoryLimits


@cache
def movement() -> Movement:
    """Reads the shipped document once. Raises DocumentError."""
    table = shipped_table("health", "data", "movement.yaml")
    found = Movement(
        moved=read_limits(table.need("moved"), MoveLimits),
        setting=read_limits(table.need("setting"), SettingLimits),
        trend=read_limits(table.need("trend"), TrendLimits),
        story=read_limits(table.need("story"), StoryLimits),
    )
    table.finish()
    return found


def read_limits(node: Node, record: type[_Limits]) -> _Limits:
    """A record of numbers from ``{name: {value: 3, source: why}}``; every limit needs both.

    Raises DocumentError.
    """
    table = node.table()
    values: dict[str, float] = {}
    for field in fields(record):  # type: ignore[arg-type]
        entry = table.need(field.name).table()
        value, reason = entry.need("value"), entry.need("source")
        values[field.name] = value.integer() if field.type == "int" else value.number()
        if not reason.text().strip():
            reason.fail("the reason is missing")
        entry.finish()
    table.finish()

    return record(**values)
