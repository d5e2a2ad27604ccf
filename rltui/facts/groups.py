"""Groups of runs that differ in their seed alone: by name, or by a hyperparameter."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from rltui.catalogue.model import Category
from rltui.core.batch import RunKey
from rltui.core.block import FloatArray
from rltui.core.later import regex
from rltui.core.record import entity
from rltui.core.text import Names, clean
from rltui.facts.cache import per_version
from rltui.session.hyperparameters import canonical, differing_settings, last_part, value_text
from rltui.session.limits import session_limits
from rltui.session.run import JudgedRun
from rltui.sources.side_files.settings_files import NO_FACTS
from rltui.store import Series

#: Hyperparameters that runs of one setting may differ in: they say where and when, not what.
_WHERE = regex(
    r"(^|[._/-])random_state$|seed$"
    r"|(dir|path|file|name|time|date|host|port|id|uuid|url|address|rank)s?$",
    re.IGNORECASE,
)
#: Hyperparameters that say how long a run is and how often it is saved, not what it does.
_LENGTHS = regex(
    r"(total|max|num_train|train(ing)?)_?(train(ing)?_?)?(env_?)?"
    r"(steps|timesteps|iterations|iters|updates|episodes|epochs)$"
    r"|(^|[./])(num_updates|epochs|steps|timesteps|iterations|episodes)$"
    r"|(save|log(ging)?|eval|test|checkpoint)_(steps|freq(uency)?|interval|every)$",
    re.IGNORECASE,
)
#: Share by which the largest value of a schedule may lie beside its setting.
_NEAR = 0.1
#: Hyperparameters of which each two are crossed.
_MOST_CROSSED = 6
#: Between the names of two hyperparameters that runs are grouped by.
BY = " × "
#: Longer texts are no setting to group by.
_LONGEST = 40
#: A seed with its word: seed=3, seed_3, s3, run-2, trial 4, rep1.
_WORDED = regex(
    r"(?P<word>(?:^|(?<=[^a-zA-Z0-9]))(?:seed|s|run|trial|rep|try)[=_\- ]?)\d+"
    r"(?=$|[^a-zA-Z0-9.])",
    re.IGNORECASE,
)
#: A date, with or without a time, or seconds since the epoch.
_MOMENT = regex(
    r"(?<!\d)(?:20\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?:[-_T .]?\d\d[-_:.h]?\d\d(?:[-_:.m]?\d\d)?)?"
    r"|1[4-9]\d{8})(?!\d)"
)
#: A whole number that ends a part of the name, and the word before it.
_NUMBERED = regex(
    r"(?<![a-zA-Z0-9.])(?P<word>[a-zA-Z0-9.]*)(?P<gap>__|[_\- /]|^)\d{1,10}(?=$|/|__)"
)
_EXPONENT = regex(r"\de$", re.IGNORECASE)
#: Words whose number is a setting, not a seed.
_SETTINGS = frozenset(
    re.findall(
        r"\w+",
        "bs batch batchsize lr kl beta clip eps epoch epochs n k g len length max min gamma lam"
        " lambda rank size hidden layer layers steps temp ent coef gpu gpus rollout rollouts dim"
        " heads v b group samples warmup",
    )
)
#: All ways to share the runs out are tried up to this number, else this many at random.
_MOST_WAYS = 20_000
_SEED = 20_260_101
#: Of those at random no more are tried once this many differ as much: a large chance is known then.
_ENOUGH = 1_000
#: Random numbers that are drawn at once, and in all: fewer ways are tried for many runs.
_CHUNK = 1 << 17
_MOST_NUMBERS = 4_000_000
#: Runs that have a line of their own in a chart, each in a colour of its own.
LINES = 5
#: Hyperparameters in the label of a run.
_MOST_SETTINGS = 2


@entity
class Group:
    """Runs of one setting."""

    name: str
    runs: tuple[JudgedRun, ...]
    values: Names
    """Values of the hyperparameters that the runs are grouped by, else the name."""


@entity
class Grouping:
    """Runs by what they share."""

    title: str
    """``name``, or the hyperparameter."""
    groups: tuple[Group, ...]
    """In the order of their first run; the runs of a group have one algorithm."""


def folded_name(name: str) -> str:
    """A name with ``*`` for its seed: a number with a word of seeds, a time, the last number.

    >>> folded_name("grpo_lr1e-4_s3"), folded_name("CartPole-v1__ppo__1__1700000000")
    ('grpo_lr1e-4_s*', 'CartPole-v1__ppo__*__*')
    """
    folded = _MOMENT.sub("*", name)
    folded = _WORDED.sub(lambda m: m["word"] + "*", folded)

    def fold(found: re.Match[str]) -> str:
        word = found["word"].lower()
        if word in _SETTINGS or (found["gap"] == "-" and _EXPONENT.search(word)):
            return found[0]
        return f"{found['word']}{found['gap']}*"

    return _NUMBERED.sub(fold, folded)


@per_version
def logged_settings(run: JudgedRun, step: int | None = None) -> Mapping[str, float]:
    """Title -> value of the hyperparameters that are logged as metrics, the largest one so far, or
    that at a step."""
    found = {}
    for tag, info in run.infos.items():
        if info.category is Category.HYPER and (step is None or tag not in run.points.off_axis):
            series = run.shown(tag)
            end = series.count if step is None else series.rows_until(step)
            values = series.values[:end]
            values = values[np.isfinite(values)]
            if len(values):
                found[info.title] = float(values.max() if step is None else values[-1])
    return found


def is_unread(run: JudgedRun) -> bool:
    """Whether hyperparameters of a run may still be found, in its logs or in files beside them."""
    found = run.hyperparameters.values
    return run.data.files.reading or not (found or run.facts is not NO_FACTS)


class Sweep:
    """How some runs differ in their hyperparameters. Found once, for it takes time with many."""

    def __init__(self, runs: Sequence[JudgedRun]) -> None:
        self.runs = tuple(runs)
        self._known = _known_of(runs)

    def holds_for(self, runs: Sequence[JudgedRun]) -> bool:
        """Whether it is of these runs, and none has other hyperparameters, another algorithm or
        another name by now, or has been read since."""
        return self.runs == tuple(runs) and self._known == _known_of(runs)

    @cached_property
    def settings(self) -> dict[str, list[str]]:
        """Hyperparameters with different values among the runs, the main ones first, and the value
        in each run, in one form; without seeds, paths, names and long texts. One that is logged as
        a metric is left out where a setting has just its values."""
        found = dict[str, list[str]]()
        tables = [settings for settings, *_ in self._known]
        for name in differing_settings(tables):
            values = [table.get(name) for table in tables]
            short = (isinstance(v, (int, float, str)) and len(str(v)) <= _LONGEST for v in values)
            if not _WHERE.search(name) and any(short):
                words: dict[str, str] = {}
                found[name] = [
                    words.setdefault(canonical(value), setting_words(run, name))
                    for value, run in zip(values, self.runs, strict=True)
                ]
        given = found.keys() & {n for run in self.runs for n in run.settings}

        def is_new(name: str) -> bool:
            return name in given or not any(_tells(found[n], found[name]) for n in given)

        return {name: words for name, words in found.items() if is_new(name)}

    @cached_property
    def labels(self) -> list[tuple[str, str]]:
        """The name of each run, and as a note its values of the main hyperparameters in which the
        runs differ, but for those that the names hold: "fox", "(lr 1e-6)"."""
        found = [
            name
            for name in self.settings
            if not all((value := setting_of(r, name)) and value in r.name for r in self.runs)
        ][:_MOST_SETTINGS]
        notes = (
            ", ".join(f"{last_part(n)} {setting_words(r, n)}" for n in found) for r in self.runs
        )
        return [(r.name, f"({x})" if x else "") for r, x in zip(self.runs, notes, strict=True)]

    @cached_property
    def groupings(self) -> list[Grouping]:
        """The ways to group the runs: by name if that folds seeds, then by each hyperparameter
        that most of them have, and some of them share, the fewest groups first."""
        names = [name for name in self.settings if not _LENGTHS.search(name)]
        count = len(self.runs)
        most = [n for n in names if 2 * sum(not setting_of(r, n) for r in self.runs) <= count]
        found = [self._by(()), *(self._by((name,)) for name in most)]
        alone = ((g, sum(len(x.runs) == 1 for x in g.groups)) for g in found)
        kept = [g for g, number in alone if 2 * number <= count > 0]

        return sorted(kept, key=lambda g: (g.title != "name", len(g.groups)))

    @cached_property
    def tables(self) -> list[Grouping]:
        """The groupings by each two of the main hyperparameters of which neither tells the other,
        then by each of all."""
        alone = {name: self._by((name,)) for name in self.settings}
        pairs = [*combinations([*alone][:_MOST_CROSSED], 2)]
        most = [max(len(alone[name].groups) for name in pair) for pair in pairs]
        crossed = [g for n, g in zip(most, map(self._by, pairs), strict=True) if len(g.groups) > n]
        return [*crossed, *alone.values()]

    def _by(self, names: Names) -> Grouping:
        """The runs of one algorithm by some hyperparameters, without any by their own names."""
        columns = [self.settings[name] for name in names]
        columns = columns or [[folded_name(run.name) for run in self.runs]]
        members: dict[Names, list[JudgedRun]] = {}
        for run, *values in zip(self.runs, *columns, strict=True):
            members.setdefault((_algorithm_of(run), *values), []).append(run)
        shared = Counter(place[1:] for place in members)
        groups = []

        for (algorithm, *values), runs in members.items():
            if shared[tuple(values)] > 1:
                values[0] += f" ({algorithm or 'algorithm unknown'})"
            named = (f"{last_part(n)} {x}" for n, x in zip(names, values, strict=False))
            name = ", ".join(named) or (values[0] if len(runs) > 1 else runs[0].name)
            groups.append(Group(clean(name), tuple(runs), tuple(values)))

        return Grouping(clean(BY.join(names)) or "name", tuple(groups))


def _known_of(runs: Sequence[JudgedRun]) -> list[tuple[Mapping[str, object], str, str, bool]]:
    """Hyperparameters of each run, those that are logged as metrics by their titles, and what else
    a sweep is made of."""
    return [
        ({**logged_settings(r), **r.settings}, r.name, _algorithm_of(r), is_unread(r)) for r in runs
    ]


def _algorithm_of(run: JudgedRun) -> str:
    return (run.recognition and run.recognition.algorithm) or ""


def as_number(value: float | str | None) -> float | None:
    """A value as a number, if it is one."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


