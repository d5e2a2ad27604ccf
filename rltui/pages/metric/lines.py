"""The metric screen: the large chart, judgement, statistics, meaning, related rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rltui.catalogue.model import Category
from rltui.core.block import IntArray
from rltui.core.level import Direction
from rltui.core.record import record
from rltui.core.text import clean
from rltui.draw.line import (
    LEVEL_BOLD,
    LEVEL_LOOK,
    LEVEL_WORDS,
    MUTED,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Line,
    Token,
    column,
    indented,
    line_width,
    margin_of,
    side_by_side,
    style,
)
from rltui.draw.marked_runs import told_lines
from rltui.draw.metric_chart import (
    Zoom,
    chart_lines,
    statistics,
    statistics_in_line,
)
from rltui.draw.prose import distinct, fact_line, fact_table, paragraph
from rltui.draw.table import heading, title_lines
from rltui.draw.view import View
from rltui.facts import findings, numbers, sentences, story_words
from rltui.facts.cache import RunSeriesCache, kept
from rltui.facts.metrics import (
    TAB_BY_ID,
    TagRow,
    make_row,
    overview_sections,
    rows_in,
    tab_sections,
)
from rltui.facts.reward import ceiling_words
from rltui.facts.story import story_blaming, story_of
from rltui.facts.story_words import Part
from rltui.facts.x_axis import against_words, axis_of
from rltui.pages.findings.lines import finding_block
from rltui.session import JudgedRun
from rltui.store import Series
from rltui.store.correlation import FEWEST, Correlation, Sample, compare, grid, sample

#: Cells of the pane at the right of the chart.
_SIDE = 38
#: Metrics that are compared with one.
_COMPARED = 64
#: A correlation below this is none, however many points there are.
_LEAST = 0.4
#: Standard errors that a correlation needs: of many candidates one always looks close. Those that
#: the catalogue names need fewer, and a correlation this high is enough for them.
_ERRORS = 4.0
_ERRORS_EXPECTED = 2.5
_CLEAR = 0.75
#: A correlation above this is that of a copy in another unit.
_COPY = 0.999
#: Growth of a series after which it is compared again.
_GROWTH = 1.05
#: Correlation with the trend from which a relative is said to share it.
_SHARED_TREND = 0.7


_Kept = tuple[int, tuple["Related", ...]]
_RELATED: RunSeriesCache[_Kept] = RunSeriesCache()


def metric_lines(
    run: JudgedRun,
    tab: str,
    tag: str,
    view: View,
    zoom: Zoom,
    width: int,
    height: int,
    *,
    alone: bool = False,
) -> Block:
    """The metric ``tag`` as a row of the tab ``tab``, in ``width`` x ``height``. ``alone``: the
    chart has all the room under the title."""
    if tag not in run.infos:
        return [[], [("  this metric is no longer logged", MUTED)]]
    rows = rows_in(tab_sections(run, tab))
    margin = margin_of(width)
    inner = width - margin - 1
    row = next((r for r in rows if r.tag == tag), make_row(run, tag))

    head: Line = [(f"{view.glyphs.badge(row.level)} ", LEVEL_BOLD[row.level])]
    head += [(row.title, TITLE), (f"  {row.info.unit}", MUTED)]
    head.append((f"   {_about(run, row, view)}", MUTED))
    where = TAB_BY_ID[tab].title

    if row in rows:
        where = f"{where}  {rows.index(row) + 1} of {len(rows)}"
    lines = title_lines(head, [(f" {where}", MUTED)], inner)[: 1 + (height >= 16)]

    # the facts stand right of the chart, on a narrow screen below it
    room = height - len(lines)
    is_wide = width >= 110 and not alone
    cells = inner - _SIDE - 4 if is_wide else inner
    told = below = told_lines(run, tag, zoom.crosshair, view, cells, room)
    if room >= 14 and not any((told, is_wide, alone)):
        facts = fact_line(statistics_in_line(run, tag, view, zoom), inner)
        below = [*_judgement(run, row, view, inner, 1)[:2], facts]
    high = room - len(below)
    named = bool(told)
    chart = chart_lines(
        run, tag, view, cells, high, band=row.band, zoom=zoom, overview=True, told=named
    )
    if is_wide:
        chart = [*chart, *below]
        below = []
        chart = side_by_side(chart, _side(run, row, view, zoom, _SIDE, room), cells, 4, room)

    return indented([*lines, *chart, *below], margin)[:height]


def _about(run: JudgedRun, row: TagRow, view: View) -> str:
    """The tag of a row, or the metric that it is plotted against."""
    series = run.shown(row.tag)
    against = against_words(axis_of(run, series, view.axis), series)
    return against or f"{row.tag}{', min, max' if row.band else ''}"


def _side(run: JudgedRun, row: TagRow, view: View, zoom: Zoom, width: int, height: int) -> Block:
    """Judgement, statistics, meaning and related rows, as far as there is room."""
    lines = [heading("Judgement", width, view), *_judgement(run, row, view, width), []]
    note = "visible" if zoom.window is not None else ""
    lines.append(heading("Statistics", width, view, note))
    for name, value, where in statistics(run, row.tag, view, zoom):
        lines.append([column(name, 12, MUTED), column(value, 12, STRONG), (where, MUTED)])
    if (text := ceiling_words(run, row.tag)) and height - len(lines) > 4:
        lines += [[], heading("Ceiling", width, view), *paragraph(text, width)]
    meaning = row.info.meaning
    if meaning and height - len(lines) > 4:
        lines += [[], heading("Meaning", width, view)]
        limit = max(2, min(10, height - len(lines) - 4))
        words = meaning
        lines += paragraph(words, width, limit=limit)
    related = related_lines(run, row.tag, view, width, height - len(lines) - 1)

    return [*lines, [], *related] if related else lines


def _judgement(run: JudgedRun, row: TagRow, view: View, width: int, limit: int = 3) -> Block:
    """The findings about a metric, each in ``limit`` lines of evidence; else its range."""
    glyphs = view.glyphs
    found = [f for f in run.findings if f.is_about(row.tag)]
    if found:
        return [x for f in found[:3] for x in finding_block(run, f, view, width, limit)]
    judgement = row.judgement
    look = LEVEL_LOOK[row.level]

    if judgement.rules:
        doubt = sentences.no_tick(judgement)
        level = row.level
        texts = sentences.limits(judgement), f"no tick: {doubt}" if doubt else ""
        lines = [x for t in texts if t for x in paragraph(t, width, MUTED)]
        return [[(f"{glyphs.badge(level)} {LEVEL_WORDS[level]}", look)], *lines]
    healthy = sentences.healthy(judgement)
    story = story_blaming(run, row.tag)
    text = "no rule judges it" if story is None else story_words.blame_words(story, row.tag)
    text += f"; documented range {healthy}" if healthy else ""

    return [[(f"{glyphs.badge(row.level)} ", look), (text, MUTED)]]


#: The limits in the colours of their badges.
_LOOKS = {
    "healthy": style(Token.OK),
    "watch limit": style(Token.WATCH),
    "bad limit": style(Token.BAD),
}


def explain_tag(run: JudgedRun, tag: str, view: View, width: int) -> Block:
    """A metric: its meaning, its limits, why it has its badge now, and the next step."""
    info = run.infos[tag]
    unit = f"   {info.unit}"
    lines = title_lines([(info.title, TITLE), (unit, MUTED)], [], width)
    meaning = info.meaning or "This tag is not in the catalogue; it is shown as logged."
    lines += [*paragraph(meaning, width), []]
    for name, text in _facts(run, tag):
        lines += fact_table([(name, text)], width, 12, _LOOKS.get(name, TEXT))
    lines += [[], *fact_table([("tag", info.tag)], width, 12)]
    for at, path in enumerate(run.points.table.origins(tag)):
        fact = "" if at else "logged in", clean(path.name)
        lines += fact_table([fact], width, 12, style(link=view.link(path)))
    more = f"rltui explain {info.tag} --reasons shows rules, sources and other names"

    return [*lines, *paragraph(more, width, MUTED)]


def _facts(run: JudgedRun, tag: str) -> Iterator[tuple[str, str]]:
    """(name, text) pairs; the text is "" where there is nothing to say."""
    info = run.infos[tag]
    verdict = run.verdict
    last = run.shown(tag).last
    if last is not None:
        yield "now", f"{numbers.value(last[2])} at {run.step_word} {numbers.step(last[0])}"
    yield "guessed", sentences.GUESSED if info.guessed else ""
    yield "better", {Direction.UP: "higher", Direction.DOWN: "lower"}.get(info.direction, "")
    judgement = verdict.judgement(tag)
    healthy = sentences.healthy(judgement)
    bad = sentences.bad_limit(judgement)
    yield "watch limit" if bad else "healthy", sentences.beyond(healthy) if bad else healthy
    yield "bad limit", sentences.beyond(bad) if bad else ""
    found = [f for f in run.firing() if f.is_about(tag)]
    story = story_blaming(run, tag)
    if story is not None and story.is_open:
        yield verdict.tag_level(tag).word, story_words.blame_words(story, tag)
        yield "story", story_words.summary(story)
        yield Part.NEXT.value, story_words.action(story)
        return

    for finding in found:
        yield finding.level.word, sentences.summary(finding)
    projection = findings.projection_of(run, tag)
    yield "no tick", sentences.no_tick(judgement)
    yield "ahead", findings.ahead_sentence(run, projection) if projection else ""
    yield "ceiling", ceiling_words(run, tag)

    story = story_of(run, found[0]) if found else None
    yield Part.NEXT.value, "" if story is None else story_words.action(story)
    if not found and not judgement.rules:
        yield "badge", "no rule judges it"
    if run.step_word != "step":
        yield "steps", "the log has none: its rows were counted"


# -- related metrics --------------------------------------------------------------------------


@record
class Related:
    """A metric related to the one on the screen."""

    tag: str
    correlation: Correlation | None
    """None for a relative of the catalogue that cannot be compared with it."""
    is_linked: bool
    """Whether both move together, beyond the trend of the run."""
    by_jump: bool = False
    """Whether one common jump links them rather than their movement throughout."""


def related(run: JudgedRun, tag: str) -> tuple[Related, ...]:
    """The metrics related to ``tag``: linked ones, the closest first, then other relatives that
    the catalogue names."""

    def make(series: Series) -> _Kept:
        return series.count, _related(run, tag, series)

    def extend(known: _Kept, longer: Series) -> _Kept:
        return known if longer.count <= _GROWTH * known[0] else make(longer)

    return _RELATED.of(run).get(run.shown(tag), make, extend=extend)[1]


def related_lines(run: JudgedRun, tag: str, view: View, width: int, height: int) -> Block:
    """A heading, and a line for each related metric: badge, title, correlation, and by how many
    steps it follows or leads. Empty when nothing is related."""
    items = related(run, tag)
    series = run.shown(tag)
    if not items or height < 2:
        return []
    note = "rank correlation"

    if series.count < FEWEST:
        note = "too few points"
    elif not any(i.correlation for i in items) and not _sampled(run, tag, grid(series.steps)):
        note = "does not move"
    lines = [heading("Related", width, view, note)]
    shown = items[: height - 1]
    moved = [_movement(item) for item in shown]
    room = width - 3 - max([17, *map(line_width, moved)])
    names = distinct(tuple(run.infos[i.tag].title for i in shown), room)

    for item, name, movement in zip(shown, names, moved, strict=True):
        level = run.verdict.tag_level(item.tag)
        badge = (f"{view.glyphs.badge(level)} ", LEVEL_LOOK[level])
        lines.append([badge, column(name, room + 1), *movement])

    return lines


def _movement(item: Related) -> Line:
    """The correlation, and by how many steps it follows or leads."""
    found = item.correlation
    if found is None:
        return []
    if not item.is_linked:
        shares = abs(found.trend) >= _SHARED_TREND
        return [(f"{found.trend:+.2f} shared trend" if shares else "unrelated", MUTED)]
    word = f"{found.r:+.2f} "
    lag = found.lag
    if item.by_jump:
        word = "jumps too " if found.jump > 0 else "jumps against "
        lag = found.jump_lag
    by = f"{numbers.step(abs(lag))} {'later' if lag > 0 else 'earlier'}" if lag else ""

    return [(word, TITLE), (by, MUTED)]


def _related(run: JudgedRun, tag: str, series: Series) -> tuple[Related, ...]:
    expected, others = _candidates(run, tag)
    tags = (expected + others)[:_COMPARED]
    linked = []
    unlinked = []
    seen = set()

    for other, found in zip(tags, _compared(run, series, tags), strict=True):
        info = run.infos[other]
        name = info.key or other, str(info.labels)
        is_expected = other in expected
        # of one curve, as a perplexity and its logarithm
        is_copy = found and (found.same or (not is_expected and abs(found.r) > _COPY))
        if name in seen or is_copy:
            continue
        # the least correlation of as many points that is none by chance
        errors = _ERRORS_EXPECTED if is_expected else _ERRORS
        least = max(_LEAST, errors / math.sqrt(max(found.n, 1.0))) if found else _LEAST
        least = min(least, _CLEAR) if is_expected else least
        if found and is_expected and found.jump and abs(found.r) < _CLEAR:
            linked.append((_CLEAR, Related(other, found, True, by_jump=True)))
        elif found and abs(found.r) >= least:
            linked.append((abs(found.r), Related(other, found, True)))
        elif is_expected:
            unlinked.append((abs(found.trend) if found else 0.0, Related(other, found, False)))
        else:
            continue
        seen.add(name)
    linked.sort(key=lambda pair: -pair[0])
    unlinked.sort(key=lambda pair: -pair[0])

    return tuple(item for _, item in (*linked, *unlinked))


def _compared(run: JudgedRun, series: Series, tags: Sequence[str]) -> list[Correlation | None]:
    steps = grid(series.steps)
    mine = _sampled(run, series.tag, steps)
    found = [_sampled(run, tag, steps) for tag in tags]
    if mine is None:
        return [None] * len(tags)
    compared = iter(compare(mine, [s for s in found if s is not None], steps))
    return [None if s is None else next(compared) for s in found]


def _sampled(run: JudgedRun, tag: str, steps: IntArray) -> Sample | None:
    key = "sample", tag, hash(steps.tobytes())
    return kept(run, key, lambda: sample(run.shown(tag), steps))


def _candidates(run: JudgedRun, tag: str) -> tuple[list[str], list[str]]:
    """Relatives of the catalogue; then vital signs, the metrics of the tab, and all others."""
    info = run.infos[tag]
    keys = run.catalogue.relatives(info.key) if info.key else frozenset()
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
    vital = [r.tag for r in rows_in(overview_sections(run))]
    tab = [t for t, i in comparable.items() if i.category is info.category]
    order = dict.fromkeys(t for t in (*vital, *tab, *comparable) if t in comparable)

    return expected, [t for t in order if t not in expected]
