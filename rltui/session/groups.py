"""Groups of runs that differ in their seed alone: by name, or by a hyperparameter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rltui.core.text import clean
from rltui.session.hyperparameters import differing as differing_names
from rltui.session.hyperparameters import value_text
from rltui.session.run import RunView

#: Hyperparameters that runs of one setting may differ in: they say where and when, not what.
_SEEDS = re.compile(r"(^|[._/-])(seed|random_state)$|seed$", re.IGNORECASE)
_PLACES = re.compile(
    r"(dir|path|file|name|time|date|host|port|id|uuid|url|address|rank)s?$", re.IGNORECASE
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
    """In the order of their first run; one has two runs at least."""


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


def groupings(runs: Sequence[RunView]) -> list[Grouping]:
    """The ways to group ``runs``: by name if that folds seeds, then by each hyperparameter that
    some of them share and others do not, the fewest groups first."""
    found = [_by("name", runs, [folded_name(r.name) for r in runs])]
    for name in differing(runs):
        title = clean(name)
        found += [
            _by(title, runs, [f"{title} {setting_of(r, name) or 'not logged'}" for r in runs])
        ]
    kept = [g for g in found if g is not None]
    return sorted(kept, key=lambda g: (g.title != "name", len(g.groups)))


def differing(runs: Iterable[RunView]) -> list[str]:
    """Hyperparameters with different values among ``runs``, the main ones first; without seeds,
    paths, names and long texts."""
    tables = [r.hyperparameters.values for r in runs]
    return [n for n in differing_names(tables) if any(_ok(n, t[n]) for t in tables if n in t)]


def setting_of(run: RunView, name: str) -> str:
    """The value of a hyperparameter as text; empty where it is not logged."""
    value = run.hyperparameters.values.get(name)
    return "" if value is None else clean(value_text(value))


def _ok(name: str, value: object) -> bool:
    if not isinstance(value, (int, float, str)) or _SEEDS.search(name) or _PLACES.search(name):
        return False
    return len(str(value)) <= _LONGEST_VALUE


def _by(title: str, runs: Sequence[RunView], keys: Sequence[str]) -> Grouping | None:
    """The runs by ``keys``; None when no two of them share one."""
    members: dict[str, list[RunView]] = {}
    for run, key in zip(runs, keys, strict=True):
        members.setdefault(key, []).append(run)
    if len(members) == len(runs):
        return None
    return Grouping(title, tuple(Group(k, tuple(v)) for k, v in members.items()))