def sortable(value: float | str | None) -> Any:
    """The place of a value: numbers by their size, then texts."""
    number = as_number(value)
    return (0, number, "") if number is not None else (1, 0.0, value)


def _tells(given: Sequence[str], logged: Sequence[str]) -> bool:
    """Whether each value of a hyperparameter is about the largest that its runs log: some may have
    ended in a warm-up."""
    with suppress(ValueError):
        pairs = zip(map(float, given), map(float, logged), strict=True)
        largest = dict(sorted(pairs))
        return bool(np.allclose([*largest.values()], [*largest], rtol=_NEAR, atol=0))
    return False


def setting_of(run: JudgedRun, name: str, step: int | None = None) -> str:
    """The value of a hyperparameter as text, of one that is logged as a metric that at a step;
    empty where it is not known."""
    value = run.settings.get(name, logged_settings(run, step).get(name))
    return "" if value is None else clean(value_text(value))


def setting_words(run: JudgedRun, name: str, step: int | None = None) -> str:
    """The value of a hyperparameter, or why there is none: see :func:`setting_of`."""
    return setting_of(run, name, step) or ("not read yet" if is_unread(run) else "not logged")


class Difference(NamedTuple):
    """The means of two groups, and how often chance makes them differ as much."""

    difference: float
    """Mean of the first minus mean of the second."""
    chance: float
    """Share of the ways to share the same runs out to two groups of these sizes in which the
    means differ at least as much: a permutation test, two-sided."""
    rarest: float
    """The smallest ``chance`` that groups of these sizes can have."""

    @property
    def is_real(self) -> bool:
        """Whether the difference is larger than the spread inside the groups explains."""
        return self.chance <= session_limits().groups.chance

    @property
    def can_tell(self) -> bool:
        """Whether there are enough runs for any difference to count."""
        return self.rarest <= session_limits().groups.chance


