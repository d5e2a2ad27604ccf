"""Spellings of a tag that mean the same: what :mod:`rltui.catalogue.resolve` tries in turn.

The *normal form* writes every tag alike: lower case, with ``_`` for blanks, ``/``, ``-``, ``.``,
brackets and camel case. ``Loss / Value loss``, ``loss/value-loss`` and ``LossValueLoss`` are one
name then.

A *reading* goes further. Words are replaced by the usual one (``ep_rew`` is ``episode_reward``),
``loss`` and ``lr`` move to the end (``loss/policy`` is ``policy_loss``), a statistic at either end
is set apart (``avg_return``, ``return/mean``), and prefixes that only sort tags are left out
(``charts/``, ``metrics/``). Some prefixes say something of the figure. Those are left out only
where the metric found suits them: ``time/step`` is not the step, ``loss/value`` not the value.
Words for the loop itself may stand at either end: ``ppo/kl``, ``batch/reward``, ``loss_epoch``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rltui.catalogue.model import Category, Metric
from rltui.core.text import Names, word_set

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_APART = re.compile(r"(?:[^\w%]|_)+")


_WORDS = {
    alias: word
    for word, aliases in {
        "episode": "ep eps episodic",
        "reward": "rew rewards",
        "return": "ret returns",
        "length": "len lengths",
        "entropy": "ent",
        "advantage": "adv advantages",
        "policy": "pi pg actor",
        "value": "v vf values vals vfunc critic",
        "loss": "losses",
        "mean": "avg average",
        "max": "maximum",
        "min": "minimum",
        "std": "stddev stdev",
        "grad": "gradient",
        "clip": "clipped",
        "frac": "fraction",
        "coef": "coeff coefficient",
        "iteration": "iter itr iterations iters",
        "seconds": "s sec secs second",
    }.items()
    for alias in aliases.split()
}
#: Pairs of words that are one.
_PAIRS = {
    ("learning", "rate"): "lr",
    ("clip", "frac"): "clipfrac",
    ("value", "function"): "value",
    ("approx", "kl"): "approxkl",
    ("grad", "norm"): "gradnorm",
    ("explained", "var"): "explained_variance",
    ("explained", "variance"): "explained_variance",
}
_STATS = frozenset({"mean", "max", "min", "std", "median"})
_LAST = ("loss", "lr")

_NEUTRAL = word_set(
    "train training chart charts metric metrics stat stats statistics log logs scalar scalars "
    "summary misc info main general global overall monitor diagnostics optim optimizer "
    "learning learner samples"
)
_SPEED = frozenset({Category.TIMING, Category.ROLLOUT, Category.PERF, Category.SYSTEM})
_REWARD = ("reward.", "episode_return.", "success_rate")
_EPISODE = (*_REWARD, "episode_length.", "response_length.", "prompt_length.", "sps")
_LOSS = ("kl.", "clipfrac.", "grad_norm.", "explained_variance", "ratio.", "lr.", "loss.")
#: Prefix -> the metrics (begin of the key) or categories that make it redundant.
_SUITS: dict[str, Names | frozenset[Category]] = {
    "reward": _REWARD,
    "rollout": _EPISODE,
    "rollouts": _EPISODE,
    "env": _EPISODE,
    "environment": _EPISODE,
    "episode": _EPISODE,
    "loss": _LOSS,
    "policy": frozenset({Category.ACTOR, Category.ROLLOUT, Category.HYPER}),
    **dict.fromkeys(("time", "timing", "perf", "performance", "throughput", "speed"), _SPEED),
}
#: Words for the algorithm and its loop, the metrics that they may stand beside, and those of them
#: that may stand at the end.
_LOOP = word_set(
    "ppo grpo rloo reinforce a2c sac td3 ddpg dqn trpo rl rlhf algo agent model batch minibatch "
    "epoch step iteration update current"
)
_LOOPED = frozenset(
    {Category.ACTOR, Category.CRITIC, Category.LENGTH, Category.ROLLOUT, Category.HYPER}
)
_TAILS = word_set("epoch step batch iteration update train training")
#: Words that a reading may lack.
LEFT_OUT = frozenset((*_NEUTRAL, *_SUITS, *_STATS, *_LOOP, *_TAILS, "seconds", "ms"))


class TagReading(NamedTuple):
    """One way to read a tag."""

    words: Names
    stat: str = ""
    """mean, max, min, std, median or none."""
    dropped: Names = ()
    """Prefixes left out."""
    unit: str = ""
    """``seconds`` or ``ms`` where the tag ends in it."""

    def suits(self, metric: Metric) -> bool:
        """Whether the metric can be meant in spite of what was left out."""
        if self.unit and metric.unit != "s":
            return False
        says_something = self.stat or any(word not in _NEUTRAL for word in self.dropped)
        if metric.category is Category.PROGRESS and says_something:
            return False

        for word in self.dropped:
            needed = _LOOPED if word in _LOOP else _SUITS.get(word)
            if needed is None:
                suits = word in _NEUTRAL
            elif isinstance(needed, tuple):
                suits = metric.key.startswith(needed)
            else:
                suits = metric.category in needed
                suits = suits and (word in _LOOP or metric.key != "loss.total")
            if not suits:
                return False
        return True


@lru_cache(maxsize=8192)
def normal(tag: str) -> str:
    """The normal form of a tag."""
    return _APART.sub("_", _CAMEL.sub("_", tag)).strip("_").lower()


@lru_cache(maxsize=8192)
def usual_words(form: str) -> Names:
    """The words of a normal form, each replaced by the usual one."""
    out: list[str] = []
    for word in form.split("_"):
        usual = _WORDS.get(word, word)
        pair = _PAIRS.get((out[-1], usual)) if out else None
        if pair:
            out[-1] = pair
        else:
            out.append(usual)
    return tuple(out)


def reading(form: str) -> TagReading:
    """The plain reading of a normal form, with nothing left out."""
    return _arranged(usual_words(form), (), "")


def readings(form: str) -> Iterator[TagReading]:
    """All readings of a normal form, the plain one first."""
    words = usual_words(form)
    for end in ("", words[-1]):
        unit = end if end in ("seconds", "ms") else ""
        tail = end if end in _TAILS else ""
        if end and (not (unit or tail) or len(words) == 1):
            break
        kept = words[:-1] if end else words
        for count in range(len(kept)):
            dropped = kept[:count]
            if any(w not in _NEUTRAL and w not in _SUITS and w not in _LOOP for w in dropped):
                break
            yield _arranged(kept[count:], (*dropped, tail) if tail else dropped, unit)


def _arranged(words: Names, dropped: Names, unit: str) -> TagReading:
    stat = ""
    if len(words) > 1:
        if words[-1] in _STATS:
            stat = words[-1]
            words = words[:-1]
        elif words[0] in _STATS:
            stat = words[0]
            words = words[1:]
    for word in _LAST:
        if word in words[:-1]:
            words = (*(w for w in words if w != word), word)
    return TagReading(words, stat, dropped, unit)
