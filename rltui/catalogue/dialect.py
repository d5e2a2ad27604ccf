"""A dialect: how one framework writes its tags. Reads ``data/dialects/*.yaml``.

A document has a head (identity, fingerprint, algorithms) and, from the line ``entries:`` on,
the body (patterns). Heads of all dialects are read at start, a body only when a run needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from rltui.catalogue.guess import LABEL_FORMATS, is_no_score, names_score
from rltui.catalogue.model import Category, Metric, Metrics, read_range
from rltui.catalogue.pattern import Pattern, PatternError, parse
from rltui.core.errors import DocumentError
from rltui.core.level import Direction
from rltui.core.record import record
from rltui.core.template import read_template
from rltui.core.text import Json, Names
from rltui.core.yaml_document import Node, parse_document, read_each
from rltui.core.yaml_record import Keyed, record_of

_BODY = "\nentries:"
#: In a tag and at the end of a metric: one entry for each statistic that the metric has.
_STAT = "{stat}"


def _pattern(node: Node) -> Pattern:
    try:
        return parse(node.text())
    except PatternError as error:
        node.fail(f"not a pattern: {error}")


def _patterns(node: Node) -> tuple[Pattern, ...]:
    return tuple(map(_pattern, [node] if isinstance(node.value, str) else node.items()))


_Patterns = Annotated[tuple[Pattern, ...], Keyed(read=_patterns)]


class Fingerprint(NamedTuple):
    """How a framework is recognised by the tags of a run."""

    strong: _Patterns = ()
    """Any one of them is enough."""
    together: tuple[_Patterns, ...] = ()
    """All of one group together count as a strong one."""
    supporting: _Patterns = ()
    """Counted when no strong one matches; at least two are needed."""
    excludes: _Patterns = ()
    """Any of these rules the framework out."""
    formats: Names = ()
    """Log formats that only this framework writes."""
    only: _Patterns = ()
    """Weak evidence: counts where a run has no other tags than these."""


class AlgorithmMark(NamedTuple):
    """An algorithm and the tags that indicate it; without conditions it is the default."""

    name: str
    any: _Patterns = ()
    all: _Patterns = ()
    none: _Patterns = ()


#: Text that trackers put in front of tags, and whether it marks evaluation.
Prefixes = tuple[tuple[str, bool], ...]


def _prefixes(node: Node) -> Prefixes:
    roles = [
        (text, role.choice(("training", "validation")) == "validation")
        for text, role in node.table().pairs()
    ]
    return tuple(sorted(roles, key=lambda p: -len(p[0])))


class Head(NamedTuple):
    """The head of a dialect document; what is None is inherited."""

    id: str
    path: Path
    title: str | None = None
    inherits_at: Annotated[Node | None, Keyed("inherits", lambda node: node)] = None
    """Where ``inherits`` stands, for errors."""
    rank: int | None = None
    """Order among look-alikes: the lower is tried first."""
    scenario: str | None = None
    """Fixed scenario of this framework, whatever the algorithm."""
    prefixes: Annotated[Prefixes | None, Keyed(read=_prefixes)] = None
    """Text that trackers put in front of tags, and whether it marks evaluation. ``*/eval/`` follows
    the first part of a tag."""
    fingerprint: Fingerprint | None = None
    algorithms: tuple[AlgorithmMark, ...] | None = None
    step_keys: Names | None = None
    """Names of the step in a row of its text logs, best first."""
    scenarios: tuple[AlgorithmMark, ...] | None = None
    """Scenarios indicated by tags where neither framework nor algorithm decides."""

    def over(self, below: Head) -> Head:
        """This head (of the user's document), completed from ``below``; an empty value counts."""
        return below._replace(**{n: v for n, v in self._asdict().items() if v is not None})


@record
class Entry:
    """One line of a body: the meaning of the tags of a pattern."""

    pattern: Pattern
    metric: Metric
    path: Path
    """The document that it stands in."""
    line: int
    source: str
    algorithms: Names = ()
    """Only for these algorithms; empty for all."""
    scenarios: Names = ()
    """Only in these scenarios; empty for all."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Fields of TagInfo that differ from those of the metric; title and unit are templates."""

    @property
    def sign(self) -> float:
        """Multiply a value by it to get the metric."""
        return float(self.changes.get("sign", 1.0))

    def meant_for(self, algorithm: str | None, scenario: str | None) -> bool:
        """Whether the entry counts for an algorithm and a scenario (None: not known)."""
        if self.algorithms and algorithm not in self.algorithms:
            return False
        return not self.scenarios or scenario is None or scenario in self.scenarios

    def means_as(self, other: Entry) -> bool:
        """Whether both entries say the same of a value."""
        mine = self.changes.get("scale", 1.0)
        its = other.changes.get("scale", 1.0)
        return (self.metric.key, self.sign, mine) == (other.metric.key, other.sign, its)

    def is_mistaken_for(self, tag: str) -> bool:
        """Whether the entry is for any score (``test/{what}``) and the tag that its pattern matches
        is none, but a time, a spread or a count (``test/collect_time``)."""
        key = self.metric.key
        pattern = self.pattern
        if not key.startswith(("val.", "reward.")):
            return False
        rest = tag[len(pattern.prefix) : len(tag) - len(pattern.suffix)]
        if names_score(pattern.text) or is_no_score(pattern.text) or not is_no_score(rest):
            return False
        return key.startswith("val.") or not names_score(rest)


def read_text(path: Path) -> str:
    """The text of a dialect document. Raises DocumentError when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"cannot be read: {error}", path=path) from error


def read_head(path: Path, text: str, scenarios: Collection[str]) -> Head:
    """The head of a document. Raises DocumentError when it is wrong."""
    cut = text.find(_BODY)
    table = parse_document(text if cut < 0 else text[: cut + 1], path).table()
    head = record_of(table, Head, path=path)
    table.get("entries")
    table.finish()

    marks = table.read("scenarios", Node.items) or ()
    for node in (table.get("scenario"), *(mark.table().need("name") for mark in marks)):
        if node is not None:
            node.choice(scenarios)
    return head


class _Group(NamedTuple):
    """Keys of some entries, besides their tags."""

    source: str = ""
    algorithms: Names = ()
    scenarios: Names = ()


def read_body(path: Path, text: str, metrics: Metrics) -> tuple[Entry, ...]:
    """The entries of a document. Raises DocumentError when one is wrong or two are tied."""
    table = parse_document(text, path).table()
    found: list[tuple[Entry, Node]] = []

    def read_group(group: Node) -> None:
        part = group.table()
        head = record_of(part, _Group)
        part.named((*_Group._fields, "tags"))
        tags = part.need("tags").table()
        only = tuple(a.upper() for a in head.algorithms)

        def read_tag(name: str, node: Node) -> None:
            key = tags.key_node(name)
            for pattern, metric, changes in _meanings(key, node, metrics):
                where = (key.path, key.line, changes.pop("source", head.source))
                found.append((Entry(pattern, metric, *where, only, head.scenarios, changes), key))

        read_each(tags.pairs(), read_tag)

    table.read("entries", lambda node: node.each(read_group))
    # no two patterns of one document may match the same tag equally well
    seen: dict[tuple[object, ...], list[Entry]] = {}
    for entry, key in () if table.node.is_kept else found:
        pattern = entry.pattern
        kind = (pattern.literal, pattern.exact, entry.algorithms, entry.scenarios)
        for other in seen.setdefault(kind, []):
            if other.pattern.ties(pattern):
                same = other.pattern.text == pattern.text
                what = "is defined twice" if same else f"ties with {other.pattern.text!r}"
                key.complain(f"pattern {pattern.text!r} {what} of line {other.line}")
        seen[kind].append(entry)
    return tuple(entry for entry, _ in found)


def _meanings(key: Node, node: Node, metrics: Metrics) -> Iterator[tuple[Pattern, Metric, Json]]:
    """Pattern, metric and changes of a line, or those of each statistic of ``value.{stat}``."""
    pattern = _pattern(key)
    named = node
    changes = Json()
    if not isinstance(node.value, str):
        table = node.table()
        given = table.named(("metric", *_CHANGES))
        named = table.need("metric")
        changes = _changes(given, pattern, metrics)
    base = named.text().removesuffix(f".{_STAT}")
    if base == named.text():
        yield pattern, metrics[named.name(metrics, "metric")], changes
        return
    family = [metric for metric in metrics.values() if metric.family == base]
    if not family or _STAT not in pattern.text:
        named.fail(f"{base!r} has no statistics, or the tag has no {_STAT}")
    for metric in family:
        stat = str(metric.stat)
        title = changes.get("title") if stat != "mean" else None
        own = changes | ({"title": f"{title}, {stat}"} if title else {})
        for word in ("mean", "avg") if stat == "mean" else (stat,):
            yield parse(pattern.text.replace(_STAT, word)), metric, dict(own)


def _changes(given: dict[str, Node], pattern: Pattern, metrics: Metrics) -> Json:
    changes = {k: v for k, v in given.items() if k in _CHANGES and v.value is not None}
    for name in sorted(changes.keys() & {"title", "unit"}):
        read_template(changes[name], pattern.names, LABEL_FORMATS)
    if "part_of" in changes and changes["part_of"].text():
        changes["part_of"].name(metrics, "metric")
    return read_each(changes.items(), lambda name, value: _CHANGES[name](value))


#: What an entry may say of its tags other than the metric, and how it is read.
_CHANGES: dict[str, Callable[[Node], object]] = {
    **dict.fromkeys(("title", "unit", "meaning", "estimator", "part_of", "source"), Node.text),
    **dict.fromkeys(
        ("category", "also"), lambda node: Category(node.choice(c.value for c in Category))
    ),
    "direction": lambda node: Direction(node.choice(d.value for d in Direction)),
    "healthy": read_range,
    "sign": lambda n: n.number() if abs(n.number()) == 1.0 else n.fail("sign is 1 or -1"),
    "scale": Node.number,
    "labels": lambda node: {name: text.text() for name, text in node.table().pairs()},
    "guessed": Node.boolean,
}
