"""The metrics that are related to one: those that move with it, and those read together with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rltui.catalogue.model import Category
from rltui.core.block import IntArray
from rltui.draw.line import LEVEL_TOKEN, MUTED, TITLE, Line, column, style
from rltui.draw.prose import distinct
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.cache import RunSeriesCache, kept
from rltui.facts.metrics import overview_sections
from rltui.pages.findings.lines import heading
from rltui.session import RunView
from rltui.store import Series
from rltui.store.correlation import FEWEST, Correlation, Sample, compare, grid, sample

#: Metrics that are compared with one.
_COMPARED = 64
#: A correlation below this is none, however many points there are.
_LEAST = 0.4
#: Standard errors that a correlation needs: of many candidates one always looks close. Those that
#: the catalogue names need fewer, and a correlation this high is enough for them.
_ERRORS, _ERRORS_EXPECTED, _CLEAR = 4.0, 2.5, 0.75
#: A correlation above this is that of a copy in another unit.
_COPY = 0.999
#: Growth of a series after which it is compared again.
_GROWTH = 1.02
#: Correlation with the trend from which a relative is said to share it.
_SHARED_TREND = 0.7


@dataclass(frozen=True, slots=True)
class Related:
    """A metric that is related to another one."""

    tag: str
    correlation: Correlation | None
    """None for a relative of the catalogue that cannot be compared with it."""
    is_link: bool
    """Whether it moves with it, beyond the trend of the run."""
    by_jump: bool = False
    """Whether they are linked by one jump rather than by how they move throughout."""


_Kept = tuple[int, tuple[Related, ...]]

_RELATED: RunSeriesCache[_Kept] = RunSeriesCache()


def related(run: RunView, tag: str) -> tuple[Related, ...]:
    """What is related to ``tag``, the closest first, then what is read together with it."""

    def make(series: Series) -> _Kept:
        return series.count, _related(run, tag, series)

    def extend(known: _Kept, longer: Series) -> _Kept:
        return known if longer.count <= _GROWTH * known[0] else make(longer)

    return _RELATED.of(run).get(run.shown(tag), make, extend=extend)[1]


def related_lines(run: RunView, tag: str, view: View, width: int, height: int) -> list[Line]:
    """A heading, and a line for each: badge, title, correlation, by how many steps it follows or
    leads; nothing when nothing is related."""
    items = related(run, tag)
    if not items or height < 2:
        return []
    lines = [heading("Related", width, view, _basis(run, tag, items))]
    shown = items[: height - 1]
    ellipsis = view.glyphs.ellipsis
    names = distinct(tuple(run.infos[i.tag].title for i in shown), width - 20, ellipsis)
    for item, name in zip(shown, names, strict=True):
        level = run.verdict.tag_level(item.tag)
        badge = (f"{view.glyphs.badge(level)} ", style(LEVEL_TOKEN[level]))
        title = column(view.glyphs.text(name), width - 19, ellipsis=ellipsis)
        lines.append([badge, title, *_movement(item)])

    return lines


def _basis(run: RunView, tag: str, items: Sequence[Related]) -> str:
    series = run.shown(tag)
    if series.count < FEWEST:
        return "too few points"
    compared = any(i.correlation for i in items) or _sampled(run, tag, grid(series.steps))
    return "rank correlation" if compared else "does not move"


def _movement(item: Related) -> Line:
    found = item.correlation
    if found is None:
        return []
    if item.by_jump:
        word = "+jump " if found.jump > 0 else "-jump "
        return [(word, TITLE), (_lag(found.jump_lag), MUTED)]
    if item.is_link:
        return [(f"{found.r:+.2f} ", TITLE), (_lag(found.lag), MUTED)]
    if abs(found.trend) < _SHARED_TREND:
        return [("no link", MUTED)]
    return [(f"{found.trend:+.2f} trend only", MUTED)]


def _lag(steps: int) -> str:
    return f"{numbers.step(abs(steps))} {'after' if steps > 0 else 'ahead'}" if steps else ""


def _related(run: RunView, tag: str, series: Series) -> tuple[Related, ...]:
    expected, others = _candidates(run, tag)
    tags = (expected + others)[:_COMPARED]
    linked, unlinked = [], []
    seen = set()
    for other, found in zip(tags, _compared(run, series, tags), strict=True):
        info = run.infos[other]
        name = (info.metric.key, str(info.labels)) if info.metric else (other, "")
        is_expected = other in expected
        if name in seen or (found is not None and _is_copy(found, expected=is_expected)):
            continue
        by_jump = is_expected and found is not None and found.jump != 0
        if found is not None and by_jump and abs(found.r) < _CLEAR:
            linked.append((_CLEAR, Related(other, found, True, by_jump=True)))
        elif found is not None and _is_link(found, expected=is_expected):
            linked.append((abs(found.r), Related(other, found, True)))
        elif is_expected:
            unlinked.append((abs(found.trend) if found else 0.0, Related(other, found, False)))
        else:
            continue
        seen.add(name)
    linked.sort(key=lambda pair: -pair[0])
    unlinked.sort(key=lambda pair: -pair[0])

    return tuple(item for _, item in (*linked, *unlinked))


def _compared(run: RunView, series: Series, tags: Sequence[str]) -> list[Correlation | None]:
    steps = grid(series.steps)
    mine = _sampled(run, series.tag, steps)
    found = [_sampled(run, tag, steps) for tag in tags]
    if mine is None:
        return [None] * len(tags)
    answers = iter(compare(mine, [s for s in found if s is not None], steps))
    return [None if s is None else next(answers) for s in found]


def _sampled(run: RunView, tag: str, steps: IntArray) -> Sample | None:
    key = "sample", tag, hash(steps.tobytes())
    return kept(run, key, lambda: sample(run.shown(tag), steps))


def _is_copy(found: Correlation, *, expected: bool) -> bool:
    """Whether it shows the same curve, as a perplexity that of its logarithm."""
    return found.same or (not expected and abs(found.r) > _COPY)


def _is_link(found: Correlation, *, expected: bool) -> bool:
    errors = _ERRORS_EXPECTED if expected else _ERRORS
    least = max(_LEAST, errors / math.sqrt(max(found.n, 1.0)))
    return abs(found.r) >= (min(least, _CLEAR) if expected else least)


def _candidates(run: RunView, tag: str) -> tuple[list[str], list[str]]:
    """Relatives of the catalogue; then vital signs, the metrics of the tab, and all others."""
    info = run.infos[tag]
    keys = run.catalogue.relatives(info.metric.key) if info.metric else frozenset()
    elsewhere = run.points.off_axis
    comparable = {
        t: i
        for t, i in run.infos.items()
        if t != tag
        and i.category is not Category.PROGRESS
        and (i.family is None or i.family != info.family)
        and (t in elsewhere) == (tag in elsewhere)
    }
    relatives = run.tags_of_metrics(tuple(sorted(keys)))
    expected = [t for t in relatives if t in comparable]
    vital = [r.tag for s in overview_sections(run) for r in s.rows]
    tab = [t for t, i in comparable.items() if i.category is info.category]
    order = dict.fromkeys(t for t in (*vital, *tab, *comparable) if t in comparable)

    return expected, [t for t in order if t not in expected]
