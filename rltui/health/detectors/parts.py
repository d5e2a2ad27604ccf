"""Detectors that compare a metric with its siblings: the parts of a reward, or its sources. Same
contract as in ``levels``. Each tag of the role ``part*`` is one of the others."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from rltui.core.block import BoolArray, FloatArray
from rltui.core.later import np
from rltui.health.detectors import progress, trend
from rltui.health.detectors.registry import detector
from rltui.health.detectors.signal import CERTAIN, Rows, Signal, constant
from rltui.health.detectors.windows import looks, steps_of

#: A weighted sum of the parts is the total where it leaves less of its variance than this.
_UNEXPLAINED = 0.1
#: The share of the rows that show what was usual at the start.
_START = 4


def fitted_weights(total: FloatArray, parts: FloatArray) -> FloatArray:
    """(k, n) weight of each of the ``parts`` (k, n) in the ``total`` (n,), by least squares over
    the rows up to each one; 1 where no weighted sum explains the total."""
    k, n = parts.shape
    rows = np.vstack([parts, total])
    known: BoolArray = np.logical_and.reduce(np.isfinite(rows))
    rows = np.where(known, rows, 0.0)
    weights = np.ones((k, n))
    squares = np.zeros((k + 1, k + 1))
    begin = 0
    for look, following in looks(trend.PARTS, n):
        new = rows[:, begin:look]
        begin = look
        squares += new @ new.T
        count = np.count_nonzero(known[:look])
        if count <= 2 * k:
            continue
        found = np.linalg.lstsq(squares[:k, :k], squares[:k, k], rcond=trend.EQUAL)[0]
        spread = squares[k, k] - rows[-1, :look].sum() ** 2 / count
        if squares[k, k] - float(found @ squares[:k, k]) <= _UNEXPLAINED * spread:
            weights[:, look - 1 : following - 1] = found[:, None]
    return weights


def _siblings(rows: Rows) -> list[str]:
    return [role for role in rows.others if role.startswith("part")]


def _weights(rows: Rows) -> FloatArray:
    """(k, n) weights of the rows themselves and their siblings in the ``reward``."""
    parts = np.array([rows.x, *(rows.others[r] for r in _siblings(rows))])
    if "reward" not in rows.others:
        return np.ones(parts.shape)
    return fitted_weights(rows.others["reward"], parts)


@detector(roles=("reward", "part*"), facts=("start", "share"))
def takes_over(rows: Rows, *, share: float, spreads: bool = False) -> Signal:
    """A part has ``share`` of the variance of all parts in the newest half of the rows, certainly,
    and what it leaves to the others has halved since the first quarter, while its own variance
    grew: nothing takes over that had nearly all from the start.

    Each part counts with its weight in the ``reward``, where a weighted sum explains that. Variance
    is that of neighbouring rows, which no trend adds to: rows are means of a batch, and scatter as
    the rewards within it do. ``spreads``: the rows are standard deviations themselves, each of a
    whole batch: the newest eighth speaks, as far as it can be told from the first quarter.
    """
    n = rows.count
    others = _siblings(rows)
    out = constant(n, np.nan)
    start = out.copy()
    certain = out.copy()
    grew = np.zeros(n, dtype=bool)
    if others and n:
        x = np.nan_to_num(np.array([rows.x, *(rows.others[r] for r in others)]))
        scatter = x if spreads else np.array([steps_of(part) for part in x])
        total = np.concatenate([np.zeros((len(x), 1)), np.cumsum(scatter**2, axis=1)], axis=1)
        count = np.arange(1, n + 1)
        half = count - np.maximum(1, count // trend.PARTS) if spreads else count // 2
        first = np.maximum(trend.PARTS, count // _START)
        first = np.minimum(first, count)
        square = np.ones(x.shape) if spreads else _weights(rows) ** 2
        early = square * total[:, first]
        late = square * (total[:, count] - total[:, half])
        start = early[0] / early.sum(axis=0)
        out = late[0] / late.sum(axis=0)
        # the logarithm of a quotient of two variances scatters by this much
        error = 0.0 * count if spreads else np.sqrt(6.0 / (count - half))
        certain = 1 / (1 + (1 / out - 1) * np.exp(0.5 * CERTAIN[0] * error))
        grew = late[0] / (count - half) > early[0] / first * np.exp(error)
    limit = np.fmax(share, 1.0 - trend.HALF * (1.0 - start))
    beyond = (certain >= share) & (out >= limit) & (start < 1.0 - trend.HALF**2) & grew
    beyond &= np.arange(n) >= 2 * trend.PARTS

    return Signal(
        beyond,
        out,
        limit,
        "share of the variance of all parts",
        facts={"start": start, "share": out},
        silent=not others,
    )


@detector(roles=("reward", "part*"), facts=("start", "late", "share"))
def buys_rise(rows: Rows, *, share: float) -> Signal:
    """A part makes ``share`` of the certain rise of the ``reward`` from the first to the last third
    of the rows, by its weight in it, while another part has lost half of its range, as in
    :func:`fell`.

    Never without a ``reward`` and another part.
    """
    n = rows.count
    others = _siblings(rows)
    start, late, *_ = trend.gains(rows)
    part, beyond, lost = constant(n, np.nan), *np.zeros((2, n), dtype=bool)
    if others and "reward" in rows.others:
        before, after, *_ = trend.gains_of(rows, "reward")
        part = _weights(rows)[0] * (late - start) / (after - before)
        beyond = trend.rises(rows, "reward") & trend.rises(rows) & (part >= share)
        if beyond.any():
            for role in others:  # a penalty earns nothing
                earned = Rows(np.maximum(np.nan_to_num(rows.others[role]), 0.0), rows.steps)
                lost |= rows.once_of(role, "lost", partial(progress.fell, earned)).beyond
            beyond &= lost
    return Signal(
        beyond,
        part,
        share,
        "share of the rise",
        certain=True,
        whole=True,
        forgotten=True,
        facts={"start": start, "late": late, "share": part},
    )


@detector(
    anew=True,
    rising=True,
    roles=("reward", "part*"),
    possible=lambda rows, _: (
        not _siblings(rows)
        or "reward" not in rows.others
        or bool(trend.rises(rows, "reward").any())
    ),
    facts=("best", "least", "lost", "middle", "count", "was", "reached"),
)
def falls_behind(rows: Rows, *, sure: bool = False, held_out: bool = False) -> Signal:
    """One of several lost half of its range (``sure``: three quarters), as in :func:`fell`, while
    the ``reward`` of all certainly rose and did not fall; where that is not logged, the mean
    of all of them. Never without another one, and none once it is made good.
    """
    signal = progress.fell(rows, sure=sure, held_out=held_out)
    n = rows.count
    others = _siblings(rows)
    was = constant(n, np.nan)
    reached = constant(n, np.nan)
    beyond = np.zeros(n, dtype=bool)
    if others and signal.beyond.any():
        all_of = rows
        if "reward" not in rows.others:
            known = np.nan_to_num([rows.x, *(rows.others[r] for r in others)])
            all_of = replace(rows, others={"reward": known.mean(axis=0)}, kept_of={})
        was, reached, *_ = trend.gains_of(all_of, "reward")
        beyond = signal.beyond & trend.rises(all_of, "reward")
        if beyond.any():
            total = trend.beside(all_of, "reward")
            beyond &= ~all_of.once_of("reward", "fell", lambda: progress.fell(total).beyond)
    was, reached = (np.where(beyond, mean, np.nan) for mean in (was, reached))
    facts = {**signal.facts, "was": was, "reached": reached}
    return replace(signal, beyond=beyond, facts=facts, forgotten=True, silent=not others)
