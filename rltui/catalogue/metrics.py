"""Reads the canonical metrics and the kinds of training: ``data/metrics.yaml`` and
``data/scenarios.yaml``. Knows no dialects.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rltui.catalogue.model import (
    Category,
    Environments,
    Metric,
    Metrics,
    Question,
    RewardParts,
    Roles,
    Scenario,
    TabQuestions,
    select,
)
from rltui.core.level import Direction
from rltui.core.yaml_document import Node, Table, nearest, read_document
from rltui.core.yaml_record import read_record, record_of

#: Statistics that make a family when they are the last part of a tag.
STATS = ("mean", "max", "min", "std", "median", "p10", "p50", "p90", "p95", "p99", "avg", "sum")


def _document(path: Path) -> Table:
    document = read_document(path).table()
    if document.need("schema").integer() != 1:
        document.need("schema").fail("this version of rltui reads schema 1")
    return document


def read_metrics(path: Path) -> Metrics:
    """All metrics by key, in the order of the document.

    Raises DocumentError when the document is wrong.
    """
    out: Metrics = {}
    nodes: dict[str, Node] = {}
    document = _document(path)
    for section in document.need("sections").items():
        table = section.table()
        common = {
            "category": Category(table.need("category").choice(c.value for c in Category)),
            "source": table.need("source").text(),
        }
        entries = table.need("metrics").table()
        for key, node in entries.pairs():
            for metric in _metrics(key, node.table(), common, len(out)):
                if metric.key in out:
                    entries.key_node(key).fail(f"metric {metric.key!r} is defined twice")
                out[metric.key], nodes[metric.key] = metric, entries.key_node(key)
        table.finish()
    document.finish()

    for key, metric in out.items():
        linked = [metric.part_of, metric.per_token, metric.tokens]
        linked += [metric.derived.first, metric.derived.second] if metric.derived else []
        linked += [metric.spread.low, metric.spread.mean] if metric.spread else []
        for other in filter(None, linked):
            if other not in out:
                nodes[key].fail(f"unknown metric {other!r}", hint=nearest(other, out))
    return out


def _metrics(key: str, table: Table, common: Mapping[str, object], order: int) -> list[Metric]:
    """One entry: one metric, or one per statistic; ``common``: fields of the section, ``order``
    that of the first metric."""
    stats = table.read("stats", lambda node: [n.choice(STATS) for n in node.items()])
    short = table.read("short", Node.text)
    given = {name: value for name, value in common.items() if name not in table}
    whole = record_of(table, Metric, key=key, order=order, family=None, stat=None, **given)
    table.finish()

    found = []
    for number, stat in enumerate(stats or ()):
        own = whole._replace(
            key=f"{key}.{stat}",
            order=order + number,
            family=key,
            stat=stat,
            derived=None,
            per_token="",
            tokens="",
            waits="",
            zero="",
            spread=whole.spread if stat == "max" else None,
        )
        if stat != "mean":  # the range and direction are those of the mean
            own = own._replace(
                title=f"{short or whole.title}, {stat}",
                direction=Direction.NONE if stat == "std" else whole.direction,
                healthy=None,
                meaning=f"{_STAT_WORDS.get(stat, stat)} of: {whole.meaning}",
            )
        found.append(own)
    return found or [whole]


_STAT_WORDS = {"max": "Maximum", "min": "Minimum", "std": "Spread", "median": "Median"}


def read_scenarios(path: Path, metrics: Metrics) -> tuple[tuple[Scenario, ...], Roles]:
    """All scenarios in order (the last one is the fallback), and the roles of metrics.

    Raises DocumentError when the document is wrong.
    """
    document = read_document(path).table()
    out: list[Scenario] = []
    for node in document.need("scenarios").items():
        table = node.table()
        asked = [entry.table().need("metrics") for entry in table.need("questions").items()]
        for keys in (table.need("headline"), table.get("reward"), *asked):
            if keys is not None:
                _keys(keys, metrics)
        out.append(read_record(node, Scenario))
    where = document.need("roles")
    roles = read_record(where, Roles)
    document.finish()
    times = roles.step_time, roles.elapsed, roles.speed, roles.stage, roles.checkpoint
    single = (*times, roles.closing, roles.tokens)
    for key in (*single, *(k for keys in roles.against for k in keys.split("|"))):
        if key not in metrics:
            where.fail(f"unknown metric {key!r}", hint=nearest(key, metrics))

    return tuple(out), roles


def read_relations(path: Path, metrics: Metrics) -> dict[str, tuple[frozenset[str], ...]]:
    """Sets of metric keys that are read together (relations), and that one chart shows (pairs).

    Raises DocumentError when the document is wrong.
    """
    document = _document(path)
    nodes = {name: document.need(name).items() for name in ("relations", "pairs")}
    document.finish()
    return {
        name: tuple(frozenset(select(_keys(node, metrics), metrics)) for node in own)
        for name, own in nodes.items()
    }


def read_tabs(path: Path, metrics: Metrics) -> TabQuestions:
    """Read the questions of the tabs of categories.

    Raises DocumentError when the document is wrong.
    """
    document = _document(path)
    tabs = {}
    asked = document.need("tabs").table()
    for word, node in asked.pairs():
        for entry in node.items():
            _keys(entry.table().need("metrics"), metrics)
        category = Category(asked.key_node(word).choice(c.value for c in Category))
        tabs[category] = tuple(read_record(entry, Question) for entry in node.items())
    where = document.need("environments")
    for _, node in where.table().need("metrics").table().pairs():
        _keys(node, metrics)
    parts = document.need("reward")
    for name in ("totals", "success"):
        _keys(parts.table().need(name), metrics)
    found = TabQuestions(tabs, read_record(where, Environments), read_record(parts, RewardParts))
    document.finish()
    return found


def _keys(node: Node, metrics: Metrics) -> tuple[str, ...]:
    for item in node.items():
        for key in item.text().split("|"):
            if not select((key,), metrics):
                item.complain(f"unknown metric {key!r}", hint=nearest(key, metrics))
    return node.texts()
