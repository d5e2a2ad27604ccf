"""Axes: round ticks, labels that share one format, and the scales of a chart."""

from __future__ import annotations

import math
import re
import time
from bisect import bisect_right
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rltui.core.block import FloatArray
from rltui.facts import numbers

_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
#: Beyond this the steps of an axis may overflow.
_HUGE = 4e306
_TINY = 1e-290
_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_MINUTE = 60
_DAY = 86400
#: A round duration without its empty second unit: 10m00s -> 10m.
_ROUND = re.compile(r"^(\d+[mhd])00[smh]$")


class Scale(NamedTuple):
    """The y axis of a plot of ``rows`` rows: the values of its lowest and its highest dot."""

    low: float
    high: float
    """In data units, or their decimal logarithm when ``log``."""
    rows: int
    log: bool = False
    ticks: tuple[tuple[int, str], ...] = ()
    """(row counted from the bottom, label), ascending."""

    def share(self, values: FloatArray) -> FloatArray:
        """Where values lie between low (0) and high (1), kept within -9 and 10."""
        with np.errstate(all="ignore"):
            at = np.log10(values) if self.log else values
            share = (at / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return np.minimum(np.maximum(share, -9.0), 10.0)

    def row(self, value: float, down: int = 4) -> int | None:
        """The row (from the bottom) of a value, None when it is outside of the plot.

        ``down`` is how many dots a cell has above each other.
        """
        share = float(self.share(np.array([value], dtype=np.float64))[0])
        if not -1e-9 <= share <= 1 + 1e-9:
            return None
        dots = down * self.rows - 1
        return min(self.rows - 1, max(0, round(share * dots) // down))


@lru_cache(maxsize=64)
def linear_scale(low: float, high: float, rows: int) -> Scale:
    """A scale that holds ``low`` to ``high`` with evenly spaced ticks at 1-2-2.5-5 numbers.

    Ticks are a whole number of rows apart; the way that wastes the least space
    wins. 4-6 labels on 12 rows and more (7 where there is room), 2-3 on fewer.
    """
    low, high = _widened(low, high)
    gaps = rows - 1
    if gaps < 1:
        return Scale(low, high, max(rows, 1))
    wanted = (4, 7 if rows >= 20 else 6) if rows >= 12 else (2, 3)
    best: tuple[float, Scale] | None = None
    for rows_per_tick in range(1, gaps + 1):
        if gaps // rows_per_tick > 2 * wanted[1]:
            continue
        found = _fitted(low, high, gaps, rows_per_tick, wanted)
        if found is not None and (best is None or found[0] < best[0]):
            best = found

    return best[1] if best else Scale(low, high, rows)


def _fitted(
    low: float, high: float, gaps: int, per_tick: int, wanted: tuple[int, int]
) -> tuple[float, Scale] | None:
    """(cost, scale) with a tick every ``per_tick`` rows, or None."""
    step = nice_ceil((high - low) / gaps * per_tick)
    for _ in range(3):
        unit = step / per_tick
        bottom = -gaps if high == 0 else math.floor(low / unit + 1e-6)
        if bottom + gaps >= high / unit - 1e-6:
            break
        step = nice_ceil(step * 1.01)
    else:
        return None
    rows = [r for r in range(gaps + 1) if (bottom + r) % per_tick == 0]
    lacking = max(0, wanted[0] - len(rows))
    surplus = max(0, len(rows) - wanted[1])
    if len(rows) < 2 or lacking > 2 or surplus > 1:
        return None
    values = [(bottom + r) // per_tick * step for r in rows]
    labels = numbers.ticks(values, step)
    waste = 1 - (high - low) / (unit * gaps)
    odd = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    cost = waste + 0.3 * lacking + 0.1 * surplus + 0.05 * (rows[0] != 0)
    cost += 0.06 * (rows[-1] != gaps) + 0.06 * (2.4 < odd < 2.6)
    cost += 0.01 * max(map(len, labels))
    ticks = tuple(zip(rows, labels, strict=True))

    return cost, Scale(bottom * unit, (bottom + gaps) * unit, gaps + 1, ticks=ticks)


def round_ticks(low: float, high: float, rows: int) -> list[tuple[float, str]]:
    """(value, label) of round values from ``low`` to ``high`` for an axis of ``rows`` rows; of
    the two ends where fewer than two round values lie between them."""
    size = max(abs(low), abs(high))
    if high / 2 - low / 2 <= size * 1e-9:
        return [(low, numbers.value(low))]
    values: list[float] = []
    step = nice_ceil(max((high / 2 - low / 2) / min(6, max(2, rows // 4)) * 2, _TINY))
    if size < _HUGE:
        first = math.ceil(low / step - 1e-9)
        last = math.floor(high / step + 1e-9)
        values = [n * step for n in range(first, last + 1)]
    if len(values) < 2:
        return [(at, numbers.value(at)) for at in (low, high)]
    return list(zip(values, numbers.ticks(values, step), strict=True))


def end_scale(low: float, high: float, rows: int, *, constant: bool = False) -> Scale:
    """A scale of exactly this range with its two ends as labels (a cell of the grid)."""
    wide_low, wide_high = _widened(low, high)
    if constant or rows < 2:
        middle = (rows - 1) // 2
        text = numbers.value(low / 2 + high / 2)
        return Scale(wide_low, wide_high, rows, ticks=((middle, text),) if rows else ())
    labels = (0, numbers.value(low)), (rows - 1, numbers.value(high))
    return Scale(wide_low, wide_high, rows, ticks=labels)


def log_scale(low: float, high: float, rows: int, *, ends: bool = False) -> Scale:
    """A logarithmic scale of positive values; ticks at decades, and between them where there is
    room."""
    bottom = math.log10(low)
    top = math.log10(high)
    if top - bottom < 0.02:
        bottom -= 0.3
        top += 0.3
    if rows < 2:
        return Scale(bottom, top, max(rows, 1), log=True)
    found: list[tuple[int, str]] = []
    for at, label in [] if ends else decades(bottom, top, rows):
        row = round((at - bottom) / (top - bottom) * (rows - 1))
        if not found or row > found[-1][0]:
            found.append((row, label))
    if len(found) < 2:
        found = [(0, numbers.value(_power(bottom))), (rows - 1, numbers.value(_power(top)))]

    return Scale(bottom, top, rows, log=True, ticks=tuple(found))


def decades(bottom: float, top: float, rows: int) -> list[tuple[float, str]]:
    """(decimal logarithm, label) of the ticks from ``bottom`` to ``top`` (both logarithms) of an
    axis of ``rows`` rows; of both ends where fewer than two round values lie between them."""
    found: list[tuple[float, str]] = []
    low = _power(bottom)
    high = _power(top)
    most = min(8, max(3, rows * 2 // 5))
    if 0 < top - bottom < 1 and _TINY < high - low < _HUGE:
        step = nice_ceil((high - low) / most)
        values = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
        labels = numbers.ticks(values, step)
        found = [(math.log10(v), text) for v, text in zip(values, labels, strict=True) if v > 0]
    elif top > bottom:
        found = _power_ticks(bottom, top, most)

    return (
        found if len(found) > 1 else [(x, numbers.value(_power(x))) for x in sorted({bottom, top})]
    )


def _power_ticks(bottom: float, top: float, most: int) -> list[tuple[float, str]]:
    """(decimal logarithm, label) of at most ``most`` ticks at powers of ten, and between these
    where there is room."""
    first = math.ceil(bottom - 1e-9)
    last = math.floor(top + 1e-9)
    for digits in (range(1, 10), (1, 2, 5), (1, 3)):
        if last - first > most:
            break
        fine = [math.log10(m) + p for p in range(first - 1, last + 1) for m in digits]
        inside = [t for t in fine if bottom - 1e-9 <= t <= top + 1e-9]
        # the smallest floats are far apart: some powers of ten have none near them
        inside = [t for t in inside if abs(math.log10(_power(t)) - t) < 0.01]
        if len(inside) <= most:
            return [(t, numbers.short(_power(t))) for t in inside]
    strides = (1, 2, 3, 5, 10, 20, 50, 100, 200, 400)
    stride = strides[bisect_right(strides, (last - first) / most)]
    powers = range(-(-first // stride) * stride, last + 1, stride)

    labels = [numbers.short(_power(p)) if -4 < p < 15 else f"1e{p}" for p in powers]
    return [(float(p), label) for p, label in zip(powers, labels, strict=True)]


def _power(exponent: float) -> float:
    try:
        return float(10.0**exponent) or math.ulp(0.0)
    except OverflowError:
        return math.inf


def _widened(low: float, high: float) -> tuple[float, float]:
    """A range that is finite, not empty, and wide enough for float arithmetic."""
    low = max(-_HUGE, min(low, _HUGE))
    high = max(-_HUGE, min(high, _HUGE))
    room = max(max(abs(low), abs(high)) * 1e-9, _TINY)
    if high - low < room:
        middle = low / 2 + high / 2
        low = middle - room
        high = middle + room
    return low, high


def nice_ceil(x: float) -> float:
    """The smallest 1, 2, 2.5 or 5 times a power of ten that is at least ``x`` > 0."""
    power = 10.0 ** math.floor(math.log10(x))
    return next(m * power for m in _NICE if m * power >= x * (1 - 1e-9) or m == 10.0)


def x_ticks(first: float, last: float, cells: int, kind: str) -> list[tuple[float, str]]:
    """Round places on the x axis with their labels, about one in 13 cells.

    ``kind``: step (whole numbers), time (seconds since the start), clock (epoch seconds),
    number (tokens and other quantities).
    """
    span = last - first
    if cells < 3 or not (math.isfinite(span) and span > 0):
        return [(last, _x_label(last, kind))] if math.isfinite(last) and cells > 0 else []
    offset = 0.0
    if kind == "clock":
        with suppress(OverflowError, OSError, ValueError):
            offset = float(time.localtime(first).tm_gmtoff)
    aim = span * min(1.0, 12.0 / cells)
    for step in _steps_from(aim, kind):
        begin = math.ceil((first + offset) / step - 1e-9)
        count = math.floor((last + offset) / step + 1e-9) - begin
        if count > cells:
            continue
        places = [(begin + i) * step - offset for i in range(count + 1)]
        labels = _x_labels(places, step, kind)
        widest = max((len(label) for label in labels), default=0)
        if step / span * (cells - 1) >= widest + 2 or len(places) < 2:
            return list(zip(places, labels, strict=True))

    return []


def _steps_from(aim: float, kind: str) -> list[float]:
    """Candidates for the distance between ticks, from ``aim`` upwards."""
    out: list[float] = []
    if kind in ("time", "clock"):
        out = [float(s) for s in _SECONDS if s >= aim]
        aim = max(aim, float(_DAY)) / _DAY
    step = nice_ceil(max(aim, _TINY, 1.0 if kind != "number" else _TINY))
    for _ in range(8):
        if step > 1e300:
            break
        whole = step == round(step) or step > 1e15
        if kind == "number" or whole:
            out.append(step * _DAY if kind in ("time", "clock") else step)
        step = nice_ceil(step * 1.01)
    return out


def _x_labels(places: list[float], step: float, kind: str) -> list[str]:
    """Labels for places ``step`` apart: the shortest form in which no two are alike."""
    if kind == "number" or (kind == "step" and max(map(abs, places), default=0) >= 999_999.5):
        return numbers.ticks(places, step)
    if kind == "clock":
        forms: tuple[str, ...]
        forms = ("%H:%M", "%m-%d %H:%M") if step >= _MINUTE else ("%H:%M:%S", "%m-%d %H:%M:%S")
        if step >= _DAY:
            forms = ("%m-%d", "%Y-%m-%d")[step >= 60 * _DAY :]
        ways = [[_local(p, form) for p in places] for form in forms]
        return next((way for way in ways if len(set(way)) == len(way)), ways[-1])

    labels = [_x_label(p, kind) for p in places]
    if kind == "time" and len(set(labels)) < len(labels):
        return [_exact_time(p) for p in places]
    return labels


def _exact_time(seconds: float) -> str:
    """A time since the start to the second: 10d00:14:05."""
    days, rest = divmod(round(seconds), _DAY)
    text = f"{rest // 3600}:{rest // _MINUTE % 60:02d}:{rest % _MINUTE:02d}"
    return f"{days}d{text.rjust(8, '0')}" if days else text


def _x_label(x: float, kind: str) -> str:
    if kind == "time":
        return "0" if x == 0 else _ROUND.sub(r"\1", numbers.duration(x))
    if kind == "clock":
        return _local(x, "%H:%M")
    return numbers.step(x) if kind == "step" else numbers.short(x)


def _local(when: float, form: str) -> str:
    try:
        return time.strftime(form, time.localtime(when))
    except (OverflowError, OSError, ValueError):
        return numbers.MISSING