def level_at_end(series: Series) -> float | None:
    """Mean of the finite values in the last tenth of the points; None without any."""
    count = math.ceil(series.count * session_limits().groups.last_share)
    values = series.values[series.count - count :].astype(np.float64)
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else None


def difference(first: FloatArray, second: FloatArray) -> Difference | None:
    """Compare two groups of one number per run, (n,) and (m,); None when one of them is empty, or
    not all of them are finite."""
    if not (len(first) and len(second) and np.isfinite([*first, *second]).all()):
        return None
    return _difference(first.tobytes(), second.tobytes())


@lru_cache(maxsize=256)
def _difference(one: bytes, other: bytes) -> Difference:
    """Kept: screens ask again with every key, and it takes up to tenths of a second."""
    first = np.frombuffer(one)
    second = np.frombuffer(other)
    n = len(first)
    m = len(second)
    values = np.concatenate([first, second])
    found = float(first.mean() - second.mean())
    total = float(values.sum())
    slack = 1e-9 * max(1e-300, float(np.abs(values).max()))
    ways = math.comb(n + m, n)
    tried = extreme = 0

    for sums in _sums(values, n, ways):
        differences = sums / n - (total - sums) / m
        extreme += int(np.count_nonzero(np.abs(differences) >= abs(found) - slack))
        tried += len(sums)
        if extreme >= _ENOUGH and ways > _MOST_WAYS:
            break

    return Difference(found, max(extreme, 1) / tried, (2 if n == m else 1) / ways)


