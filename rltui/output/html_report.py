"""``rltui report``: one HTML file to hand over, with verdicts, stories, charts and settings.

It needs no script, no network and no other file, and its content security policy forbids them.
Every text passes :func:`_text`: what a log says stays text, short, and without secrets.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from string import Template

from rltui.catalogue.model import Category
from rltui.core.fault import NOT_SHOWN
from rltui.core.installation import shipped
from rltui.core.level import Level
from rltui.core.secrets import masked, without_secrets
from rltui.core.text import kept_clean, spaced
from rltui.draw.glyph import glyph_set
from rltui.draw.line import LEVEL_WORDS, Token
from rltui.draw.metric_chart import chart_of
from rltui.draw.prose import note_text
from rltui.draw.theme import load_theme, mix
from rltui.draw.view import View
from rltui.facts import findings, numbers, sentences, story_words
from rltui.facts.findings import FindingRow
from rltui.facts.metrics import TABS, tab_sections
from rltui.facts.oddities import odd_facts
from rltui.facts.runs import by_verdict, last_lines
from rltui.facts.samples import folders_of
from rltui.facts.series_stats import episodes, newest_of
from rltui.facts.settings import main_settings, setting_groups, settings_changed, settings_of
from rltui.facts.story import Story, stories
from rltui.facts.story_words import Part
from rltui.facts.timers import gpus
from rltui.facts.verdict_sentence import verdict_sentence
from rltui.output.chart_svg import chart_svg
from rltui.output.svg import escaped
from rltui.output.text_report import standing_words
from rltui.session import JudgedRun, Session
from rltui.session.hyperparameters import value_text
from rltui.session.notes import note_on
from rltui.sources.side_files.settings_files import read_environment, read_settings
from rltui.version import __version__

_GLYPHS = glyph_set("braille")
#: Cells of the sentence about a run.
_SENTENCE = 180
#: Characters of a text, of a name or a value, and lines of the end of a log.
_LONGEST = 900
_NAME = 120
_TAIL_LINES = 12
#: Bytes of the parts of a run: of its stories, its charts, its settings, and of lists of names.
_STORIES = 32_000
_CHARTS = 84_000
_SETTINGS = 30_000
_LISTED = 4_000
#: Bytes of the charts of all runs together, and of one of many runs at least.
_ALL_CHARTS = 1_500_000
_LEAST_CHARTS = 8_000
#: Charts of one story, of Overview, and of any other tab.
_STORY_CHARTS = 6
_OVERVIEW_CHARTS = 12
_TAB_CHARTS = 3
#: Tabs that are no part of it: they repeat others.
_ASIDE = ("findings", "all")
#: An absolute path of two names or more.
_ABSOLUTE = re.compile(
    r"(?<![\w.…/:-])/(?P<root>[^\s/:'\"]+)/(?:[^\s/:'\"]+/)*(?P<last>[^\s/:'\"]*)"
)
#: Share of the colour of a level in the ground of its episodes.
_SHADE = 0.15


def html_report(session: Session, only: JudgedRun | None = None) -> str:
    """The document: one run, or a table of several and then each of them, the worst first."""
    runs = sorted(session.runs(), key=by_verdict) if only is None else [only]
    alone = len(runs) == 1
    room = max(_LEAST_CHARTS, _ALL_CHARTS // max(1, len(runs)))
    pages = (_Page(session, r, n, min(_CHARTS, room), alone) for n, r in enumerate(runs))
    style = _filled("report.css", light=_palette("light"), dark=_palette("dark"))
    return _filled(
        "report.html",
        digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        title=_text(runs[0].name if alone else f"{len(runs):,} runs", _NAME),
        style=style,
        body="\n".join([*([] if alone else [_overview(runs)]), *(p.html() for p in pages)]),
        version=__version__,
        made=f"{datetime.fromtimestamp(session.clock.now(), timezone.utc):%Y-%m-%d %H:%M}",
    )


def _filled(name: str, **values: str) -> str:
    template = shipped("output", "data", name).read_text(encoding="utf-8")
    return Template(template).substitute(values)


def _palette(name: str) -> str:
    """The colours of a theme as CSS properties, and the ground of episodes."""
    colours = {t.value: colour for t, colour in load_theme(name).colours.items()}
    for level in (Token.WATCH, Token.BAD):
        shade = mix(colours[Token.BG], colours[f"{level.value}fill"], _SHADE)
        colours[f"{level.value}shade"] = shade
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


# -- parts of a page -----------------------------------------------------------------------


def _plain(text: str, most: int = _LONGEST) -> str:
    """A text in at most ``most`` visible characters, without what has the form of a secret, and
    without folders of this machine, which are nobody else's business."""
    text = kept_clean(masked("", text[: 4 * most]))
    text = _ABSOLUTE.sub(_last_name, text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _last_name(path: re.Match[str]) -> str:
    """An absolute path by its last name; a tag that begins with a slash as it is."""
    return f"…/{path['last']}" if Path("/", path["root"]).is_dir() else path[0]


def _text(text: str, most: int = _LONGEST) -> str:
    """Escape a text so that HTML shows exactly it, cut to ``most`` characters."""
    return escaped(_plain(text, most))


def _el(name: str, *inner: str, look: str = "", **attributes: str) -> str:
    """An element of some HTML, with the class ``look``; values of attributes are text."""
    given = {"class": look, **attributes} if look else attributes
    opened = "".join(f' {n}="{escaped(v)}"' for n, v in given.items())
    return f"<{name}{opened}>{''.join(inner)}</{name}>"


def _badge(level: Level, look: str = "", word: bool = False) -> str:
    """A level by glyph and colour; its word follows, or is what a screen reader says."""
    glyph = _GLYPHS.badge(level)
    words = LEVEL_WORDS[level]
    look = f"{look} {level.mark}".strip()
    if word:
        return _el("b", f"{glyph} {words}", look=look)
    return _el("b", glyph, look=look, role="img", **{"aria-label": words})


def _some(parts: Iterable[str], count: int, most: int, what: str, around: str = "div") -> str:
    """Element with the first of ``count`` parts, at most ``most`` bytes together, and how many are
    left out; "" for none."""
    kept: list[str] = []
    for part in parts:
        most -= len(part.encode())
        if most < 0:
            break
        kept.append(part)
    left = count - len(kept)
    more = _el("p", f"and {left:,} more {what}", look="q") if left else ""
    return f"{_el(around, *kept) if kept else ''}{more}"


def _list(lines: Sequence[str], what: str, most: int = _LISTED) -> str:
    """Lines of HTML as a list."""
    return _some((_el("li", line) for line in lines), len(lines), most, what, "ul")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], look: str = "numbers") -> str:
    """A table of HTML cells, the first of each row its head."""
    top = _el("tr", *(_el("th", h, scope="col") for h in heads))
    body = (
        _el("tr", _el("th", row[0], scope="row"), *(_el("td", c) for c in row[1:])) for row in rows
    )
    return _el("div", _el("table", _el("thead", top), _el("tbody", *body), look=look), look="wide")


