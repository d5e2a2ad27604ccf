"""Sparklines: one row of cells that shows a whole run.

A :class:`Digest` gathers the points of a series in columns. What is appended extends it: a series
of a million points is read once, a repaint reads the new points only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import FloatArray, IntArray
from rltui.core.level import Level
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import LEVEL_BOLD, MUTED, Span, Token, joined, style

#: An episode of a level: since step, until step (None: still so), level.
Episode = tuple[float, float | None, Level]

_NAN = LEVEL_BOLD[Level.BAD]
_NAN_REST = style(Token.BAD)
_FILL = {int(Level.WATCH): style(Token.WATCHFILL), int(Level.BAD): style(Token.BADFILL)}
_SPARK = style(Token.SPARK)
_UNJUDGED = style(Token.UNJUDGED)

# What a cell shows.
_BLANK = 0
_VALUE = 1
_NAN_START = 2
_NAN_ON = 3
#: Above this many points the median is taken from a regular sample.
_MEDIAN_SAMPLE = 4096


def columns_until(
    first: float, last: float, end: float, width: int, *, narrowest: float = 0.0
) -> tuple[float, float, int]:
    """First, unit and width of a digest whose last column ends a step after the later of ``end``
    and ``last``. No column is narrower than ``narrowest``; the rest of the width stays blank."""
    first = float(first)
    end = max(first, float(last), float(end))
    least = math.ulp(max(abs(first), abs(end), 1.0))
    return first, max(narrowest, (end - first + max(1.0, least)) / width), width


def spark_of(
    digest: Digest, last: float, levels: Sequence[Episode], known: bool, glyphs: GlyphSet
) -> list[Span]:
    """The sparkline of the points of one metric in as many cells as ``digest`` has columns.

    ``last`` is the newest step of the run; columns after it are blank. A column shows its point
    farthest from the median, one without points the last value before it, the newest column the
    newest value; a single point gets one cell and no more. Height is the metric's own minimum to
    maximum; colour is its level at that step (``levels``), never its height. A value that never
    changed is a dashed line, NaN and Inf are an ``N`` and dashes for as long as they last.
    """
    width = digest.width
    first = digest.first
    unit = digest.unit
    used = min(width, math.floor((max(first, float(last)) - first) / unit + 1e-9) + 1)
    count = digest.count[:used]
    rungs = len(glyphs.ramp)
    low = digest.lowest / 2
    high = digest.highest / 2
    looks = used, low, high, digest.middle, digest.is_single, tuple(levels), known, glyphs
    if digest.drawn and digest.drawn[0] == looks and digest.changed in (used - 1, width):
        # finite points: a stream of steps changes no cell but the newest
        line = digest.drawn[1]
        at = -1 if used == width else -2
        if high > low and digest.changed < width:
            newest = (float(digest.newest[used - 1]) / 2 - low) / (high - low)
            rung = round(min(max(newest, 0.0), 1.0) * (rungs - 1))
            line[at] = line[at][0][:-1] + glyphs.ramp[rung], line[at][1]
        digest.changed = width
        return list(line)
    if not count.any():
        return [(" " * width, MUTED)]
    shown, kind = _cells(digest, used)
    if digest.is_single:
        kind[(count == 0) & (kind == _VALUE)] = _BLANK

    # rung of the ramp per column
    constant = high == low and bool((digest.good == digest.count).all())
    ramp = np.full(used, rungs // 2 if high == low else 0, dtype=np.int64)
    if high > low:
        with np.errstate(invalid="ignore", over="ignore"):
            share = (shown / 2 - low) / (high - low)
        share[~np.isfinite(share)] = 0.0
        ramp = np.rint(np.clip(share, 0.0, 1.0) * (rungs - 1)).astype(np.int64)

    # the worst level of the episodes that touch each column
    grades = np.zeros(used, dtype=np.int64)
    for since, until, level in levels:
        begin = (float(since) - first) / unit
        end = used - 1.0 if until is None else (float(until) - first) / unit
        if begin < used and end >= 0:
            part = slice(max(0, math.floor(begin)), max(0, min(used - 1, math.floor(end))) + 1)
            grades[part] = np.maximum(grades[part], int(level))

    line = joined(_styled(ramp, kind, grades, constant, known, glyphs))
    line += [(" " * (width - used), MUTED)] if used < width else []
    finite = bool((digest.good == digest.count).all())
    digest.drawn = (looks, line) if finite else None
    digest.changed = width
    return list(line)


def _cells(digest: Digest, used: int) -> tuple[FloatArray, IntArray]:
    """Values (used,) and kinds (used,) of the columns in use."""
    own = digest.count[:used] > 0
    filled = np.flatnonzero(own)
    high = digest.high[filled]
    low = digest.low[filled]
    good = digest.good[filled]
    middle = digest.middle / 2
    far = np.where(high / 2 - middle >= middle - low / 2, high, low)
    # a column takes its own extreme, columns after it the level of its last point
    held = digest.newest[filled]
    source = np.cumsum(own) - 1
    own[-1] = False  # the last cell is always the newest value
    shown = np.where(own, far[source], held[source])
    kind = np.where(source < 0, _BLANK, _VALUE)
    count = digest.count[filled]
    if np.array_equal(good, count):
        return shown, kind

    broken = False
    for column in np.flatnonzero(source >= 0).tolist():
        which = source[column]
        all_bad = good[which] == 0 if own[column] else not np.isfinite(held[which])
        begins = not broken and (all_bad or (own[column] and good[which] < count[which]))
        if begins:
            kind[column] = _NAN_START
        elif all_bad:
            kind[column] = _NAN_ON
        broken = all_bad or begins
    if np.isfinite(held[-1]):
        kind[-1] = _VALUE
    return shown, kind


def _styled(
    ramp: IntArray, kind: IntArray, grades: IntArray, constant: bool, known: bool, glyphs: GlyphSet
) -> Iterator[Span]:
    """The cells, one by one."""
    base = _SPARK if known else _UNJUDGED
    for rung, what, grade in zip(ramp.tolist(), kind.tolist(), grades.tolist(), strict=True):
        if what == _BLANK:
            yield " ", MUTED
        elif what == _NAN_START:
            yield glyphs.nan, _NAN
        elif what == _NAN_ON:
            yield glyphs.unchanged, _NAN_REST
        elif constant:
            yield glyphs.unchanged, _FILL.get(grade, MUTED)
        else:
            yield glyphs.ramp[rung], _FILL.get(grade, base)


class Digest:
    """Extremes and newest value of the points per column, of ``width`` columns.

    Column i begins at ``first + i * unit``; points outside of ``first`` to the ``last`` of
    :meth:`extend` are left out. NaN and infinities are no extremes.
    """

    def __init__(self, first: float, unit: float, width: int) -> None:
        self.first = first
        self.unit = unit
        self.width = width
        self.high: FloatArray = np.full(width, -np.inf)
        self.low: FloatArray = np.full(width, np.inf)
        self.newest: FloatArray = np.full(width, np.nan)
        """The last value of each column."""
        self.count: IntArray = np.zeros(width, dtype=np.int64)
        self.good: IntArray = np.zeros(width, dtype=np.int64)
        """Number of finite points per column."""
        self.middle = 0.0
        """Approximate median; changes rarely."""
        self.lowest = math.inf
        self.highest = -math.inf
        """The extremes of all columns."""
        self.changed = 0
        """The first column that has changed since the points were drawn; ``width`` for none."""
        self.drawn: tuple[tuple[object, ...], list[Span]] | None = None
        """Drawing of the points: by what they were drawn, and the line; None unless all are
        finite."""
        self._begins: NDArray[Any] = self.first + np.arange(width + 1) * unit
        """(width + 1,) where the columns begin; the last entry is the end."""
        self._begin = 0
        self._taken = 0
        self._median_of = 0

    @property
    def is_single(self) -> bool:
        """Whether there is one point and no more."""
        return self._taken - self._begin == 1

    def extend(self, x: NDArray[np.generic], y: NDArray[np.generic], last: float) -> None:
        """Add the new points up to ``last``. x (n,) non-decreasing and y (n,) must begin with the
        points of the previous call (see ``Series.epoch``)."""
        if not self._taken:
            self._begin = self._taken = int(np.searchsorted(x, self.first, side="left"))
        end = int(np.searchsorted(x, last, side="right"))
        if end <= self._taken:
            return
        x = x[self._taken : end]
        values = y[self._taken : end].astype(np.float64)
        self._taken = end

        if x.dtype.kind in "iu" and self._begins.dtype.kind == "f":
            whole = np.clip(np.ceil(self._begins - 1e-9), -9.2e18, 9.2e18)
            self._begins = whole.astype(np.int64)
        if len(x) == 1:
            self._add(x[0], float(values[0]))
        else:
            self._add_all(x, values)

        # the median of the first 4, 5, 6 or 7 times a power of two points
        many = self._taken - self._begin
        many -= many % max(1, 1 << max(0, int(math.log2(many)) - 2))
        if many != self._median_of:
            self._median_of = many
            sample = y[self._begin : self._begin + many : max(1, many // _MEDIAN_SAMPLE)]
            sample = sample[np.isfinite(sample)]
            half = len(sample) // 2
            self.middle = float(np.partition(sample, half)[half]) if len(sample) else 0.0

    def _add(self, x: np.generic, value: float) -> None:
        """Add a point: a step of a live run."""
        at = int(np.searchsorted(self._begins, x, side="right")) - 1
        at = max(0, min(at, self.width - 1))
        self.newest[at], self.changed = value, min(self.changed, at)
        self.count[at] += 1
        if math.isfinite(value):
            self.good[at] += 1
            self.high[at], self.low[at] = max(self.high[at], value), min(self.low[at], value)
            self.lowest, self.highest = min(self.lowest, value), max(self.highest, value)
        else:
            self.drawn = None

    def _add_all(self, x: NDArray[np.generic], values: FloatArray) -> None:
        """Add points."""
        # (width + 1,) index of the first new point of each column
        bounds = np.searchsorted(x, self._begins, side="left")
        bounds[0], bounds[-1] = 0, len(x)
        bounds = np.maximum.accumulate(bounds)
        filled = np.flatnonzero(bounds[1:] > bounds[:-1])
        starts = bounds[filled]
        ends = bounds[filled + 1]

        finite = np.isfinite(values)
        self.drawn = self.drawn if finite.all() else None
        self.newest[filled] = values[ends - 1]
        self.count[filled] += ends - starts
        self.good[filled] += np.add.reduceat(finite, starts, dtype=np.int64)
        high = np.where(finite, values, -np.inf)
        low = np.where(finite, values, np.inf)
        self.high[filled] = np.maximum(self.high[filled], np.maximum.reduceat(high, starts))
        self.low[filled] = np.minimum(self.low[filled], np.minimum.reduceat(low, starts))
        self.lowest = min(self.lowest, float(low.min()))
        self.highest = max(self.highest, float(high.max()))
        self.changed = min(self.changed, int(filled[0]))