def _sums(values: FloatArray, n: int, ways: int) -> Iterator[FloatArray]:
    """Sums of ``n`` of the values: of every choice of them, or of many at random, (k,) each."""
    if ways <= _MOST_WAYS:
        chosen = np.array(list(combinations(range(len(values)), n)))
        yield values[chosen].sum(axis=1)
        return

    random = np.random.default_rng(_SEED)
    most = max(1, _CHUNK // len(values))
    tries = min(_MOST_WAYS, max(_ENOUGH, _MOST_NUMBERS // len(values)))

    for begin in range(0, tries, most):
        count = min(most, tries - begin)
        draws = random.integers(0, 1 << 32, (count, len(values)), np.uint32)
        last = np.partition(draws, n - 1, axis=1)[:, n - 1, None]
        yield (draws <= last) @ values


class Marked(NamedTuple):
    """A run with the slot that it keeps for as long as it is marked."""

    run: JudgedRun
    slot: int


def toggled(marked: Sequence[Marked], run: JudgedRun) -> tuple[Marked, ...]:
    """The marks with one more run, in the lowest free slot, or without it."""
    rest = [m for m in marked if m.run is not run]
    return _by_slot(rest if len(rest) < len(marked) else [*rest, Marked(run, _free(rest))])


def following(
    marked: Sequence[Marked],
    runs: Mapping[RunKey, JudgedRun],
    slots: Mapping[RunKey, int],
) -> tuple[Marked, ...]:
    """The marks on the records of the runs that are shown now, without those that vanished, with
    those of ``slots`` whose runs are there; where a slot has been taken, in the lowest free one."""
    kept = [Marked(runs[m.run.key], m.slot) for m in marked if m.run.key in runs]

    for key, slot in slots.items():
        run = runs.get(key)
        if run is not None and slot_of(kept, run) is None:
            is_free = all(m.slot != slot for m in kept)
            kept.append(Marked(run, slot if is_free else _free(kept)))

    return _by_slot(kept)


def _by_slot(marked: Sequence[Marked]) -> tuple[Marked, ...]:
    return tuple(sorted(marked, key=lambda m: m.slot))


def _free(marked: Sequence[Marked]) -> int:
    """The lowest free slot."""
    taken = {m.slot for m in marked}
    return next(n for n in range(len(taken) + 1) if n not in taken)


def slot_of(marked: Sequence[Marked], run: JudgedRun) -> int | None:
    """The slot of a run; None when it is not marked."""
    return next((m.slot for m in marked if m.run is run), None)


def slot_sign(slot: int) -> str:
    """One cell that names a slot without colour: 1 to 9, then ``+``."""
    return str(slot + 1) if slot < 9 else "+"
