"""What looks wrong in the curves of a run and is no reason to stop, and what it lacks, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from typing import Annotated, NamedTuple

import numpy as np

from rltui.catalogue.catalogue import GENERIC
from rltui.catalogue.model import Category
from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.core.yaml_record import Keyed, shipped_record
from rltui.facts import numbers
from rltui.facts.alarms import alarms, wanted
from rltui.health.detectors import progress
from rltui.health.diagnoses import MACHINE
from rltui.health.rule import When
from rltui.health.rules import read_when
from rltui.session import RunView

#: Rows whose median counts, and how often a run must have them.
_ROWS, _TIMES = 5, 2
_OF_PREFERENCES = {Category.PREFERENCE, Category.REWARD_MODEL}


class _Odd(NamedTuple):
    """One entry of ``data/odd.yaml``; see there for the meaning of each field."""

    metrics: tuple[str, ...]
    words: str
    source: str
    when: Annotated[When, Keyed(read=read_when)] = When()
    above: float | None = None
    below: float | None = None
    changed: float | None = None
    peaked: float | None = None
    flat: bool = False


class _Needless(NamedTuple):
    metrics: tuple[str, ...]
    when: Annotated[When, Keyed(read=read_when)]
    source: str


class _Document(NamedTuple):
    odd: tuple[_Odd, ...]
    needless: tuple[_Needless, ...]


@cache
def _known() -> _Document:
    """Reads the shipped document once. Raises DocumentError."""
    return shipped_record(_Document, "health", "data", "odd.yaml")


class OddFact(NamedTuple):
    """Something that looks wrong and is no reason to stop."""

    tag: str
    values: str
    """The values that look so: "0.38", "1.2 → 1.4"."""
    words: str
    """Why it is no reason to stop."""


def odd_facts(run: RunView, known: Collection[str]) -> Iterator[OddFact]:
    """What the shipped knowledge says of the tags of a run about which nothing is found, and that
    are none of the ``known`` ones."""
    if run.recognition is None or run.report is None:
        return
    for odd in _known().odd:
        tag = next(iter(run.tags_of_metrics(("|".join(odd.metrics),))), None)
        if tag is None or not odd.when.run_fits(run.recognition):
            continue
        # a plateau is found, and means less than usual
        if odd.flat or (tag not in known and _is_quiet(run, tag, odd)):
            series = run.shown(tag)
            finite = np.isfinite(series.values)
            values = series.values[finite].astype(np.float64) * run.infos[tag].scale
            if told := _told(odd, values, series.steps[finite]):
                yield OddFact(tag, told, odd.words)


def _is_quiet(run: RunView, tag: str, odd: _Odd) -> bool:
    """Whether nothing is found about a tag; what is said to be within limits has to be ok."""
    level, found = run.verdict.tag_level(tag), run.report.findings if run.report else ()
    within = odd.changed is not None or odd.peaked is not None
    is_quiet = level is Level.OK or (level < Level.WATCH and not within)
    return is_quiet and not any(f.is_about(tag) for f in found)


def lacking(run: RunView) -> list[str]:
    """Titles of the metrics for want of which a failure could not be seen, of the worst one first;
    not of what only costs time. A loop of one's own is asked for no preferences without any."""
    if run.recognition is None or run.report is None:
        return []
    missing = {key for skipped in run.report.skipped for key in skipped.missing}
    for needless in _known().needless:
        if needless.when.run_fits(run.recognition):
            missing.difference_update(needless.metrics)
    known = run.catalogue.metrics
    logged = {info.category for info in run.infos.values()}
    is_own = run.recognition.framework == GENERIC
    others = {*MACHINE, *(_OF_PREFERENCES - logged if is_own else ())}
    titles: dict[str, None] = {}
    for failure in alarms(run):
        found = [
            known[k].title
            for k in wanted(run, failure)
            if known[k].category not in others and k in missing
        ]
        if found and not titles.keys() & found:
            titles[found[0]] = None
    return list(titles)


def _told(odd: _Odd, values: FloatArray, steps: np.ndarray) -> str:
    """The values (n,) at ``steps`` in words where they look odd; else ""."""
    if len(values) < _ROWS * _TIMES:
        return ""
    start, now = float(np.median(values[:_ROWS])), float(np.median(values[-_ROWS:]))
    course = f"{numbers.plain(start)} → {numbers.plain(now)}"
    if odd.flat:
        gain, certainty = progress.wanted(sure=False)
        change, error = progress.gain_now(values)
        return course if change - certainty * error < gain else ""
    if odd.changed is not None:
        return course if abs(now - start) >= odd.changed * abs(start) > 0 else ""
    if odd.peaked is not None:
        usual, row = float(np.median(values)), int(np.argmax(values))
        is_peak = row < len(values) - _ROWS and values[row] >= odd.peaked * max(usual, now) > 0
        peak = f"{numbers.plain(values[row])} at {numbers.step(steps[row])}"
        return f"{peak}, {numbers.plain(now)} now" if is_peak else ""
    beyond = (odd.above is not None and now > odd.above) or (
        odd.below is not None and now < odd.below
    )
    return numbers.plain(now) if beyond else ""
