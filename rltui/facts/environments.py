"""Environments and data sources one by one: success, share of the reward, groups solved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rltui.catalogue.model import Category
from rltui.session import JudgedRun

#: Shares of the groups of an environment, in the order in which they are told.
_SOLVED = ("none", "some", "all")


class Environment(NamedTuple):
    """One environment or data source, as a run logs it."""

    name: str
    tag: str
    """Tag of its success, or else of its reward."""
    tags: frozenset[str]
    """All that this record tells of."""
    share: float | None
    """Its part of the reward of all; None where that cannot be told."""
    solved: tuple[float | None, ...]
    """Shares of its groups that none, some and all of their answers solved; () where none of them
    is logged."""


def environments_of(run: JudgedRun) -> list[Environment]:
    """The environments that a run logs by themselves, by name.

    A share of the reward is that of the mean reward times the number of samples, or of the mean
    where these are not logged of each; it is told of two and more, none with a negative reward.
    """
    found = run.catalogue.questions.environments.tags(run.infos)
    found = {name: tags for name, tags in found.items() if run.points.count(tags["success"])}
    new = {n: {c: _newest(run, t) for c, t in tags.items()} for n, tags in found.items()}
    shares = _shares(new)
    out = []
    for name, tags in found.items():
        held_out = run.infos[tags["success"]].category is Category.VALIDATION
        solved = tuple(new[name].get(x) for x in _SOLVED)
        out.append(
            Environment(
                run.infos[tags["success"]].title if held_out else name,
                tags["success"],
                frozenset(tags.values()),
                shares.get(name),
                () if all(x is None for x in solved) else solved,
            )
        )
    return out


def _shares(values: Mapping[str, Mapping[str, float | None]]) -> dict[str, float]:
    earned: dict[str, float] = {}
    weighted = all(x.get("samples") is not None for x in values.values())
    for name, of in values.items():
        reward = of.get("reward")
        samples = of.get("samples")
        if reward is None or reward < 0:
            return {}
        earned[name] = reward * (samples if weighted and samples is not None else 1.0)
    total = sum(earned.values())
    return {n: x / total for n, x in earned.items()} if total > 0 and len(earned) > 1 else {}


def _newest(run: JudgedRun, tag: str) -> float | None:
    """The newest value in the unit of the metric, if it is finite."""
    last = run.series(tag).last
    info = run.infos[tag]
    return last[2] * info.factor if last and np.isfinite(last[2]) else None
