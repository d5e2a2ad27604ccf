"""Resolves the meaning of a tag in a dialect. Cached: each tag is looked up often.

The order, for whoever writes a dialect; the first that knows the tag decides:

1. the tag as written: an entry without wildcards, then without a prefix of the dialect
   (``prefixes``), then the pattern with the longest literal part. One for any score does not
   match a time, a speed, a spread or a count;
2. the tag as most loops would write it (``Avg Response Len`` is ``avg_response_len``);
3. its normal form (:mod:`rltui.catalogue.normal`) against those of the entries;
4. its readings: usual words, statistics, redundant prefixes;
5. a name that a console cut short (``train/param_noise_di...``), where only one can be meant; the
   normal form against the patterns with wildcards (``timing_s_gen`` is ``timing_s/gen``);
6. steps 1 to 4 in ``generic``, for tags that a user adds to those of the framework;
7. a guess from its words: category and title without a metric.

Entries of the dialect win over inherited ones. Where two entries of one document have the same
normal form or reading and mean different things, neither is meant: ambiguity is no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from rltui.catalogue.dialect import Entry, Prefixes
from rltui.catalogue.guess import (
    guessed_title,
    is_no_score,
    is_rate,
    label_text,
    plain_name,
    short_title,
    tag_family,
    unknown_tag,
    without_window,
)
from rltui.catalogue.model import Category, Metric, Metrics, TagInfo
from rltui.catalogue.normal import LEFT_OUT, TagReading, normal, reading, readings, usual_words
from rltui.catalogue.pattern import Pattern, normal_pattern, without_prefix
from rltui.catalogue.words import better, meant_by, words_of
from rltui.core.level import Direction
from rltui.core.template import fill
from rltui.core.text import Names

#: Categories that stay what they are under an evaluation prefix.
_KEPT = frozenset(
    {Category.PROGRESS, Category.TIMING, Category.ROLLOUT, Category.PERF, Category.SYSTEM}
)

#: What a tag takes from its entry, also where it means another metric than that.
_OF_ENTRY = (
    *("unit", "sign", "scale", "family", "stat", "labels", "part_of"),
    *("estimator", "where", "source", "guessed"),
)

#: Metrics of which an entry with wildcards may name any score, and labels that name its data.
_ANY_SCORE = frozenset({"val.score", "val.accuracy", "val.success_rate", "val.reward.mean"})
_REWARDS = re.compile(r"^(?:episode_return|reward\.raw)\.")
_ANY_OF_VAL = frozenset({"val.score", "val.other"})
_SOURCES = frozenset({"source", "env", "domain", "bench"})

#: Metrics whose common names mean one thing in this framework and another in that.
_UNSURE = ("kl.", "loss.kl", "val.kl.")

#: Fewest characters of a name that was cut short.
_CUT = 10

_PACKAGE = Path(__file__).resolve().parents[2]


_Key = TypeVar("_Key")


class Resolver:
    """Resolves the tags of one framework (and algorithm). Owned by the main thread.

    A layer holds the entries of one document; earlier layers win over later ones.
    """

    def __init__(
        self,
        layers: Sequence[Sequence[Entry]],
        prefixes: Prefixes,
        metrics: Metrics,
        algorithm: str | None = None,
        scenario: str | None = None,
        generic: Callable[[], Resolver] | None = None,
    ) -> None:
        self._metrics = metrics
        self._prefixes = prefixes
        self._generic = generic
        self._memo: dict[str, TagInfo] = {}
        self._exact: dict[str, Entry] = {}
        wild: list[tuple[int, int, bool, Entry]] = []
        for depth, layer in enumerate(layers):
            for entry in sorted(layer, key=lambda e: not e.algorithms):
                if not entry.meant_for(algorithm, scenario):
                    continue
                if entry.pattern.exact:
                    self._exact.setdefault(entry.pattern.text, entry)
                else:
                    wild.append((-entry.pattern.literal, depth, not entry.algorithms, entry))
        wild.sort(key=lambda w: w[:3])
        self._wild = [entry for *_, entry in wild]
        self._entries = [*self._exact.values(), *self._wild]
        self._wild_by: dict[str, list[Entry]] = {}
        """First letter of a tag -> the entries that may match it."""
        self._normal_wild_by: dict[str, list[tuple[Pattern, Entry]]] = {}
        """Entries with wildcards, by the first character of their normal form."""

    def resolve(self, tag: str) -> TagInfo:
        """Look up the meaning of ``tag``. An unknown tag gets a guessed category and title."""
        info = self._memo.get(tag)
        if info is None:
            info = self.known(tag)
            # a catch-all is no meaning
            is_open = info is None or (info.labels and info.key in _ANY_OF_VAL)
            if self._generic is not None and is_open:
                # the framework does not write the tag; a KL is not guessed: estimators differ
                added = self._generic().known(tag, patterns=False)
                is_sure = added and added.key and not added.key.startswith(_UNSURE)
                if added and is_sure and (info is None or added.is_held_out):
                    info = replace(added, added=True)
            if info is None:
                roles = (v for p, v in self._prefixes if without_prefix(tag, p) is not None)
                validation = next(roles, False)
                info = unknown_tag(tag, Category.VALIDATION if validation else None)
            self._memo[tag] = info
        return info

    @property
    def names(self) -> Collection[str]:
        """The tags that entries name without wildcards."""
        return self._exact.keys()

    @property
    def size(self) -> int:
        """Number of patterns."""
        return len(self._entries)

    @cached_property
    def metrics(self) -> frozenset[str]:
        """The keys of all metrics that have a name here."""
        return frozenset(e.metric.key for e in self._entries)

    def entries_of(self, key: str) -> list[tuple[str, str]]:
        """Pattern and ``file:line`` of every entry that maps to the metric ``key``."""
        own = (e for e in self._entries if e.metric.key == key)
        return [(e.pattern.text, place(e.path, e.line)) for e in own]

    def known(self, tag: str, *, patterns: bool = True) -> TagInfo | None:
        """Meaning of ``tag`` by an entry of the dialect, or None.

        Without ``patterns`` its normal form is not compared with patterns that have wildcards.
        """
        info = self._written(tag)
        if info is None and (name := plain_name(tag)) != tag:
            info = self._written(name)
        if info is None and tag.endswith(")") and (name := without_window(tag)) != tag:
            info = self._written(name)
        if info is None:
            info = self._respelt(tag)
        if info is None and patterns:
            info = self._cut(tag) or self._flattened(tag)
        if info is None and self._generic is None:
            info = self._by_words(tag)

        return info if info is None or info.tag == tag else replace(info, tag=tag)

    def _by_words(self, tag: str) -> TagInfo | None:
        """A name of no dialect, by what its words say."""
        meant = None if is_rate(tag) else meant_by(tag)
        if meant is None:
            return None
        if meant.held_out:
            rest = self.known(meant.name) if meant.name else None
            if rest is not None and rest.metric is not None and not rest.metric.is_other:
                return replace(self._held_out(rest), tag=tag)
            way = None if is_no_score(tag) else better(words_of(tag))
            if way is None:
                return None
            score = TagInfo.of_metric(tag, self._metrics["val.score"])
            return replace(score, direction=way, title=short_title(tag), where=_WORDS)
        found = self._written(meant.name)
        if found is None:
            return None
        if meant.in_ms:
            found = replace(found, scale=0.001, unit="ms")
        guessed = meant.guessed or found.guessed
        title = guessed_title(found.title) if guessed > found.guessed else found.title
        return replace(found, tag=tag, guessed=guessed, title=title, where=_WORDS)

    def _written(self, tag: str) -> TagInfo | None:
        exact = self._exact.get(tag)
        if exact is not None:
            return self._info(tag, exact, {})
        for prefix, validation in self._prefixes:
            name = without_prefix(tag, prefix)
            if name is not None and (info := self._match(tag, name)) is not None:
                return self._held_out(info) if validation else info
        return self._match(tag, tag)

    def _respelt(self, tag: str) -> TagInfo | None:
        for form, validation in self._forms(tag):
            found = self._normal.get(form)
            info = self._info(tag, found, {}) if found else self._read(tag, form)
            if info is not None:
                return self._held_out(info) if validation else info
        return None

    def _forms(self, tag: str) -> Iterator[tuple[str, bool]]:
        """The normal form of a tag, then without a prefix of the dialect, and whether that marks
        evaluation."""
        form = normal(tag)
        for prefix, validation in self._prefixes:
            head = f"{normal(prefix)}_"
            if form.startswith(head):
                if validation and form not in self._normal:  # eval_x is never a reading of x
                    yield form[len(head) :], True
                    return
                yield form, False
                yield form[len(head) :], validation
                return
        if form:
            yield form, False

    def _read(self, tag: str, form: str) -> TagInfo | None:
        if not self._readable.issuperset(usual_words(form)):
            return None
        for way in readings(form):
            found = self._readings.get((way.words, way.stat))
            if found is None and (way.words, way.stat) not in self._readings:
                found = self._readings.get((way.words, "" if way.stat == "mean" else "mean"))
                found = found if way.stat in ("", "mean") else None
            info = self._info(tag, found, {}) if found else self._statistic(tag, way)
            if info is None or info.metric is None or not way.suits(info.metric):
                continue
            return replace(info, scale=0.001, unit="ms") if way.unit == "ms" else info
        return None

    def _statistic(self, tag: str, way: TagReading) -> TagInfo | None:
        """Another statistic of a quantity whose mean is known: ``ep_ret_max`` of ``ep_ret``."""
        if way.stat in ("", "mean"):
            return None
        found = self._readings.get((way.words, "")) or self._readings.get((way.words, "mean"))
        if found is None or found.sign != 1.0:
            return None
        mean = found.metric
        own = self._metrics.get(f"{mean.family or mean.key}.{way.stat}")
        if own is None:
            return None
        kept = found.changes.items()
        changes = {k: v for k, v in kept if k not in ("title", "meaning", "direction")}
        return self._info(tag, replace(found, metric=own, changes=changes), {})

    def _cut(self, tag: str) -> TagInfo | None:
        """A name that a console cut short, ``train/param_noise_di...``: when only one can be
        meant."""
        stem = tag.removesuffix("...")
        if stem == tag or len(stem) < _CUT:
            return None
        found = [at for text, at in self._exact.items() if text.startswith(stem)]
        if not found or not all(entry.means_as(found[0]) for entry in found):
            return None
        return self._info(tag, found[0], {})

    def _flattened(self, tag: str) -> TagInfo | None:
        form = normal(tag)
        known = self._normal_wild_by.get(form[:1])
        if known is None:
            known = []
            for entry in self._wild:
                begin = entry.pattern.prefix
                # ``*/KL`` would be whatever ends in kl: ``foo/bar_kl``
                if begin and normal(begin)[:1] in ("", form[:1]):
                    pattern = normal_pattern(entry.pattern, normal)
                    known += [] if pattern is None else [(pattern, entry)]
            self._normal_wild_by[form[:1]] = known
        for pattern, entry in known:
            if form.startswith(pattern.prefix) and (labels := pattern.match(form)) is not None:
                return None if entry.is_mistaken_for(tag) else self._info(tag, entry, labels)
        return None

    @cached_property
    def _normal(self) -> dict[str, Entry | None]:
        out: dict[str, Entry | None] = {}
        for text, found in self._exact.items():
            _index(out, normal(text), found)
        return out

    @cached_property
    def _readings(self) -> dict[tuple[Names, str], Entry | None]:
        out: dict[tuple[Names, str], Entry | None] = {}
        for form, found in self._normal.items():
            if found is not None:
                way = reading(form)
                _index(out, (way.words, way.stat), found)
        return out

    @cached_property
    def _readable(self) -> frozenset[str]:
        """The words of names that may have a known reading; most names of unknown tags have others,
        such as numbers."""
        return frozenset(word for words, _ in self._readings for word in words) | LEFT_OUT

    def _match(self, tag: str, text: str) -> TagInfo | None:
        """Meaning of ``tag`` by the entry that matches ``text``, the tag or its end."""
        exact = self._exact.get(text)
        if exact is not None:
            return self._info(tag, exact, {})
        known = self._wild_by.get(text[:1])
        if known is None:
            known = [e for e in self._wild if e.pattern.prefix[:1] in ("", text[:1])]
            self._wild_by[text[:1]] = known
        for entry in known:
            if text.startswith(entry.pattern.prefix):
                labels = entry.pattern.match(text)
                if labels is not None and not entry.is_mistaken_for(text):
                    return self._info(tag, entry, labels)
        return None

    def _info(self, tag: str, entry: Entry, labels: dict[str, str]) -> TagInfo:
        metric = entry.metric
        info = TagInfo.of_metric(tag, metric)
        family = None
        if metric.stat or tag.count("/") > 1:  # train/std is no member of train/*
            family = tag_family(tag, metric.stat)
        changes = dict(entry.changes)
        metric, way = self._with_direction(tag, entry, labels)
        if metric is not entry.metric:
            info = replace(TagInfo.of_metric(tag, metric), unit=info.unit)
        changes["direction"] = way
        for name in ("title", "unit"):
            if name in changes:
                text = fill(changes[name], lambda label, form: label_text(labels[label], form))
                changes[name] = text
        if entry.changes.get("guessed"):
            changes["title"] = guessed_title(changes.get("title", info.title))

        return replace(
            info,
            family=family[0] if family else None,
            stat=family[1] if family else None,
            where=f"{place(entry.path, entry.line)} {entry.pattern.text}",
            source=entry.source or info.source,
            **(changes | {"labels": {**changes.get("labels", {}), **labels}}),
        )

    def _with_direction(
        self, tag: str, entry: Entry, labels: dict[str, str]
    ) -> tuple[Metric, Direction]:
        """The metric of an entry and which way is good. Where it is for any score of held-out data,
        the words of the tag say that, first those that name no data set."""
        metric = entry.metric
        given = entry.changes.get("direction")
        way = given or metric.direction
        is_open = given is Direction.NONE or not (given or entry.pattern.exact)
        if not is_open or metric.key not in _ANY_SCORE:
            return metric, way
        rest = tag
        for name in _SOURCES.intersection(labels):
            rest = rest.replace(labels[name], "/", 1)
        said = better(words_of(rest)) or better(words_of(tag))
        if said is Direction.DOWN:
            return self._metrics["val.score"], said
        if said is None and (way is Direction.NONE or rest == tag) and metric.key == "val.score":
            return self._metrics["val.other"], Direction.NONE
        return metric, said or way

    def _held_out(self, info: TagInfo) -> TagInfo:
        """Turn a quantity into its measurement in evaluation: with a key of its own, so that rules
        do not mix them."""
        metric = info.metric
        if metric is None or metric.category is Category.VALIDATION:
            return replace(info, category=Category.VALIDATION)
        key = _REWARDS.sub("reward.", metric.key).replace("loss.total", "loss")
        keys = (f"val.{key}", f"val.{key.removesuffix('.mean')}")
        known = next((self._metrics[k] for k in keys if k in self._metrics), None)
        own = None if known is None else TagInfo.of_metric(info.tag, known)
        # a figure of training measured in evaluation is a score where it is known what is good
        said = better(words_of(info.tag))
        if metric.is_other:
            said = said or info.direction
        agrees = metric.is_other or said is info.direction
        may_be = agrees and said not in (None, Direction.NONE) and (metric.is_other or own is None)
        if may_be and not metric.key.startswith("loss."):
            score = TagInfo.of_metric(info.tag, self._metrics["val.score"])
            direction = said or score.direction
            own = replace(score, title=f"eval {info.title}", direction=direction)
        if own is not None:
            return replace(own, **{name: getattr(info, name) for name in _OF_ENTRY})
        changes: dict[str, Any] = {
            "title": f"eval {info.title}",
            "category": info.category if info.category in _KEPT else Category.VALIDATION,
            "also": None,
            "healthy": None,
        }

        return replace(info, metric=metric._replace(key=f"val.{metric.key}", **changes), **changes)


def _index(out: dict[_Key, Entry | None], key: _Key, found: Entry) -> None:
    """Add an entry under a key; None where two of one document mean different things."""
    if key not in out:
        out[key] = found
        return
    known = out[key]
    if known is not None and known.path == found.path and not known.means_as(found):
        out[key] = None


def place(path: Path, line: int) -> str:
    """``file:line``, relative to the checkout or site directory for shipped documents."""
    return f"{_shown(path)}:{line}"


@lru_cache(maxsize=256)
def _shown(path: Path) -> Path:
    with suppress(ValueError):
        return path.resolve().relative_to(_PACKAGE)
    return path


#: Where what the words of a name say is written.
_WORDS = f"{place(Path(__file__).parent / 'data' / 'words.yaml', 1)} {{words}}"
