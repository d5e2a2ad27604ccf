"""The contents of a chart: plain records, no drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rltui.core.level import Level
from rltui.present.kit.line import Line, Token
from rltui.present.kit.spark import Episode

Array = NDArray[np.generic]
#: The points of something: x (n,) and y (n,), any numeric type, NaN and Inf included.
XY = tuple[Array, Array]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One line of a chart. The last curve of a chart is the uppermost."""

    x: Array
    """(n,) steps, seconds, tokens...; int or float."""
    y: Array
    """(n,) values as logged."""
    low: XY | None = None
    """The points of the family's minimum, with ``high`` the band."""
    high: XY | None = None
    levels: Sequence[Episode] = ()
    """Since, until (None: now), level, in units of x: recolours the line."""
    known: bool = True
    """False: no rule judges this metric, its line is grey."""
    old: XY | None = None
    """Points that a restart superseded: drawn in the colour of the band."""
    token: Token = Token.SERIES
    label: str = ""
    """Name in the readout when there are several curves."""
    ghost: bool = False
    """A reference run: drawn in the colour of the band, below all others."""
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """A horizontal line with its text at the right end."""

    value: float
    text: str = ""
    token: Token = Token.OK


@dataclass(frozen=True, slots=True)
class Bar:
    """A finding as a bar under the chart, in units of x."""

    title: str
    level: Level
    since: float
    until: float | None = None
    over: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A letter on the marks line: R restart, v validation, c checkpoint."""

    x: float
    letter: str


@dataclass(frozen=True, slots=True)
class Crosshair:
    """A place on the x axis, and the lines of its readout box (None: made from the data)."""

    x: float
    lines: Sequence[Line] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """Everything that :func:`rltui.present.chart.render.render` draws."""

    curves: Sequence[Curve] = ()
    first: float | None = None
    """First and newest x of the run; by default those of the curves."""
    last: float | None = None
    end: float | None = None
    """Where the x axis ends when that is beyond ``last``: space for new points."""
    window: tuple[float, float] | None = None
    """The visible part when zoomed in."""
    x_kind: str = "step"
    """step, time (seconds since the start), clock (epoch seconds) or number."""
    x_unit: str = "step"
    smooth: float = 0.0
    log: bool = False
    clip: bool = False
    """Cut the y range to the 1-99 % quantiles and mark what is outside."""
    healthy: tuple[float | None, float | None] | None = None
    """The healthy range (None: open), drawn as a tint."""
    limits: Sequence[Limit] = ()
    restarts: Sequence[float] = ()
    bars: Sequence[Bar] = ()
    marks: Sequence[Mark] = ()
    marks_title: str = "marks"
    crosshair: Crosshair | None = None
    ends: bool = False
    """A cell of the grid: only the two ends of the y axis are labelled, no tick marks."""
    x_axis: bool = True
    newest: bool = True
    """Write the newest value beside its ◂ in the right margin."""
    label_width: int | None = None
    """Cells of the y labels, to line up charts below each other; None: as needed."""
    margin_width: int | None = None
    """Cells of the right margin, for the same reason; None: as the newest value needs."""
    foot_rows: int | None = None
    """At most this many lines under the axis for bars and marks; None: a third of the height."""
