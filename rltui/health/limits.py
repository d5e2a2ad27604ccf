"""Limits that are no parameters of a rule, each with its reason: documents under ``data/``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, NamedTuple, TypeVar, get_type_hints

from rltui.core.yaml_document import Node
from rltui.core.yaml_record import Keyed, shipped_record

_Limits = TypeVar("_Limits")


def limits_of(record: type[_Limits]) -> Callable[[Node], _Limits]:
    """What reads a record of numbers from ``{name: {value: 3, source: why}}``; every limit needs
    both. It raises DocumentError."""

    def read(node: Node) -> _Limits:
        table = node.table()
        values: dict[str, float] = {}
        for name, kind in get_type_hints(record).items():
            entry = table.need(name).table()
            value, reason = entry.need("value"), entry.need("source")
            values[name] = value.integer() if kind is int else value.number()
            if not reason.text().strip():
                reason.fail("the reason is missing")
            entry.finish()
        table.finish()

        return record(**values)

    return read


class MoveLimits(NamedTuple):
    """When a metric left its usual level; ``moved`` in ``data/movement.yaml``."""

    rows_before: int
    rows_after: int
    usual_rows: int
    usual_least: int
    sigmas: float
    share: float
    drifts: float
    far_inside: float


class SettingLimits(NamedTuple):
    """When a setting jumped; ``setting`` in ``data/movement.yaml``."""

    rows_before: int
    factor: float
    least_rows: int
    usual_share: float
    same: float


class TrendLimits(NamedTuple):
    """When a trend is clear enough to be drawn out; ``trend`` in ``data/movement.yaml``."""

    share: float
    least_rows: int
    blocks: int
    agreeing: float
    band_low: float
    band_high: float


class SeamLimits(NamedTuple):
    """When a metric jumped at a restart; ``seam`` in ``data/movement.yaml``."""

    rows: int
    times: float
    share: float
    most: int


class StoryLimits(NamedTuple):
    """Which findings belong together; ``story`` in ``data/movement.yaml``."""

    onset_rows: float
    reach_rows: int
    anchored: int


class Movement(NamedTuple):
    """``data/movement.yaml``; see there for the meaning of each limit."""

    moved: Annotated[MoveLimits, Keyed(read=limits_of(MoveLimits))]
    setting: Annotated[SettingLimits, Keyed(read=limits_of(SettingLimits))]
    trend: Annotated[TrendLimits, Keyed(read=limits_of(TrendLimits))]
    seam: Annotated[SeamLimits, Keyed(read=limits_of(SeamLimits))]
    story: Annotated[StoryLimits, Keyed(read=limits_of(StoryLimits))]


@cache
def movement() -> Movement:
    """Reads the shipped document once. Raises DocumentError."""
    return shipped_record(Movement, "health", "data", "movement.yaml")
