"""Sources of the reward: its parts, and the ceiling that the entropy leaves to it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rltui.core.block import FloatArray, IntArray
from rltui.facts import numbers
from rltui.facts.cache import per_version
from rltui.health.detectors.parts import fitted_weights
from rltui.health.detectors.progress import is_share
from rltui.health.detectors.trend import GAIN, SUSPECTED, gain_now
from rltui.session import JudgedRun

#: A longer log is read in even strides.
_MOST_ROWS = 2_000
#: Rows of a mean.
_LEAST = 3


class Part(NamedTuple):
    """One part of the reward. Shares are NaN where they are not known."""

    tag: str
    mean: float
    """Mean over the last third of the rows, as logged."""
    change: float
    """From the first third to the last."""
    level: float
    """Its share of all that the parts pay, signs dropped."""
    variance: float
    """Its share of the variance of the newest half of the rows."""
    rise: float
    """Its share of the rise of the reward, where that certainly rose."""
    success: str
    """``rises``, ``falls`` or ``stands``: what success did while the part rose; "" otherwise."""
    moves: bool
    """Whether it had more than one value."""


class Earned(NamedTuple):
    """The parts of the reward of a run."""

    parts: tuple[Part, ...]
    weighted: bool
    """Whether a weighted sum of the parts explains the reward: shares are by these weights."""


@per_version
def earned(run: JudgedRun) -> Earned | None:
    """Break the reward down into its parts; None for a run that logs fewer than two."""
    keys = run.catalogue.questions.reward
    tags = run.tags_of_metrics((keys.part,))
    total = first_tag(run, keys.totals)
    if len(tags) < 2:
        return None
    steps, x = _read(run, total or tags[0])
    parts = np.array([_beside(run, tag, steps) for tag in tags])
    third = len(x) // 3
    if third < _LEAST:
        return None
    weights = np.ones(len(tags))
    weighted = False
    if total is not None:
        weights = fitted_weights(x, parts)[:, -1]
        weighted = not bool((weights == 1.0).all())
    else:
        x = np.nansum(parts, axis=0)
    weighted = weighted or bool(np.allclose(np.nansum(parts, axis=0), x, rtol=1e-3))
    early = _means(parts[:, :third])
    late = _means(parts[:, -third:])
    pays = np.abs(weights * late)
    scatter = weights**2 * _means(np.diff(parts[:, len(x) // 2 :], axis=1) ** 2)
    rose = _course(x) == "rises"
    rise = float(np.nanmean(x[-third:]) - np.nanmean(x[:third])) if rose else math.nan
    success = first_tag(run, keys.success)
    course = "" if success is None else _course(_read(run, success)[1])

    return Earned(
        tuple(
            Part(
                tag,
                float(late[n]),
                float(late[n] - early[n]),
                _share(pays[n], np.nansum(pays)),
                _share(scatter[n], np.nansum(scatter)),
                float(weights[n] * (late[n] - early[n])) / rise if rise > 0 else math.nan,
                course if _course(parts[n]) == "rises" else "",
                bool(np.nanmax(parts[n]) > np.nanmin(parts[n])) if np.isfinite(late[n]) else True,
            )
            for n, tag in enumerate(tags)
        ),
        weighted,
    )


def first_tag(run: JudgedRun, keys: tuple[str, ...]) -> str | None:
    """The tag of the first of these metrics that the run logs."""
    return next(iter(run.tags_of_metrics(("|".join(keys),))), None)


def _read(run: JudgedRun, tag: str) -> tuple[IntArray, FloatArray]:
    """Steps and values of a tag, in the unit of its metric."""
    series = run.series(tag)
    info = run.infos[tag]
    steps, values = series.finite()
    stride = slice(None, None, 1 + len(values) // _MOST_ROWS)
    return steps[stride], values[stride].astype(np.float64) * info.factor


def _beside(run: JudgedRun, tag: str, steps: IntArray) -> FloatArray:
    """The newest value of a tag at or before each of these steps; NaN before the first one."""
    own, x = _read(run, tag)
    at = np.searchsorted(own, steps, side="right") - 1
    return np.where(at >= 0, x[np.maximum(at, 0)], np.nan) if len(x) else np.full(len(at), np.nan)


def _means(x: FloatArray) -> FloatArray:
    """(k,) means of rows, NaN where none is known."""
    known = np.isfinite(x)
    count = known.sum(axis=1)
    sums = np.where(known, x, 0.0).sum(axis=1)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else math.nan


def _course(x: FloatArray) -> str:
    """Direction in which a metric certainly goes over the run; "stands" for neither."""
    change, error = gain_now(x)
    if abs(change) - SUSPECTED * error >= GAIN:
        return "rises" if change > 0 else "falls"
    return "stands"


class Ceiling(NamedTuple):
    """Where R = -a e^H + b ends as the entropy H goes to zero."""

    tag: str
    """Tag of the reward."""
    value: float
    """Where the reward ends."""
    error: float
    """Standard error of the value."""
    fit: float
    """Share of the variance of the reward that the curve explains."""


#: Means that the curve is fitted to.
_BLOCKS = 20


@per_version
def ceiling(run: JudgedRun, tag: str) -> Ceiling | None:
    """The ceiling that the entropy leaves to the reward ``tag``; None where the law does not hold
    for this run: arXiv 2505.22617 has it for language models without entropy control, while the
    entropy falls."""
    keys = run.catalogue.questions.reward
    training = run.recognition
    law = keys.law
    found = run.tags_of_metrics((keys.entropy,))
    applies = training is not None and training.scenario.id == law.scenario
    if not (applies and found and tag in run.tags_of_metrics(keys.totals)):
        return None

    steps, reward = _read(run, tag)
    entropy = _beside(run, found[0], steps)
    known = np.isfinite(entropy)
    reward = reward[known]
    entropy = entropy[known]
    if len(reward) < 2 * _BLOCKS or _course(entropy) != "falls" or _course(reward) != "rises":
        return None
    # means of blocks: single rows are noise, and neighbours of one another
    cut = len(reward) // _BLOCKS * _BLOCKS
    y, h = (v[-cut:].reshape(_BLOCKS, -1).mean(axis=1) for v in (reward, entropy))
    if h.min() < 0 or h[-1] > (1 - law.spent) * h[0]:
        return None
    x = np.exp(h)
    spread = float(((x - x.mean()) ** 2).sum())
    slope = _slope(x, y)
    left = y - y.mean() - slope * (x - x.mean())
    fit = 1 - float((left**2).sum()) / float(((y - y.mean()) ** 2).sum())
    if slope >= 0 or fit < law.fit:
        return None
    memory = min(max(0.0, float((left[1:] * left[:-1]).sum() / (left**2).sum())), 0.9)
    noise = float((left**2).sum()) / (_BLOCKS - 2) * (1 + memory) / (1 - memory)
    value = float(y.mean()) + slope * (1 - float(x.mean()))
    error = math.sqrt(noise * (1 / _BLOCKS + (1 - float(x.mean())) ** 2 / spread))
    error = math.hypot(error, _misses(x, y) * (float(x.mean()) - 1))
    if 4 * error >= abs(float(y[-1] - y[0])) or (is_share(reward)[-1] and value > 1):
        return None  # the interval is as wide as the rise, or leaves room for all there is to earn
    return Ceiling(tag, value, error, fit)


def _slope(x: FloatArray, y: FloatArray) -> float:
    return float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())


def _misses(x: FloatArray, y: FloatArray) -> float:
    """By how much the law of the rows so far missed what came next, per unit of x: the most of what
    those of the first quarter, half and three quarters missed. What the law is wrong by it carries
    on to where the entropy is spent."""
    out = 0.0
    for k in (len(x) // 4, len(x) // 2, 3 * len(x) // 4):
        ahead = float(x[k:].mean() - x[:k].mean())
        if not ahead or np.ptp(x[:k]) == 0:
            return math.inf
        missed = float(y[k:].mean() - y[:k].mean()) - _slope(x[:k], y[:k]) * ahead
        out = max(out, abs(missed / ahead))
    return out


def ceiling_of(run: JudgedRun) -> dict[str, object] | None:
    """Ceiling of the first reward that the run logs, by the names of its fields."""
    tag = first_tag(run, run.catalogue.questions.reward.totals)
    found = ceiling(run, tag) if tag else None
    return None if found is None else found._asdict()


def ceiling_words(run: JudgedRun, tag: str) -> str:
    """ "0.72 ± 0.03 where the entropy is spent (R = -a e^H + b, fit 0.96)"; "" for none."""
    found = ceiling(run, tag)
    if found is None:
        return ""
    value = numbers.plain(found.value)
    error = numbers.plain(2 * found.error)
    return f"{value} ± {error} where the entropy is spent (R = -a e^H + b, fit {found.fit:.2f})"
