"""Groups of runs that differ in their seed alone: by name, or by a hyperparameter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rltui.core.text import clean
from rltui.session.hyperparameters import canonical, differing_settings, value_text
from rltui.session.run import RunView

#: Hyperparameters that runs of one setting may differ in: they say where and when, not what.
_SEEDS = re.compile(r"(^|[._/-])(seed|random_state)$|seed$", re.IGNORECASE)
_PLACES = re.compile(
    r"(dir|path|file|name|time|date|host|port|id|uuid|url|address|rank)s?$", re.IGNORECASE
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
_LONGEST_VALUE = 40

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


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Runs of one setting."""

    name: str
    runs: tuple[RunView, ...]


@dataclass(frozen=True, slots=True, eq=False)
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

    def __init__(self, runs: Sequence[RunView]) -> None:
        self.runs = tuple(runs)
        self._tables = [r.hyperparameters.values for r in runs]
        self._algorithms = [_algorithm(r) for r in runs]
        self._names = [r.name for r in runs]

    def holds_for(self, runs: Sequence[RunView]) -> bool:
        """Whether it is of these runs, and none has other hyperparameters, another algorithm or
        another name by now."""
        if self.runs != tuple(runs) or self._algorithms != [_algorithm(r) for r in runs]:
            return False
        if self._names != [r.name for r in runs]:
            return False
        pairs = zip(runs, self._tables, strict=True)
        return all(r.hyperparameters.values is t for r, t in pairs)

    @cached_property
    def settings(self) -> list[str]:
        """Hyperparameters with different values among the runs, the main ones first; without
        seeds, paths, names and long texts."""
        names = [n for n in differing_settings(self._tables) if not _says_where(n)]
        return [n for n in names if any(_is_setting(t.get(n)) for t in self._tables)]

    @cached_property
    def groupings(self) -> list[Grouping]:
        """The ways to group the runs: by name if that folds seeds, then by each hyperparameter
        that some of them share and others do not, the fewest groups first."""
        names = [folded_name(n) for n in self._names]
        found = [self._by("name", names, names)]
        for setting in self.settings:
            if _LENGTHS.search(setting):
                continue
            title = clean(setting)
            values = [t.get(setting) for t in self._tables]
            keys = [None if v is None else canonical(v) for v in values]
            names = [f"{title} {setting_of(r, setting) or 'not logged'}" for r in self.runs]
            found.append(self._by(title, keys, names))
        kept = [g for g in found if g is not None]
        return sorted(kept, key=lambda g: (g.title != "name", len(g.groups)))

    def _by(self, title: str, keys: Sequence[str | None], names: Sequence[str]) -> Grouping | None:
        """The runs of one algorithm by ``keys``, each group with the name of its first run; None
        when most of them are left alone."""
        members: dict[tuple[str | None, str], list[int]] = {}
        for n, pair in enumerate(zip(keys, self._algorithms, strict=True)):
            members.setdefault(pair, []).append(n)
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


def setting_of(run: RunView, name: str) -> str:
    """The value of a hyperparameter as text; empty where it is not logged."""
    value = run.hyperparameters.values.get(name)
    return "" if value is None else clean(value_text(value))


def _says_where(name: str) -> bool:
    return _SEEDS.search(name) is not None or _PLACES.search(name) is not None


def _is_setting(value: object) -> bool:
    return isinstance(value, (int, float, str)) and len(str(value)) <= _LONGEST_VALUE


def _algorithm(run: RunView) -> str:
    known = run.recognition
    return (known.algorithm if known else None) or ""
