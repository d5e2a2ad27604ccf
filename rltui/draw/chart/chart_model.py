"""The contents of a chart: plain records, no drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rltui.core.level import Level
from rltui.core.record import entity
from rltui.draw.line import Token
from rltui.draw.spark import Episode

Array = NDArray[np.generic]
#: The points of a curve: x (n,) and y (n,), any numeric type, NaN and Inf included.
XY = tuple[Array, Array]


@entity
class Curve:
    """The line of a run, or the mean of a group of runs."""

    x: Array
    """(n,) steps, seconds, tokens...; int or float."""
    y: Array
    """(n,) values as logged."""
    token: Token = Token.SERIES
    """Its colour where no level gives it one."""
    label: str = ""
    """The name of an overlay in the legend; empty keeps it out of there."""
    note: str = ""
    """Follows the name where the legend has room for it."""
    sign: str = ""
    """One cell that names it on the line itself; empty for none."""
    low: XY | None = None
    """The points of the minimum of the family or group, with ``high`` the band."""
    high: XY | None = None
    mean: XY | None = None
    """Means of equal numbers of neighbouring points, where ``y`` is but the outline of them."""
    is_band: bool = False
    """Whether it only names ``Chart.envelope`` in the legend and draws no line."""

    is_path: bool = False
    """Whether the points are drawn as dots, because x does not grow from each to the next; where
    they are smoothed, x and y are, and the line is joined in the order of the points."""

    levels: Sequence[Episode] = ()
    """Since, until (None: now), level, in units of x, of a path in points: recolours the line."""
    known: bool = True
    """False: no rule judges this metric, its line is grey."""
    old: XY | None = None
    """Points that a restart superseded: drawn in the colour of the band."""


class Limit(NamedTuple):
    """A horizontal line with its text at the right end."""

    value: float
    text: str = ""
    token: Token = Token.OK
    sought: bool = True
    """Whether the y range grows to hold it, and an arrow points to it where it cannot."""


class Bar(NamedTuple):
    """A finding as a bar under the chart, in units of x."""

    title: str
    level: Level
    since: float
    until: float | None = None
    over: bool = False
    own: bool = False
    """Whether it is about what the chart shows."""


class ChartMark(NamedTuple):
    """A letter on the line of marks: R restart, v validation, c checkpoint, l setting jumped, s log
    paused, N not finite."""

    x: float
    letter: str


class Continuation(NamedTuple):
    """Where the newest trend leads, in units of the axes."""

    x: float
    y: float
    """The newest point."""
    limit: float
    """The value that the trend is going to cross."""
    earliest: float
    latest: float
    """The x between which it crosses the limit."""


@entity
class Chart:
    """Everything that :func:`rltui.draw.chart.render.render` draws."""

    curve: Curve
    label: str = ""
    """The name of the curve in the legend, which a chart with named overlays has."""
    note: str = ""
    """Follows the name where the legend has room for it."""
    overlays: Sequence[Curve] = ()
    """Drawn below the curve and above everything else; the y range holds them."""
    envelope: tuple[XY, XY] | None = None
    """Low and high of the reference: a faint band under everything."""

    first: float | None = None
    """First and newest x of the run; by default those of the curve and the overlays."""
    last: float | None = None
    end: float | None = None
    """Where the x axis ends when that is beyond ``last``: space for new points."""
    window: tuple[float, float] | None = None
    """The visible part when zoomed in."""
    x_kind: str = "step"
    """step, time (seconds since the start), clock (epoch seconds) or number."""
    x_unit: str = "step"

    smooth: float = 0.0
    """Weight of a moving average; 0 draws the points as they are, and where they are denser than
    the columns their mean over a band from minimum to maximum."""
    log: bool = False
    clip: bool = False
    """Cut the y range to the 1-99 % quantiles and mark what is outside."""
    continuation: Continuation | None = None
    healthy: tuple[float | None, float | None] | None = None
    """The healthy range (None: open), drawn as a tint."""
    limits: Sequence[Limit] = ()
    restarts: Sequence[float] = ()

    bars: Sequence[Bar] = ()
    bar_names: bool = True
    """False leaves the names of bars and marks blank: the chart above has them."""
    marks: Sequence[ChartMark] = ()
    marks_title: str = "marks"
    overview: bool = False
    """A strip of the whole run below the chart that shows where the window is."""
    crosshair: float | None = None
    """The x of the crosshair and of its readout."""
    point: tuple[int, str] | None = None
    """The point of a path at the crosshair, and its step in words."""
    told: bool = False
    """Whether a table beside the chart names its lines and reads them at the crosshair, so that it
    needs no legend and no readout."""
    ends: bool = False
    """A cell of the grid: only the two ends of the y axis are labelled, no tick marks."""
    x_axis: bool = True
    newest: bool = True
    """Write the newest value beside its ◂ in the right margin."""
    label_width: int | None = None
    """Cells of the y labels, to line up charts below each other; None: as needed."""
    margin_width: int | None = None
    """Cells of the right margin, for the same reason; None: as the newest value needs."""
