"""Limits that are no parameters of a rule, each with its reason: documents under ``data/``."""

from __future__ import annotations

from typing import NamedTuple

from rltui.core.yaml_record import Count, Limit, shipped_record

#: Fewest rows that show a course.
COURSE_ROWS = 8
#: Places that show a course of any length: as fine as any screen, and their cost is bounded.
MOST_PLACES = 512
#: Rows whose neighbours show how noisy a metric is, and how many of their differences are a change.
NOISE_ROWS = 50
VISIBLE = 8


class MoveLimits(NamedTuple):
    """When a metric left its usual level; ``moved`` in ``data/movement.yaml``."""

    rows_before: Count
    rows_after: Count
    usual_rows: Count
    usual_least: Count
    sigmas: Limit
    share: Limit
    drifts: Limit
    far_inside: Limit


class SettingLimits(NamedTuple):
    """When a setting jumped; ``setting`` in ``data/movement.yaml``."""

    rows_before: Count
    factor: Limit
    least_rows: Count
    usual_share: Limit
    same: Limit


class TrendLimits(NamedTuple):
    """When a trend is clear enough to be drawn out; ``trend`` in ``data/movement.yaml``."""

    share: Limit
    least_rows: Count
    blocks: Count
    agreeing: Limit
    band_low: Limit
    band_high: Limit


class SeamLimits(NamedTuple):
    """When a metric jumped at a restart; ``seam`` in ``data/movement.yaml``."""

    rows: Count
    times: Limit
    share: Limit
    most: Count


class StoryLimits(NamedTuple):
    """Which findings belong together; ``story`` in ``data/movement.yaml``."""

    onset_rows: Limit
    reach_rows: Count
    anchored: Count


class Movement(NamedTuple):
    """``data/movement.yaml``; see there for the meaning of each limit."""

    moved: MoveLimits
    setting: SettingLimits
    trend: TrendLimits
    seam: SeamLimits
    story: StoryLimits


def movement() -> Movement:
    """Reads the shipped document once. Raises DocumentError."""
    return shipped_record(Movement, "health", "data", "movement.yaml")
