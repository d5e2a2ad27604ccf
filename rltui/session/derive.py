"""Metrics that no framework logs, and distinct titles for tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rltui.catalogue.model import Metric, TagInfo
from rltui.store.derived import Derived
from rltui.store.point_table import PointTable


def derive(
    table: PointTable, infos: Mapping[str, TagInfo], metrics: Mapping[str, Metric]
) -> dict[str, TagInfo]:
    """Add the series that the catalogue can derive from the tags of a run; their meanings by tag.

    A metric that the run logs itself is not derived.
    """
    logged: dict[str, str] = {}
    for tag, info in sorted(infos.items(), key=lambda item: item[1].order):
        if info.metric is not None and info.sign == 1.0 and info.scale == 1.0:
            logged.setdefault(info.metric.key, tag)
    found: dict[str, TagInfo] = {}
    for key, metric in metrics.items():
        how = metric.derived
        if how is None or key in logged or how.first not in logged or how.second not in logged:
            continue
        derived = Derived(how.how, logged[how.first], logged[how.second])
        table.derive(derived)
        source = f"rltui: {derived.how} of two logged metrics"
        found[derived.tag] = replace(TagInfo.of_metric(derived.tag, metric), source=source)
    return found


def distinguished(infos: Mapping[str, TagInfo]) -> dict[str, TagInfo]:
    """``infos`` with the whole tag as title where several tags would be called the same."""
    seen: dict[tuple[str, str], int] = {}
    for info in infos.values():
        name = (info.category.value, info.title)
        seen[name] = seen.get(name, 0) + 1
    return {
        tag: replace(info, title=tag)
        if info.metric is None and seen[(info.category.value, info.title)] > 1
        else info
        for tag, info in infos.items()
    }