def _pairs(rows: Iterable[tuple[str, str]], most: int = _LONGEST, loud: str = "") -> str:
    """Names and texts, of at most ``most`` characters each; the one named ``loud`` stands out."""
    inner = [
        _el("dt", _text(name, _NAME)) + _el("dd", _text(text, most), look="next" * (name == loud))
        for name, text in rows
        if text
    ]
    return _el("dl", *inner) if inner else ""


def _overview(runs: Sequence[JudgedRun]) -> str:
    """The table of several runs."""
    rows = []
    for number, run in enumerate(runs):
        name = _el("a", _text(run.name, _NAME), href=f"#r{number}")
        said = without_secrets(verdict_sentence(run).words(_SENTENCE))
        told = (standing_words(run), said)
        verdict = _badge(run.verdict.mark, "chip", word=True)
        rows.append((name, verdict, *(_text(x, 2 * _NAME) for x in told)))
    counts = Counter(run.verdict.mark for run in runs)
    words = ", ".join(f"{counts[x]:,} {LEVEL_WORDS[x]}" for x in sorted(counts, reverse=True))
    head = _el("header", _el("h1", f"{len(runs):,} runs"), _el("p", words))
    return head + _table(("Run", "Verdict", "Progress", "What it shows"), rows, "runs")


class _Page:
    """The section of one run."""

    def __init__(
        self, session: Session, run: JudgedRun, number: int, room: int, alone: bool
    ) -> None:
        """``room``: bytes that its charts may have; ``alone``: whether its name is the title."""
        self._session = session
        self._run = run
        self._number = number
        self._room = room
        self._top = 1 if alone else 2
        self._drawn: set[str] = set()

    def html(self) -> str:
        """The whole section; what rltui fails in is named at its end."""
        run = self._run
        parts = list[str]()
        with run.isolate_faults(NOT_SHOWN):
            parts += self._stories()
            odd = [_text(f"{run.infos[tag].title} {words}") for tag, words in odd_facts(run)]
            parts += self._section("Unusual", _list(odd, "of them"))
        with run.isolate_faults(NOT_SHOWN):
            parts += self._tabs()
        with run.isolate_faults(NOT_SHOWN):
            parts += [*self._lists(), *self._settings()]
        name = f"{_text(run.name, _NAME)} {_badge(run.verdict.mark, 'chip', word=True)}"
        own = _el("p", _text(f"Note: {without_secrets(note)}")) if (note := note_on(run)) else ""
        head = _el("header", self._head(0, name), _el("p", _text(standing_words(run))), own)
        said = verdict_sentence(run)
        head += _el("p", _text(without_secrets(said.words(_SENTENCE))))
        head += _el("p", _text(f"Do: {without_secrets(said.action)}")) if said.action else ""
        notes = [_text(note_text(n, str(n.path))) for n in run.troubles]
        parts += [self._head(1, "Notes"), _list(notes, "notes")] if notes else []
        return _el("article", head, *parts, id=f"r{self._number}")

    def _head(self, depth: int, inner: str) -> str:
        """A heading ``depth`` levels below that of the run."""
        return _el(f"h{self._top + depth}", inner)

    def _section(self, title: str, *inner: str) -> Iterator[str]:
        if any(inner):
            yield _el("section", self._head(1, title), *inner)

    # -- the verdict ---------------------------------------------------------------------------

    def _stories(self) -> Iterator[str]:
        """Draw each story, past ones too, with its charts; or say that there is none."""
        run = self._run
        parts = [self._story(story) for story in stories(run)]
        if parts:
            yield _some(parts, len(parts), _STORIES + _CHARTS - self._room, "findings")
        else:
            words = _text(story_words.judged_words(run))
            yield _el("section", _el("p", words), look=f"story {run.verdict.mark.mark}")

    def _story(self, story: Story) -> str:
        """A cause and what it brought about: evidence, what to do and to check, what moved first,
        charts; the end of the log of a run that died."""
        run = self._run
        holds = story.is_open or story.crash is not None
        mark = _badge(story.level) if holds else _el("b", _GLYPHS.over, look="over")
        summary = without_secrets(story_words.summary(story))
        tail: list[str] = []
        if story.crash is not None:
            tail = [story.crash.line, *(x for x in last_lines(run) if x.strip())][-_TAIL_LINES:]
        end = "\n".join(_text(without_secrets(line), 2 * _NAME) for line in tail)
        tags = [m.tag for m in story.moves if m.is_setting]
        tags += [f.tag for f in (row.finding for row in story.rows) if f.tag is not None]
        told = story_words.parts(story, _GLYPHS.badge)
        return _el(
            "section",
            self._head(1, f"{mark} {_text(summary)}"),
            self._rows(story.rows),
            _pairs(((part.value, text) for part, text in told), loud=Part.NEXT.value),
            _el("pre", end) if end else "",
            self._charts([*tags, *(m.tag for m in story.moves)], _STORY_CHARTS),
            look=f"story {story.level.mark if holds else 'over'}",
        )

    def _rows(self, rows: Sequence[FindingRow]) -> str:
        """Facts with their evidence."""
        lines = []
        for row in rows:
            glyph = _GLYPHS.badge(row.finding.level) if row.is_firing else _GLYPHS.over
            look = row.finding.level.mark if row.is_firing else "over"
            words = _text(story_words.row_words(self._run, row), 4 * _NAME)
            lines.append(f"{_el('b', glyph, look=look)} {words}")
        return _list(lines, "findings", _STORIES // 4)

    def _lists(self) -> Iterator[str]:
        """List what is to come, and which rules could not judge."""
        run = self._run
        report = run.report
        ahead = [findings.ahead_sentence(run, p) for p in findings.projections(run)]
        skipped = report.skipped if report else ()
        missing = [f"{s.title}: {findings.why_skipped(run, s)}" for s in skipped]
        for title, lines in (("Ahead", ahead), ("Not judged", missing)):
            yield from self._section(title, _list([_text(x, 4 * _NAME) for x in lines], "of them"))

    # -- charts --------------------------------------------------------------------------------

    def _tabs(self) -> Iterator[str]:
        """The first metrics of each tab that have not been drawn yet, as far as there is room."""
        for tab in TABS:
            if tab.id not in _ASIDE:
                tags = [r.tag for s in tab_sections(self._run, tab.id) for r in s.rows]
                most = _TAB_CHARTS if tab.category else _OVERVIEW_CHARTS
                yield from self._section(tab.title, self._charts(tags, most))
        system = [t for t, i in self._run.infos.items() if i.category is Category.SYSTEM]
        yield from self._section("System", self._charts(system, _TAB_CHARTS))

    def _charts(self, tags: Iterable[str], most: int) -> str:
        """The first ``most`` charts of ``tags`` that have none yet, as far as there is room."""
        infos = self._run.infos
        drawn = list[str]()
        for tag in dict.fromkeys(t for t in tags if t in infos and t not in self._drawn):
            if len(drawn) < most and self._room > 0 and self._run.points.count(tag):
                figure = self._figure(tag)
                self._room -= len(figure.encode())
                if self._room > 0:
                    self._drawn.add(tag)
                    drawn.append(figure)
        return _el("div", *drawn, look="charts") if drawn else ""

    def _figure(self, tag: str) -> str:
        """A chart with its title and newest value, and in words for who does not see it."""
        run = self._run
        info = run.infos[tag]
        judgement = run.verdict.judgement(tag)
        last = newest_of(run, run.shown(tag))
        value = numbers.value(last)
        was = sentences.was(judgement, last)
        spans = [
            f"{level.word} {run.step_word} {numbers.step(since)} to "
            f"{'now' if until is None else numbers.step(until)}"
            for since, until, level in episodes(run, tag)[-3:]
        ]
        newest = f"{info.title} ({tag}), newest {value} {info.unit}".rstrip()
        about = spaced(newest, was, sentences.limits(judgement), *spans, by="; ")
        title = _plain(info.title, _NAME)
        unit = _plain(info.unit, _NAME)
        key = f"r{self._number}c{len(self._drawn)}"
        caption = _el(
            "figcaption",
            _el("span", f"{_badge(judgement.level)} {_el('b', escaped(title))}"),
            _el("span", f"{_el('b', value)} {escaped(spaced(unit, was))}", look="v"),
            _el("code", _text(tag, _NAME)),
        )
        chart = chart_of(run, tag, View())
        return _el("figure", caption, chart_svg(chart, key, title, _plain(about), unit))

    # -- settings and environment ----------------------------------------------------------------

    def _settings(self) -> Iterator[str]:
        """Settings and environment, from the logs and from files beside them."""
        run = self._run
        folders = list[Path]()
        with suppress(OSError):
            logdir = self._session.logdirs[run.key.logdir]
            folders = folders_of(run, self._session.runs(), logdir)
        found = settings_of(run, read_settings(folders))
        values: dict[str, object] = {n: masked(n, value_text(v)) for n, v in found.items()}
        changed = [_text(f"{n}: {masked(n, v)}", 2 * _NAME) for n, v in settings_changed(run)]
        groups = [
            self._head(2, _text(title, _NAME)) + _pairs(pairs[n : n + 40], 2 * _NAME)
            for title, pairs in setting_groups(values)
            for n in range(0, len(pairs), 40)
        ]
        parts = (_el("div", group) for group in groups)
        every = _el("div", _some(parts, len(groups), _SETTINGS, "groups"), look="settings")
        yield from self._section(
            "Settings",
            self._head(2, "Changed at a restart") + _list(changed, "changes") if changed else "",
            _el("div", _pairs(main_settings(values), 2 * _NAME), look="main") if values else "",
            _el("details", _el("summary", f"All {len(values):,}"), every) if values else "",
        )

        extent = run.data.extent
        count = gpus(run)
        logdir = self._session.logdirs[run.key.logdir]
        facts = [("path", str(Path(logdir.name, run.key.name)))]
        facts += [(n, masked(n, value_text(v))) for n, v in read_environment(folders).items()]
        facts += [("GPUs by its settings", "" if count is None else f"{sum(count):,}")]
        times = (("first row", extent.first_wall_time), ("newest row", extent.last_wall_time))
        facts += [(name, _moment(when)) for name, when in times]
        sources = [
            (_text(s.path.name, _NAME), _text(s.format, _NAME), f"{s.records:,}", f"{s.size:,}")
            for s in list(run.data.files.sources.values())[-_TAIL_LINES:]
        ]
        logs = _table(("Newest logs", "format", "records", "bytes"), sources)
        yield from self._section("Environment", _pairs(facts), logs)


def _moment(when: float | None) -> str:
    """A wall time in UTC; "" for none, and for one that no clock shows."""
    with suppress(ValueError, OverflowError, OSError):
        if when is not None:
            return f"{datetime.fromtimestamp(when, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    return ""
