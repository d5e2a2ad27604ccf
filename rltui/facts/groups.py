"""Groups of runs that differ in their seed alone: by name, or by a hyperparameter."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from rltui.core.batch import RunKey
from rltui.core.block import FloatArray
from rltui.core.record import entity
from rltui.core.text import clean
from rltui.session.hyperparameters import canonical, differing_settings, last_part, value_text
from rltui.session.limits import session_limits
from rltui.session.run import JudgedRun
from rltui.store import Series

#: Hyperparameters that runs of one setting may differ in: they say where and when, not what.
_WHERE = re.compile(
    r"(^|[._/-])random_state$|seed$"
    r"|(dir|path|file|name|time|date|host|port|id|uuid|url|address|rank)s?$",
    re.IGNORECASE,
)
#: Hyperparameters that say how long a run is and how often it is saved, not what it does.
_LENGTHS = re.compile(
    r"(total|max|num_train|train(ing)?)_?(train(ing)?_?)?(env_?)?"
    r"(steps|timesteps|iterations|iters|updates|episodes|epochs)$"
    r"|(^|[./])(num_updates|epochs|steps|timesteps|iterations|episodes)$"
    r"|(save|log(ging)?|eval|test|checkpoint)_(steps|freq(uency)?|interval|every)$",
    re.IGNORECASE,
)
#: Longer texts are no setting to group by.
_LONGEST = 40
#: A seed with its word: seed=3, seed_3, s3, run-2, trial 4, rep1.
_WORDED = re.compile(
    r"(?P<word>(?:^|(?<=[^a-zA-Z0-9]))(?:seed|s|run|trial|rep|try)[=_\- ]?)\d+"
    r"(?=$|[^a-zA-Z0-9.])",
    re.IGNORECASE,
)
#: A date, with or without a time, or seconds since the epoch.
_MOMENT = re.compile(
    r"(?<!\d)(?:20\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?:[-_T .]?\d\d[-_:.h]?\d\d(?:[-_:.m]?\d\d)?)?"
    r"|1[4-9]\d{8})(?!\d)"
)
#: A whole number that ends a part of the name, and the word before it.
_NUMBERED = re.compile(
    r"(?<![a-zA-Z0-9.])(?P<word>[a-zA-Z0-9.]*)(?P<gap>__|[_\- /]|^)\d{1,10}(?=$|/|__)"
)
_EXPONENT = re.compile(r"\de$", re.IGNORECASE)
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


@entity
class Grouping:
    """Runs by what they share."""

    title: str
    """``name``, or the hyperparameter."""
    groups: tuple[Group, ...]
    """In the order of their first run. Half of the runs at least are in a group with another, and
    the runs of a group have one algorithm."""


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


class Sweep:
    """How some runs differ in their hyperparameters. Found once, for it takes time with many."""

    def __init__(self, runs: Sequence[JudgedRun]) -> None:
        self.runs = tuple(runs)
        self._tables = [r.settings for r in runs]
        self._found = _names_and_algorithms(runs)

    def holds_for(self, runs: Sequence[JudgedRun]) -> bool:
        """Whether it is of these runs, and none has other hyperparameters, another algorithm or
        another name by now."""
        return (
            self.runs == tuple(runs)
            and self._found == _names_and_algorithms(runs)
            and all(r.settings is t for r, t in zip(runs, self._tables, strict=True))
        )

    @cached_property
    def settings(self) -> list[str]:
        """Hyperparameters with different values among the runs, the main ones first; without
        seeds, paths, names and long texts."""
        found = []
        for name in differing_settings(self._tables):
            values = [table.get(name) for table in self._tables]
            short = (isinstance(v, (int, float, str)) and len(str(v)) <= _LONGEST for v in values)
            if not _WHERE.search(name) and any(short):
                found.append(name)
        return found

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
            ", ".join(f"{last_part(n)} {setting_of(r, n) or 'not set'}" for n in found)
            for r in self.runs
        )
        return [(r.name, f"({x})" if x else "") for r, x in zip(self.runs, notes, strict=True)]

    @cached_property
    def groupings(self) -> list[Grouping]:
        """The ways to group the runs: by name if that folds seeds, then by each hyperparameter
        that most of them have, and some of them share, the fewest groups first."""
        names = [folded_name(name) for name, _ in self._found]
        found = [self._by("name", names, names)]

        for setting in self.settings:
            values = [t.get(setting) for t in self._tables]
            if _LENGTHS.search(setting) or values.count(None) * 2 > len(values):
                continue
            title = clean(setting)
            keys = [None if v is None else canonical(v) for v in values]
            names = [f"{title} {setting_of(r, setting) or 'not logged'}" for r in self.runs]
            found.append(self._by(title, keys, names))

        kept = [g for g in found if g is not None]

        return sorted(kept, key=lambda g: (g.title != "name", len(g.groups)))

    def _by(self, title: str, keys: Sequence[str | None], names: Sequence[str]) -> Grouping | None:
        """The runs of one algorithm by ``keys``, each group with the name of its first run; None
        when most of them are left alone."""
        members: dict[tuple[str | None, str], list[int]] = {}
        for n, (key, (_, algorithm)) in enumerate(zip(keys, self._found, strict=True)):
            members.setdefault((key, algorithm), []).append(n)

        if sum(len(some) for some in members.values() if len(some) > 1) * 2 < len(self.runs):
            return None
        shared = Counter(key for key, _ in members)
        groups = []

        for (key, algorithm), some in members.items():
            alone = title == "name" and len(some) == 1
            name = self.runs[some[0]].name if alone else names[some[0]]
            if shared[key] > 1:
                name = f"{name} ({algorithm or 'algorithm unknown'})"
            groups.append(Group(name, tuple(self.runs[n] for n in some)))

        return Grouping(title, tuple(groups)) if groups else None


def _names_and_algorithms(runs: Sequence[JudgedRun]) -> list[tuple[str, str]]:
    return [(r.name, (r.recognition and r.recognition.algorithm) or "") for r in runs]


def setting_of(run: JudgedRun, name: str) -> str:
    """The value of a hyperparameter as text; empty where it is not logged."""
    value = run.settings.get(name)
    return "" if value is None else clean(value_text(value))


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
    """Compare two groups of one number per run, (n,) and (m,); None when one of them is empty."""
    if not len(first) or not len(second):
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
