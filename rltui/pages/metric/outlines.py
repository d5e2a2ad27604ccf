"""Outlines of long series, kept for each run and extended by what is appended."""

from __future__ import annotations

from rltui.draw.chart.outline import COARSE, LONG, LONG_COARSE, Outline
from rltui.facts.cache import RunSeriesCache
from rltui.session import RunView
from rltui.store import Series

_OUTLINES: RunSeriesCache[Outline] = RunSeriesCache()


def outline_of(run: RunView, series: Series, *, coarse: bool = False) -> Outline | None:
    """What of a long series shows at any size; None for all of it. A ``coarse`` one will do for a
    line among many, which is drawn without its raw points."""
    if series.count < (LONG_COARSE if coarse else LONG):
        return None

    def make(whole: Series) -> Outline:
        return extend(Outline(COARSE) if coarse else Outline(), whole)

    def extend(outline: Outline, longer: Series) -> Outline:
        outline.extend(longer.values)
        return outline

    return _OUTLINES.of(run).get(series, make, name=coarse, extend=extend)
