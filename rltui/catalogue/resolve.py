"""Resolves the meaning of a tag in a dialect. Cached: each tag is looked up often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from rltui.catalogue.dialect import Entry
from rltui.catalogue.guess import label_text, plain_name, tag_family, unknown_tag
from rltui.catalogue.model import Category, Metric, TagInfo
from rltui.core.template import fill

#: Categories that stay what they are under an evaluation prefix.
_KEPT = frozenset({Category.PROGRESS, Category.TIMING, Category.PERF, Category.SYSTEM})

#: What a tag takes from its entry, also where it means another metric than that.
_OF_ENTRY = ("unit", "sign", "scale", "family", "stat", "labels", "estimator", "where", "source")

_PACKAGE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Layer:
    """The entries of one document; earlier layers win over later ones."""

    path: Path
    entries: tuple[Entry, ...]


class Resolver:
    """Resolves the tags of one framework (and algorithm). Owned by the main thread."""

    def __init__(
        self,
        layers: Sequence[Layer],
        prefixes: tuple[tuple[str, bool], ...],
        metrics: dict[str, Metric],
        algorithm: str | None = None,
    ) -> None:
        self._metrics = metrics
        self._prefixes = prefixes
        self._memo: dict[str, TagInfo] = {}
        self._exact: dict[str, tuple[Entry, Path]] = {}
        wild: list[tuple[int, int, int, Entry, Path]] = []
        for depth, layer in enumerate(layers):
            for entry in sorted(layer.entries, key=lambda e: not e.algorithms):
                if entry.algorithms and algorithm not in entry.algorithms:
                    continue
                if entry.pattern.exact:
                    self._exact.setdefault(entry.pattern.text, (entry, layer.path))
                else:
                    rank = -entry.pattern.literal
                    wild.append((rank, depth, not entry.algorithms, entry, layer.path))
        wild.sort(key=lambda w: w[:3])
        self._wild = [(entry, path) for *_, entry, path in wild]

    def resolve(self, tag: str) -> TagInfo:
        """What ``tag`` means. An unknown tag gets a guessed category and title."""
        info = self._memo.get(tag)
        if info is None:
            info = self._memo[tag] = self._resolve(tag)
        return info

    @property
    def size(self) -> int:
        """Number of patterns."""
        return len(self._exact) + len(self._wild)

    def entries_of(self, key: str) -> list[tuple[str, str]]:
        """Pattern and ``file:line`` of every entry that maps to the metric ``key``."""
        pool = [*self._exact.values(), *self._wild]
        return [(e.pattern.text, place(path, e.line)) for e, path in pool if e.metric.key == key]

    def _resolve(self, tag: str, *, plain: bool = False) -> TagInfo:
        exact = self._exact.get(tag)
        if exact is not None:
            return self._info(tag, *exact, {})
        for prefix, validation in self._prefixes:
            if tag.startswith(prefix) and len(tag) > len(prefix):
                found = self._match(tag[len(prefix) :])
                if found is None:
                    continue
                info = self._info(tag, *found)
                return self._held_out(info) if validation else info
        found = self._match(tag)
        if found is not None:
            return self._info(tag, *found)
        name = plain_name(tag)
        if not plain and name != tag:
            info = self._resolve(name, plain=True)
            if info.metric is not None:
                return replace(info, tag=tag)
        for prefix, validation in self._prefixes:
            if tag.startswith(prefix) and len(tag) > len(prefix):
                return unknown_tag(tag, Category.VALIDATION if validation else None)
        return unknown_tag(tag, None)

    def _match(self, tag: str) -> tuple[Entry, Path, dict[str, str]] | None:
        exact = self._exact.get(tag)
        if exact is not None:
            return (*exact, {})
        for entry, path in self._wild:
            labels = entry.pattern.match(tag)
            if labels is not None:
                return entry, path, labels
        return None

    def _info(self, tag: str, entry: Entry, path: Path, labels: dict[str, str]) -> TagInfo:
        metric = entry.metric
        info = TagInfo.of_metric(tag, metric)
        family = None
        if metric.stat or tag.count("/") > 1:  # train/std is no member of train/*
            family = tag_family(tag, metric.stat)
        return replace(
            info,
            title=info.title if entry.title is None else _filled(entry.title, labels),
            category=entry.category or info.category,
            also=entry.also or info.also,
            unit=info.unit if entry.unit is None else _filled(entry.unit, labels),
            direction=entry.direction or info.direction,
            healthy=entry.healthy if entry.healthy_set else info.healthy,
            meaning=entry.meaning or info.meaning,
            sign=entry.sign,
            scale=entry.scale,
            family=family[0] if family else None,
            stat=family[1] if family else None,
            labels={**entry.labels, **labels},
            estimator=entry.estimator,
            where=f"{place(path, entry.line)} {entry.pattern.text}",
            source=entry.source or info.source,
        )

    def _held_out(self, info: TagInfo) -> TagInfo:
        """The same quantity measured in evaluation: its own key, so that rules do not mix them."""
        metric = info.metric
        if metric is None or metric.category is Category.VALIDATION:
            return replace(info, category=Category.VALIDATION)
        known = self._metrics.get(f"val.{metric.key}")
        if known is not None:
            own = TagInfo.of_metric(info.tag, known)
            return replace(own, **{name: getattr(info, name) for name in _OF_ENTRY})
        category = info.category if info.category in _KEPT else Category.VALIDATION
        held = replace(
            metric,
            key=f"val.{metric.key}",
            title=f"eval {info.title}",
            category=category,
            also=None,
            healthy=None,
        )
        return replace(
            info, metric=held, title=held.title, category=category, also=None, healthy=None
        )


def _filled(template: str, labels: Mapping[str, str]) -> str:
    return fill(template, lambda name, form: label_text(labels[name], form))


def place(path: Path, line: int) -> str:
    """``file:line``, relative to the checkout or site directory for shipped documents."""
    with suppress(ValueError):
        path = path.resolve().relative_to(_PACKAGE)
    return f"{path}:{line}"
