"""Input and output of a detector."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import field
from typing import Any, TypeVar

from rltui.core.block import BoolArray, FloatArray, IntArray
from rltui.core.later import np
from rltui.core.record import entity
from rltui.health.detectors.windows import newest_of, rolling_median

T = TypeVar("T")

#: What is certain, as a suspicion and as bad: so much evidence, in rows that are barely beyond
#: their limit; so many standard errors where one fall of many is looked at, and half of them (1 in
#: 40, 1 in 700 of normal errors) where there is one comparison.
CERTAIN = (4.0, 6.0)
#: Rows at the beginning by which later ones are measured.
EARLY = 5
#: Rows of a median that is no single lucky row.
FEW = 3
#: The most that a row adds for being far beyond: an estimate, and an event that speaks for itself.
FAR = (1.0, 5.0)
#: What a row is worth that says little: it would often be so by chance, or is calm in what is sick.
FAINT = 1 / FEW
#: What a row without an event takes away: calm rows do not undo what happened.
CALM = 0.25
#: Share of the largest so far below which something is next to nothing, and of the rows below which
#: such rows are rare.
NOTHING = 0.01
#: Lower and upper end.
Calm = tuple[FloatArray | float, FloatArray | float]
ANY: Calm = (-math.inf, math.inf)
#: An ``exploration`` rate above which most actions are random.
_AT_RANDOM = 0.5


@entity
class Rows:
    """The rows of one tag, in the unit and sign of its metric.

    ``x`` holds finite values only, except for detectors whose ``finite_is_quiet``.
    """

    x: FloatArray
    """(n,) values."""
    steps: IntArray
    """(n,) steps."""
    others: Mapping[str, FloatArray] = field(default_factory=dict)
    """role -> (n,): the newest value of another metric at or before each row, NaN if none yet.
    Roles that the run does not log are absent."""

    restarts: tuple[int, ...] = ()
    """The first row after each restart of the training."""
    kept: dict[Hashable, Any] = field(default_factory=dict)
    """Results computed of ``x`` already; shared by all variants and levels that judge it."""
    kept_of: dict[str, dict[Hashable, Any]] = field(default_factory=dict)
    """role -> what was computed of its values already; shared by all tags beside which they are
    the same."""
    hidden: float = 0.0
    """Largest value that a zero may hide: half a unit of the last decimal, where the log has
    few."""
    made: bool = False
    """Whether ``x`` is made of several metrics: no limit of it is one of the tag."""
    base: float = math.nan
    """Divisor of the newest value, NaN for none."""

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.x)

    def other(self, role: str, missing: float = math.nan) -> FloatArray:
        """(n,) another metric; ``missing`` in all rows where the run does not log it."""
        known = self.others.get(role)
        return constant(self.count, missing) if known is None else known

    def median(self, window: int) -> FloatArray:
        """(n,) median of the last ``window`` values at each row; not to be changed."""
        return self.once(("median", window), lambda: rolling_median(self.x, window))

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Result of ``compute`` on ``x`` alone, computed once per ``key``; not to be changed."""
        return _once(self.kept, key, compute)

    def once_of(self, role: str, key: Hashable, compute: Callable[[], T]) -> T:
        """Result of ``compute`` on the values of one role alone, computed once per ``key``."""
        return _once(self.kept_of.setdefault(role, {}), key, compute)


def _once(kept: dict[Hashable, Any], key: Hashable, compute: Callable[[], T]) -> T:
    if key not in kept:
        kept[key] = compute()
    found: T = kept[key]
    return found


@entity
class Signal:
    """Answer of a detector for one level: n rows, each judged by the rows up to it."""

    beyond: BoolArray
    """(n,) whether the row is on the wrong side of the threshold."""
    statistic: FloatArray
    """(n,) what was compared; NaN where it cannot be computed yet."""
    threshold: FloatArray | float
    """(n,) or all: what it was compared with, in the unit of the statistic."""
    name: str
    """Name of the statistic, for the evidence."""
    low: FloatArray | float | None = None
    """(n,) or all: lower limit in the unit of the metric, for the chart; None = open."""
    high: FloatArray | float | None = None
    """(n,) or all: upper limit in the unit of the metric."""
    onset: IntArray | int | None = None
    """(n,) row at which the episode of a row beyond the limit began, or one for all; None = the row
    itself."""
    window: int = 1
    """Rows that the statistic covers."""
    facts: Mapping[str, FloatArray] = field(default_factory=dict)
    """name -> (n,): further numbers for the templates of the rule."""
    notes: tuple[tuple[BoolArray, str], ...] = ()
    """(rows, template): text for such rows, which templates of a rule include with ``{note}``."""
    held: BoolArray | None = None
    """(n,) rows that count as beyond only because an earlier one was: they are no evidence."""
    peaked: bool = False
    """The evidence is the worst row of an episode, even while it lasts."""
    certain: bool = False
    """Each row beyond is certain by itself; otherwise rows add up, as far as they are beyond.
    Without ``evidence`` it is over at the first row inside."""
    event: bool = False
    """A row is an event and no estimate: one that is far beyond suffices."""
    evidence: Callable[[], FloatArray] | None = None
    """Computes (n,) what each row adds as evidence, not above zero where it is inside; seldom
    asked for. None: by its distance."""
    whole: bool = False
    """It holds for the whole run and has no onset."""
    forgotten: BoolArray | bool = False
    """(n,) or all: rows whose episode is no finding once it is over: what rose later did rise. May
    depend on rows that follow."""
    silent: bool = False
    """The rows allow no verdict: the rule has not judged this tag."""
    calm: Calm | None = None
    """Values between which and its limits rows may follow that are not beyond and move no limit;
    the newest of (n,), NaN = open. None: all must be judged."""


def cell(column: Any, row: Any) -> Any:
    """The value of a column of a :class:`Signal` at a row, or at some rows."""
    return column[row] if isinstance(column, np.ndarray) else column


def constant(n: int, value: float) -> FloatArray:
    """(n,) of one value."""
    out = np.empty(n)
    out.fill(value)
    return out


def part_of(x: FloatArray, base: FloatArray) -> FloatArray:
    """x / base, NaN where there is no base."""
    with np.errstate(all="ignore"):
        return np.where(base > 0, x / base, np.nan)


def after_exploring(rows: Rows) -> IntArray:
    """(n,) at each row, the first one after the last at which most actions were random, by the
    ``exploration`` rate, if the run logs one."""
    rate = rows.others.get("exploration")
    if rate is None:
        return np.zeros(rows.count, dtype=np.int64)
    return newest_of(rate > _AT_RANDOM) + 1
