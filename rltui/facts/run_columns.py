"""Columns of the list of runs that the user chooses, and conditions on them.

``reward.best``, ``entropy@200`` (at a step), ``lr``; ``reward.best > 0.4 lr = 1e-5``. A name is
that of a tag, a metric, the title of one, or a hyperparameter, in this order. Nothing is computed
before it is asked for, and for a run again only after news of it.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from rltui.core.level import Direction
from rltui.core.text import clean
from rltui.facts.groups import as_number, level_at_end, sortable
from rltui.session import JudgedRun
from rltui.session.hyperparameters import canonical, last_part, main_rank
from rltui.store import Series

#: What a metric can be shown as; ``smooth`` is the mean of the last tenth.
STATS = ("last", "best", "min", "max", "mean", "smooth")
_SPEC = re.compile(rf"(?P<name>\S+?)(?:\.(?P<stat>{'|'.join(STATS)})|@(?P<step>\d{{1,18}}))?")
#: A condition in a filter; while its value is missing it holds for every run.
_CONDITION = re.compile(r"(?<!\S)([^\s<>=!]+)\s*(>=|<=|!=|==?|<|>)\s*(\S*)")
#: Logs round: a number is equal to one that is typed to this share.
_SAME = 1e-6
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": lambda a, b: math.isclose(a, b, rel_tol=_SAME),
}
_SIGNS["=="], _SIGNS["!="] = _SIGNS["="], lambda a, b: not _SIGNS["="](a, b)
#: Without the wrappers of arrays, which take twice as long for a short series.
_ENDS = {"min": np.minimum.reduce, "max": np.maximum.reduce}


Value = float | str | None


class _Kept(NamedTuple):
    made_of: tuple[int, int]
    value: Value
    down: bool
    """Whether lower is better, or it is a hyperparameter."""


class RunColumn:
    """One column."""

    def __init__(self, text: str) -> None:
        """``text`` names it, as the user writes it."""
        self._text, self._parts = text, _SPEC.fullmatch(text)
        self._kept: WeakKeyDictionary[JudgedRun, _Kept] = WeakKeyDictionary()

    def value(self, run: JudgedRun) -> Value:
        """The number of a run, as logged, or the text of a hyperparameter; None for none."""
        return self._of(run).value

    def _of(self, run: JudgedRun) -> _Kept:
        kept = self._kept.get(run)
        made_of = (run.version, run.hyperparameters.version)
        if kept is None or kept.made_of != made_of:
            found = _Kept(made_of, *_found(run, self._text, self._parts))
            if found.value is None and kept is not None and run.data.unloaded:
                found = kept._replace(made_of=made_of)  # known from before its points went
            kept = self._kept[run] = found
        return kept

    def ordered(self, runs: Sequence[JudgedRun], reverse: bool = False) -> list[int]:
        """Places of the runs, the best first: the largest, or the smallest where lower is better
        and for hyperparameters; those without a value last."""
        found = [self._of(run) for run in runs]
        known = [n for n, k in enumerate(found) if k.value is not None and k.value == k.value]
        down = any(found[n].down for n in known)
        known.sort(key=lambda n: sortable(found[n].value), reverse=down == reverse)
        return [*known, *sorted(set(range(len(runs))) - set(known))]


#: Columns by name, the newest last: conditions and lists share what they know.
_COLUMNS: dict[str, RunColumn] = {}
#: Framework and tags of a run -> name -> the tag that is meant: the runs of a sweep log the same
#: tags, and to look a name up takes longer than all else.
_TAGS: dict[tuple[object, ...], dict[str, str | None]] = {}
_MOST = 32
_MOST_TAGS = 4096


def column_of(text: str) -> RunColumn:
    """The column of this name."""
    column = _COLUMNS[text] = _COLUMNS.pop(text) if text in _COLUMNS else RunColumn(text)
    if len(_COLUMNS) > _MOST:
        del _COLUMNS[next(iter(_COLUMNS))]
    return column


def column_names(text: str) -> tuple[str, ...]:
    """The columns that a text names, parted by commas or blanks, each once."""
    return tuple(dict.fromkeys(clean(x) for x in re.split(r"[,\s]+", text) if x))


class Condition(NamedTuple):
    """``reward.best > 0.4``."""

    column: RunColumn
    sign: str
    wanted: str

    def holds(self, run: JudgedRun) -> bool:
        """Whether a run meets it; one without a value meets ``!=`` only."""
        value = self.column.value(run)
        a = as_number(value)
        b = as_number(self.wanted)
        if a is not None and b is not None:
            return _SIGNS[self.sign](a, b)
        same = value is not None and str(value).lower() == self.wanted.lower()
        return not self.wanted or (self.sign in ("=", "==", "!=") and same != (self.sign == "!="))


def conditions_in(text: str) -> tuple[list[Condition], str]:
    """The conditions in a filter, and the words that are none."""
    found = [Condition(column_of(m[1]), m[2], m[3]) for m in _CONDITION.finditer(text)]
    return found, _CONDITION.sub(" ", text) if found else text


def names_in(runs: Iterable[JudgedRun], *, settings: bool = True) -> list[str]:
    """Names that columns can have: metrics and other tags, then hyperparameters if ``settings``."""
    metrics = dict[str, None]()
    hyper = dict[str, None]()
    for run in runs:
        metrics |= {(i.key or t): None for t, i in run.infos.items()}
        names = run.settings if settings else ()
        hyper |= {(last_part(n) if main_rank(n) >= 0 else n): None for n in names}
    return [clean(name) for name in (*metrics, *hyper) if not re.search(r"[\s,]", name)]


def _found(run: JudgedRun, text: str, parts: re.Match[str] | None) -> tuple[Value, bool]:
    known = _known_names(run)
    tag = tag_named(run, text, known)
    if tag is not None:  # "reward.max" is a metric of its own
        parts = None
    elif parts is not None:
        tag = tag_named(run, parts["name"], known)
    if tag is None:
        values = run.settings
        named = (v for n, v in values.items() if last_part(n) == text and v is not None)
        value = values.get(text, next(named, None))
        return None if value is None else clean(canonical(value)), True
    down = run.infos[tag].direction is Direction.DOWN
    stat, step = (parts["stat"], parts["step"]) if parts else (None, None)
    return _statistic(run.shown(tag), stat or "last", step, down), down


def _known_names(run: JudgedRun) -> dict[str, str | None]:
    """The names that have been looked up in a run of these tags."""
    key = run.recognition and run.recognition.framework, tuple(run.infos)
    known = _TAGS.get(key)
    if known is None or len(known) >= _MOST_TAGS:
        if len(_TAGS) >= _MOST_TAGS:
            _TAGS.clear()
        known = _TAGS[key] = {}
    return known


def tag_named(run: JudgedRun, name: str, known: dict[str, str | None] | None = None) -> str | None:
    """The tag that a name means in a run; ``known``: see :func:`_known_names`."""
    if name in run.infos:
        return name
    known = _known_names(run) if known is None else known
    if name not in known:
        tags = [t for k in (name, f"{name}.mean") for t in run.tags_of_metrics((k,))]
        title = name.lower().replace("_", " ")
        tags += [t for t, i in run.infos.items() if i.title.lower() == title]
        known[name] = next(iter(tags), None)
    return known[name]


def _statistic(series: Series, stat: str, step: str | None, down: bool) -> float | None:
    """One number of a series; None without a point for it."""
    steps = series.steps
    values = series.values
    row = len(values) if step is None else int(np.searchsorted(steps, int(step), side="right"))
    if not row or (step is not None and steps[-1] < int(step)):
        return None
    if stat == "last":
        return float(values[row - 1])
    if stat == "smooth":
        return level_at_end(series)
    name = stat if stat != "best" else "min" if down else "max"
    found = float(_ENDS[name](values)) if name in _ENDS else math.nan
    if math.isfinite(found):  # what is not finite would be the smallest, or the largest
        return found
    finite = series.finite()[1]
    return float(getattr(finite, name)()) if len(finite) else None
