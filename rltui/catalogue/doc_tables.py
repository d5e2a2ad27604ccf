"""Rows for the generated tables of frameworks and metrics in the documentation."""

from __future__ import annotations

from dataclasses import dataclass

from rltui.catalogue.catalogue import Catalogue
from rltui.catalogue.model import Metric, Range


@dataclass(frozen=True, slots=True)
class FrameworkRow:
    """One framework that rltui knows."""

    id: str
    title: str
    algorithms: tuple[str, ...]
    patterns: int
    """Tag patterns, including inherited ones."""
    recognised_by: tuple[str, ...]
    """Strong patterns of the fingerprint."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric and the patterns that write it, per framework."""

    metric: Metric
    healthy: str
    patterns: tuple[tuple[str, str], ...]
    """Framework id and pattern."""


def range_words(healthy: Range | None) -> str:
    """The range in words: ``≤ 0.2``, ``0.1 to 2``, or nothing."""
    if healthy is None:
        return ""
    if healthy.low is None:
        return f"≤ {healthy.high:g}"
    if healthy.high is None:
        return f"≥ {healthy.low:g}"
    return f"{healthy.low:g} to {healthy.high:g}"


def framework_rows(catalogue: Catalogue) -> list[FrameworkRow]:
    """All frameworks, in the order in which they are tried."""
    out = []
    for suspect in catalogue.suspects:
        marks = suspect.head.fingerprint
        groups = [p.text for p in marks.strong] if marks else []
        groups += [" + ".join(p.text for p in g) for g in marks.together] if marks else []
        names = dict.fromkeys(m.name for m in suspect.algorithms)
        dialect = catalogue.dialects[suspect.head.id]
        size = catalogue.resolver(dialect.id).size
        out.append(FrameworkRow(dialect.id, dialect.title, tuple(names), size, tuple(groups)))
    return out


def metric_rows(catalogue: Catalogue) -> list[MetricRow]:
    """All metrics in display order."""
    patterns: dict[str, list[tuple[str, str]]] = {}
    for dialect in catalogue.dialects.values():
        for entry in catalogue.entries(dialect.id):
            patterns.setdefault(entry.metric.key, []).append((dialect.id, entry.pattern.text))
    return [
        MetricRow(metric, range_words(metric.healthy), tuple(patterns.get(key, ())))
        for key, metric in catalogue.metrics.items()
    ]
