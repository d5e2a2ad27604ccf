"""Sparklines: one row of cells that shows a whole run.

A :class:`Digest` gathers the points of a series in columns. What is appended extends it: a series
of a million points is read once, a repaint reads the new points only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rltui.core.block import FloatArray, IntArray
from rltui.core.level import Level
from rltui.draw.glyph import GlyphSet
from rltui.draw.line import MUTED, Span, Style, Token, style

#: An episode of a level: since step, until step (None: still so), level.
Episode = tuple[float, float | None, Level]

_NAN = style(Token.BAD, bold=True)
_NAN_REST = style(Token.BAD)
_FILL = {Level.WATCH: style(Token.WATCHFILL), Level.BAD: style(Token.BADFILL)}
_SPARK, _UNJUDGED = style(Token.SPARK), style(Token.UNJUDGED)

# What a cell shows.
_BLANK, _VALUE, _NAN_START, _NAN_ON = 0, 1, 2, 3
#: Above this many points the median is taken from a regular sample.
_MEDIAN_SAMPLE = 4096


def empty_digest(
    first: float, last: float, end: float, width: int, *, narrowest: float = 0.0
) -> Digest:
    """Columns of which the last ends a step after ``end``, or after ``last`` if that is later;
    none is narrower than ``narrowest``, and what is left of the width stays blank."""
    first = float(first)
    end = max(first, float(last), float(end))
    least = math.ulp(max(abs(first), abs(end), 1.0))
    return Digest(first, max(narrowest, (end - first + max(1.0, least)) / width), width)


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
    width, first, unit = digest.width, digest.first, digest.unit
    used = min(width, math.floor((max(first, float(last)) - first) / unit + 1e-9) + 1)
    count = digest.count[:used]
    if not count.any():
        return [(" " * width, MUTED)]
    shown, kind = _cells(digest, used)
    if count.sum() == 1:
        kind[(count == 0) & (kind == _VALUE)] = _BLANK
    ramp, constant = _heights(digest, shown, len(glyphs.ramp))
    level = _levels(levels, first, unit, used)
    line = _paint(ramp, kind, level, constant=constant, known=known, glyphs=glyphs)
    return line if used == width else [*line, (" " * (width - used), MUTED)]


def _cells(digest: Digest, used: int) -> tuple[FloatArray, IntArray]:
    """What each of the columns in use shows: its value (used,) and its kind (used,)."""
    own = digest.count[:used] > 0
    filled = np.flatnonzero(own)
    high, low, good = digest.high[filled], digest.low[filled], digest.good[filled]
    middle = digest.middle / 2
    far = np.where(high / 2 - middle >= middle - low / 2, high, low)
    # a column takes its own extreme, columns after it the level of its last point
    held = digest.newest[filled]
    source = np.cumsum(own) - 1
    own[-1] = False  # the last cell is always the newest value
    shown = np.where(own, far[source], held[source])
    kind = np.where(source < 0, _BLANK, _VALUE)
    if not np.array_equal(good, digest.count[filled]):
        _mark_nan(
            kind,
            own=own,
            source=source,
            good=good,
            count=digest.count[filled],
            newest_finite=np.isfinite(held),
        )

    return shown, kind


def _mark_nan(
    kind: IntArray,
    *,
    own: NDArray[np.bool_],
    source: IntArray,
    good: IntArray,
    count: IntArray,
    newest_finite: NDArray[np.bool_],
) -> None:
    """Set the kind of the columns with points that are not finite."""
    last = len(kind) - 1
    broken = False
    for column in range(len(kind)):
        which = int(source[column])
        if which < 0:
            continue
        if own[column]:
            some, none_good = good[which] < count[which], good[which] == 0
            if none_good:
                kind[column] = _NAN_ON if broken else _NAN_START
            elif some and not broken:
                kind[column] = _NAN_START
            broken = bool(none_good or (some and kind[column] == _NAN_START))
        elif not newest_finite[which]:
            kind[column] = _NAN_ON if broken else _NAN_START
            broken = True
        else:
            broken = False
    if newest_finite[-1]:
        kind[last] = _VALUE


def _heights(digest: Digest, shown: FloatArray, rungs: int) -> tuple[IntArray, bool]:
    """Rung of the ramp per column (used,), and whether the metric never changed."""
    low, high = float(digest.low.min()) / 2, float(digest.high.max()) / 2
    if not high > low:
        constant = high == low and bool((digest.good == digest.count).all())
        middle = rungs // 2 if high == low else 0
        return np.full(len(shown), middle, dtype=np.int64), constant
    with np.errstate(invalid="ignore", over="ignore"):
        share = (shown / 2 - low) / (high - low)
    share[~np.isfinite(share)] = 0.0
    return np.rint(np.clip(share, 0.0, 1.0) * (rungs - 1)).astype(np.int64), False


def _levels(levels: Sequence[Episode], first: float, unit: float, width: int) -> IntArray:
    """The worst level (width,) of the episodes that touch each column."""
    out = np.zeros(width, dtype=np.int64)
    for since, until, level in levels:
        begin = (float(since) - first) / unit
        end = width - 1.0 if until is None else (float(until) - first) / unit
        if not (begin < width and end >= 0):
            continue
        part = slice(max(0, math.floor(begin)), max(0, min(width - 1, math.floor(end))) + 1)
        out[part] = np.maximum(out[part], int(level))
    return out


def _paint(
    ramp: IntArray,
    kind: IntArray,
    level: IntArray,
    *,
    constant: bool,
    known: bool,
    glyphs: GlyphSet,
) -> list[Span]:
    """Cells of equal style as spans."""
    base = _SPARK if known else _UNJUDGED
    spans: list[Span] = []
    run: list[str] = []
    look: Style = MUTED
    for rung, what, grade in zip(ramp.tolist(), kind.tolist(), level.tolist(), strict=True):
        now: Style
        if what == _BLANK:
            char, now = " ", MUTED
        elif what == _NAN_START:
            char, now = glyphs.nan, _NAN
        elif what == _NAN_ON:
            char, now = glyphs.unchanged, _NAN_REST
        elif constant:
            char, now = glyphs.unchanged, _FILL.get(Level(grade), MUTED)
        else:
            char, now = glyphs.ramp[rung], _FILL.get(Level(grade), base)
        if run and now is not look:
            spans.append(("".join(run), look))
            run = []
        look = now
        run.append(char)
    spans.append(("".join(run), look))

    return spans


class Digest:
    """Extremes and newest value of the points per column, of ``width`` columns.

    Column i begins at ``first + i * unit``; points outside of ``first`` to the ``last`` of
    :meth:`extend` are left out. NaN and infinities are no extremes.
    """

    def __init__(self, first: float, unit: float, width: int) -> None:
        self.first, self.unit, self.width = first, unit, width
        self.high: FloatArray = np.full(width, -np.inf)
        self.low: FloatArray = np.full(width, np.inf)
        self.newest: FloatArray = np.full(width, np.nan)
        """The last value of each column."""
        self.count: IntArray = np.zeros(width, dtype=np.int64)
        self.good: IntArray = np.zeros(width, dtype=np.int64)
        """Number of finite points per column."""
        self.middle = 0.0
        """Approximate median; changes rarely."""
        self._begin = 0
        self._taken = 0
        self._median_of = 0

    def extend(self, x: NDArray[np.generic], y: NDArray[np.generic], last: float) -> None:
        """Take in the new points up to ``last``. x (n,) non-decreasing and y (n,) must begin
        with the points of the previous call (see ``Series.epoch``)."""
        if not self._taken:
            self._begin = self._taken = int(np.searchsorted(x, self.first, side="left"))
        end = int(np.searchsorted(x, last, side="right"))
        if end <= self._taken:
            return
        part = slice(self._taken, end)
        self._gather(x[part], y[part].astype(np.float64))
        self._taken = end
        self._find_middle(y)

    def _gather(self, x: NDArray[np.generic], y: FloatArray) -> None:
        bounds = self._bounds(x)
        filled = np.flatnonzero(bounds[1:] > bounds[:-1])
        starts, ends = bounds[filled], bounds[filled + 1]
        finite = np.isfinite(y)
        self.newest[filled] = y[ends - 1]
        self.count[filled] += ends - starts
        if finite.all():
            self.good[filled] += ends - starts
            high, low = y, y
        else:
            self.good[filled] += np.add.reduceat(finite.astype(np.int64), starts)
            high, low = np.where(finite, y, -np.inf), np.where(finite, y, np.inf)
        self.high[filled] = np.maximum(self.high[filled], np.maximum.reduceat(high, starts))
        self.low[filled] = np.minimum(self.low[filled], np.minimum.reduceat(low, starts))

    def _bounds(self, x: NDArray[np.generic]) -> IntArray:
        """(width + 1,) index of the first point of each column; the last entry is the end."""
        starts = self.first + np.arange(self.width + 1) * self.unit
        if x.dtype.kind in "iu":
            starts = np.clip(np.ceil(starts - 1e-9), -9.2e18, 9.2e18).astype(np.int64)
        bounds = np.searchsorted(x, starts, side="left")
        bounds[0], bounds[-1] = 0, len(x)
        return np.maximum.accumulate(bounds)

    def _find_middle(self, y: NDArray[np.generic]) -> None:
        """The median of the first 4, 5, 6 or 7 times a power of two points."""
        many = self._taken - self._begin
        unit = max(1, 1 << max(0, int(math.log2(many)) - 2))
        many -= many % unit
        if many == self._median_of:
            return
        self._median_of = many
        stride = max(1, many // _MEDIAN_SAMPLE)
        sample = y[self._begin : self._begin + many : stride]
        sample = sample[np.isfinite(sample)]
        half = len(sample) // 2
        self.middle = float(np.partition(sample, half)[half]) if len(sample) else 0.0
