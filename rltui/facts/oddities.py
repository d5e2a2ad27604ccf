"""Oddities of a run's curves that are no reason to stop, and metrics that it lacks, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np

from rltui.core.block import FloatArray
from rltui.core.level import Direction, Level
from rltui.core.yaml_record import Keyed, shipped_record
from rltui.facts import numbers, sentences
from rltui.facts.alarms import alarms, wanted
from rltui.facts.findings import diagnosed_in
from rltui.facts.reward import first_tag
from rltui.health.detectors.trend import GAIN, SUSPECTED, gain_now
from rltui.health.diagnoses import MACHINE
from rltui.health.rule import When
from rltui.health.rules import read_when
from rltui.session import JudgedRun

#: Rows whose median counts, and how often a run must have them.
_ROWS = 5
_TIMES = 2


class _Odd(NamedTuple):
    """One entry of ``data/odd.yaml``; see there for the meaning of each field."""

    metrics: tuple[str, ...]
    words: str
    source: str
    when: Annotated[When, Keyed(read=read_when)] = When()
    above: float = np.inf
    below: float = -np.inf
    changed: float | None = None
    peaked: float | None = None
    flat: bool = False
    moved: Direction | None = None


class _Document(NamedTuple):
    odd: tuple[_Odd, ...]


def odd_facts(run: JudgedRun) -> Iterator[tuple[str, str]]:
    """Tag, and its values with the reason in words: what the shipped knowledge says of tags about
    which nothing is found, and what is not sure yet; not of what moved in a story."""
    if run.recognition is None or run.report is None:
        return
    known = {move.tag for move in diagnosed_in(run).moves}
    told = set[str]()
    for odd in shipped_record(_Document, "health", "data", "odd.yaml").odd:
        tag = first_tag(run, odd.metrics)
        if tag is None or tag in told or not odd.when.run_fits(run.recognition):
            continue
        # a plateau is found, and means less than usual
        if odd.flat or (tag not in known and _is_quiet(run, tag, odd)):
            series = run.shown(tag)
            finite = np.isfinite(series.values)
            values = series.values[finite].astype(np.float64) * run.infos[tag].scale
            direction = run.infos[tag].direction
            if words := _told(odd, values, series.steps[finite], direction):
                told.add(tag)
                yield tag, f"{words} ({odd.words})"
    for tag in run.infos:
        judged = run.verdict.judgement(tag)
        if tag not in known | told and judged.level is Level.UNSURE:
            yield tag, sentences.no_tick(judged)


def _is_quiet(run: JudgedRun, tag: str, odd: _Odd) -> bool:
    """Whether nothing is found about a tag; what is said to be within limits has to be ok."""
    level = run.verdict.tag_level(tag)
    found = run.findings
    within = odd.changed is not None or odd.peaked is not None
    is_quiet = level is Level.OK or (level < Level.WATCH and not within)
    return is_quiet and not any(f.is_about(tag) for f in found)


def lacking(run: JudgedRun) -> list[str]:
    """Titles of the metrics for want of which failures would not be seen, the worst first: of each
    failure one that would show it; not of what only costs time."""
    if run.report is None:
        return []
    metrics = (run.catalogue.metrics[wanted(run, f)[0]] for f in alarms(run) if f.lacking)
    return list(dict.fromkeys(m.title for m in metrics if m.category not in MACHINE))


def _told(odd: _Odd, values: FloatArray, steps: np.ndarray, direction: Direction) -> str:
    """The values (n,) at ``steps`` in words where they look odd for something that should go in
    this ``direction``; else ""."""
    if len(values) < _ROWS * _TIMES:
        return ""
    start = float(np.median(values[:_ROWS]))
    now = float(np.median(values[-_ROWS:]))
    course = f"{numbers.plain(start)} → {numbers.plain(now)}"
    if odd.flat:
        change, error = gain_now(-values if direction is Direction.DOWN else values)
        return course if change - SUSPECTED * error < GAIN else ""
    if odd.changed is not None:
        return course if abs(now - start) >= odd.changed * abs(start) > 0 else ""
    if odd.peaked is not None:
        usual = float(np.median(values))
        row = int(np.argmax(values))
        is_peak = row < len(values) - _ROWS and values[row] >= odd.peaked * max(usual, now) > 0
        peak = f"{numbers.plain(values[row])} at {numbers.step(steps[row])}"
        return f"{peak}, {numbers.plain(now)} now" if is_peak else ""
    value = now if odd.moved is None else abs(now)
    is_beyond = value > odd.above or value < odd.below
    if odd.moved is None:
        return numbers.plain(now) if is_beyond else ""
    from rltui.health.parameters import healthy  # not before the first paint

    is_beyond |= np.isinf(odd.above) and np.isinf(odd.below)
    from_nothing = np.inf if now else 1.0
    grown = abs(now / start) if start else from_nothing
    factor = healthy().limits[0].watch
    ways = {Direction.UP: (0.0, factor), Direction.DOWN: (1 / factor, np.inf)}
    low, high = ways.get(odd.moved, (1 / factor, factor))
    return course if is_beyond and not low < grown < high else ""
