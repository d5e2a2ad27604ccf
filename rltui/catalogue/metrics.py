"""Reads the canonical metrics and the kinds of training: ``data/metrics.yaml`` and
``data/scenarios.yaml``. Knows no dialects.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

from rltui.catalogue.model import (
    Category,
    Derivation,
    Metric,
    Question,
    Range,
    Roles,
    Scenario,
    Spread,
    select,
)
from rltui.core.level import Direction
from rltui.core.yaml_document import Node, Table, nearest, read_document
from rltui.core.yaml_record import read_record

#: Statistics that make a family when they are the last part of a tag.
STATS = ("mean", "max", "min", "std", "median", "p10", "p50", "p90", "p95", "p99", "avg", "sum")

_CATEGORIES = tuple(c.value for c in Category)
_DIRECTIONS = tuple(d.value for d in Direction)


def read_category(node: Node) -> Category:
    """A category word; an error with the nearest one when it is unknown."""
    return Category(node.choice(_CATEGORIES))


def read_direction(node: Node) -> Direction:
    """A direction word."""
    return Direction(node.choice(_DIRECTIONS))


def read_range(node: Node) -> Range | None:
    """``{low: ..., high: ...}``; an empty mapping means none."""
    table = node.table()
    low, high = table.read("low", Node.number), table.read("high", Node.number)
    table.finish()
    if low is not None and high is not None and low > high:
        node.fail("low lies above high")
    return None if low is None and high is None else Range(low, high)


def check_key(node: Node, known: dict[str, Metric]) -> str:
    """An existing metric key; an error with the nearest one if there is none."""
    key = node.text()
    if key not in known:
        node.fail(f"unknown metric {key!r}", hint=nearest(key, known))
    return key


def _document(path: Path) -> Table:
    document = read_document(path).table()
    if document.need("schema").integer() != 1:
        document.need("schema").fail("this version of rltui reads schema 1")
    return document


def read_metrics(path: Path) -> dict[str, Metric]:
    """All metrics by key, in the order of the document.

    Raises DocumentError when the document is wrong.
    """
    out: dict[str, Metric] = {}
    links: list[Node] = []
    document = _document(path)
    for section in document.need("sections").items():
        table = section.table()
        category = read_category(table.need("category"))
        source = table.need("source").text()
        entries = table.need("metrics").table()
        for key, node in entries.pairs():
            for metric in _metric(key, node.table(), category, source, links, len(out)):
                if metric.key in out:
                    entries.key_node(key).fail(f"metric {metric.key!r} stands twice")
                out[metric.key] = metric
        table.finish()
    document.finish()
    for node in links:
        check_key(node, out)

    return out


def _metric(
    key: str, table: Table, category: Category, source: str, links: list[Node], order: int
) -> list[Metric]:
    """One entry: one metric, or one per statistic; ``order`` is that of the first. ``links``
    collects the nodes that name another metric."""
    title = table.need("title").text()
    short = table.read("short", Node.text) or title
    stats = table.read("stats", lambda node: [n.choice(STATS) for n in node.items()])
    part_of, per_token, tokens = (
        table.read(name, lambda node: _link(node, links)) or "" for name in _LINKS
    )
    whole = Metric(
        key,
        title,
        table.read("category", read_category) or category,
        table.read("also", read_category),
        table.read("unit", Node.text) or "",
        read_direction(table.need("direction")),
        table.read("healthy", read_range),
        table.need("meaning").text(),
        table.read("source", Node.text) or source,
        order,
        derived=table.read("derived", lambda node: _derivation(node, links)),
        part_of=part_of,
        per_token=per_token,
        tokens=tokens,
        waits=table.read("waits", Node.text) or "",
        spread=table.read("spread", lambda node: _spread(node, links)),
    )
    table.finish()

    return [_statistic(whole, short, s, order + i) for i, s in enumerate(stats or ())] or [whole]


def _statistic(whole: Metric, short: str, stat: str, order: int) -> Metric:
    """One statistic of a quantity; the range and direction are those of its mean."""
    own = replace(
        whole,
        key=f"{whole.key}.{stat}",
        order=order,
        family=whole.key,
        stat=stat,
        derived=None,
        per_token="",
        tokens="",
        waits="",
        spread=whole.spread if stat == "max" else None,
    )
    if stat == "mean":
        return own
    return replace(
        own,
        title=f"{short}, {stat}",
        direction=Direction.NONE if stat == "std" else whole.direction,
        healthy=None,
        meaning=f"{_STAT_WORDS.get(stat, stat)} of: {whole.meaning}",
    )


_STAT_WORDS = {"max": "Maximum", "min": "Minimum", "std": "Spread", "median": "Median"}


#: Names of the fields that hold the key of another metric.
_LINKS = ("part_of", "per_token", "tokens")


def _link(node: Node, seen: list[Node]) -> str:
    seen.append(node)
    return node.text()


def _spread(node: Node, seen: list[Node]) -> Spread:
    table = node.table()
    low = _link(table.need("low"), seen)
    mean = table.read("mean", lambda node: _link(node, seen)) or ""
    found = Spread(table.need("title").text(), low, mean)
    table.finish()
    return found


def _derivation(node: Node, seen: list[Node]) -> Derivation:
    table = node.table()
    how = table.need("how").choice(("difference", "ratio"))
    of = table.need("of").items()
    table.finish()
    if len(of) != 2:
        node.fail("'of' takes two metric keys")
    seen += of
    return Derivation(how, of[0].text(), of[1].text())


def read_scenarios(path: Path, metrics: dict[str, Metric]) -> tuple[tuple[Scenario, ...], Roles]:
    """All scenarios in order (the last one is the fallback), and the roles of metrics.

    Raises DocumentError when the document is wrong.
    """
    document = read_document(path).table()
    out: list[Scenario] = []
    for node in document.need("scenarios").items():
        table = node.table()
        ident, title = table.need("id").text(), table.need("title").text()
        names = table.read("algorithms", Node.texts) or ()
        headline = _keys(table.need("headline"), metrics)
        earned = table.read("reward", lambda node: _keys(node, metrics)) or ()
        questions = [read_record(n, Question) for n in table.need("questions").items()]
        for entry in table.need("questions").items():
            _keys(entry.table().need("metrics"), metrics)
        table.finish()
        out.append(Scenario(ident, title, names, headline, tuple(questions), earned))
    where = document.need("roles")
    roles = read_record(where, Roles)
    document.finish()
    for key in (getattr(roles, f.name) for f in fields(Roles) if f.name != "total_steps"):
        if key not in metrics:
            where.fail(f"unknown metric {key!r}", hint=nearest(key, metrics))

    return tuple(out), roles


def read_relations(path: Path, metrics: dict[str, Metric]) -> tuple[frozenset[str], ...]:
    """Sets of metric keys that are read together.

    Raises DocumentError when the document is wrong.
    """
    document = _document(path)
    nodes = document.need("relations").items()
    document.finish()
    return tuple(frozenset(select(_keys(node, metrics), metrics)) for node in nodes)


def _keys(node: Node, metrics: dict[str, Metric]) -> tuple[str, ...]:
    for item in node.items():
        for key in item.text().split("|"):
            if not select((key,), metrics):
                item.fail(f"unknown metric {key!r}", hint=nearest(key, metrics))
    return node.texts()
