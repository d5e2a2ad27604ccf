"""``rltui report``: one HTML file to hand over, with verdicts, stories, charts and settings.

It needs no script, no network and no other file, and its content security policy forbids all
three. Every text passes :func:`_text`: what a log says stays text, short, and without secrets.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from itertools import chain

import numpy as np

from rltui.core.errors import RltuiError
from rltui.core.fault import NOT_SHOWN
from rltui.core.installation import shipped
from rltui.core.level import Level
from rltui.core.secrets import masked, without_secrets
from rltui.core.text import kept_clean
from rltui.draw.chart.chart_model import Chart, Curve, Limit
from rltui.draw.glyph import glyph_set
from rltui.draw.line import LEVEL_WORDS, Token
from rltui.draw.prose import note_text
from rltui.draw.theme import Theme, load_theme, mix
from rltui.facts import findings, numbers, sentences
from rltui.facts.findings import diagnosed_in
from rltui.facts.metrics import FINDINGS, TABS, episodes, newest_of, tab_sections
from rltui.facts.runs import by_verdict, calm_words, exit_words, last_lines, why_unknown
from rltui.facts.samples import folders_of
from rltui.facts.settings import main_settings, setting_groups, settings_changed, settings_of
from rltui.facts.timers import gpus
from rltui.facts.x_axis import axis_of, span_of
from rltui.health.model import Diagnosis
from rltui.output.chart_svg import chart_svg
from rltui.output.svg import escaped
from rltui.output.text_report import (
    row_of_finding,
    rows_of_story,
    rows_without_story,
    standing_words,
    story_facts,
)
from rltui.session import RunView, Session
from rltui.session.hyperparameters import value_text
from rltui.sources.side_files.settings_files import read_environment, read_settings
from rltui.version import __version__

_GLYPHS = glyph_set("braille")
#: Characters of a sentence, of a name, and lines of the end of a log.
_LONGEST, _NAME, _TAIL_LINES = 900, 120, 12
#: Bytes of the parts of a run: of its stories, its charts, its settings, and of lists of names.
_STORIES, _CHARTS, _SETTINGS, _LISTED = 32_000, 84_000, 30_000, 4_000
#: Bytes of the charts of all runs together, and of one of many runs at least.
_ALL_CHARTS, _LEAST_CHARTS = 1_500_000, 8_000
#: Charts of one story, and of one tab.
_STORY_CHARTS, _TAB_CHARTS, _OVERVIEW_CHARTS = 6, 3, 12
#: Tabs whose metrics say nothing of a training.
_ASIDE = (FINDINGS, "all", "hyper", "progress", "other")
#: Share of the colour of a level in its shade.
_SHADE = 0.15
_COLOURS = (
    *(Token.BG, Token.RAISED, Token.SEL, Token.LINE, Token.MUTED, Token.TEXT, Token.STRONG),
    *(
        Token.ACCENT,
        Token.OK,
        Token.WATCH,
        Token.BAD,
        Token.SERIES,
        Token.BAND,
        Token.TINT,
        Token.UNJUDGED,
    ),
)


def html_report(session: Session) -> str:
    """The document: one run, or a table of several and then each of them, the worst first."""
    runs = sorted(session.runs(), key=by_verdict)
    style, alone = _style(), len(runs) == 1
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = runs[0].name if alone else f"{len(runs)} runs"
    room = min(_CHARTS, max(_LEAST_CHARTS, _ALL_CHARTS // max(1, len(runs))))
    made = datetime.fromtimestamp(session.clock.now(), timezone.utc)
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            '<meta name="format-detection" content="telephone=no, date=no, address=no, email=no">',
            f"<title>{_text(title, _NAME)} · rltui report</title>",
            f"<style>{style}</style>\n</head>\n<body>\n<main>",
            *([] if alone else [_overview(runs)]),
            *(_Page(session, run, number, room, alone).html() for number, run in enumerate(runs)),
            f"</main>\n<footer>rltui {__version__} · read {made:%Y-%m-%d %H:%M} UTC. Names and texts "
            "from logs are shown as text, without what looks like a secret.</footer>",
            "</body>\n</html>\n",
        )
    )


def _style() -> str:
    """The style sheet, with the colours of the light and the dark theme."""
    light, dark = (_palette(load_theme(name)) for name in ("light", "dark"))
    rules = shipped("output", "data", "report.css").read_text(encoding="utf-8")
    return (
        f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{rules}"
    )


def _palette(theme: Theme) -> str:
    """The colours as properties; a shade is what an episode of a level lies on."""
    colours = {t.value: theme.colours[t] for t in _COLOURS}
    for level, fill in (("watch", Token.WATCHFILL), ("bad", Token.BADFILL)):
        colours[f"{level}shade"] = mix(colours["bg"], theme.colours[fill], _SHADE)
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


def _plain(text: str, most: int = _LONGEST) -> str:
    """A text in at most ``most`` visible characters, without what has the form of a secret."""
    text = kept_clean(masked("", text[: 4 * most]))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _text(text: str, most: int = _LONGEST) -> str:
    """The same as HTML that shows exactly it."""
    return escaped(_plain(text, most))


def _chip(level: Level) -> str:
    """A level by glyph, word and colour."""
    return f'<b class="chip {level.mark}">{_GLYPHS.badge(level)} {LEVEL_WORDS[level]}</b>'


def _dot(level: Level) -> str:
    """A level by glyph and colour, for the eye that reads the word nearby."""
    word = LEVEL_WORDS[level]
    return f'<b class="{level.mark}" role="img" aria-label="{word}">{_GLYPHS.badge(level)}</b>'


def _within(parts: Iterable[str], count: int, most: int) -> tuple[list[str], int]:
    """Of ``count`` parts the first that have at most ``most`` bytes together, and how many are
    left."""
    kept: list[str] = []
    for part in parts:
        most -= len(part.encode())
        if most < 0:
            break
        kept.append(part)
    return kept, count - len(kept)


def _items(lines: Sequence[str], most: int = _LISTED) -> tuple[str, int]:
    """Lines of HTML as a list of at most so many bytes, "" for none, and how many are left out."""
    shown, left = _within((f"<li>{line}</li>" for line in lines), len(lines), most)
    return (f"<ul>{''.join(shown)}</ul>" if shown else ""), left


def _more(left: int, what: str) -> str:
    return f'<p class="q">and {left:,} more {what}</p>' if left else ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], look: str = "numbers") -> str:
    """A table of HTML cells, the first of each row its head."""
    top = "".join(f'<th scope="col">{h}</th>' for h in heads)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{c}</td>" for c in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="wide"><table class="{look}"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _pairs(rows: Iterable[tuple[str, str]], most: int = _LONGEST) -> str:
    """Names and texts, of at most ``most`` characters each."""
    strong = "next step"  # what a reader in a hurry looks for
    inner = "".join(
        f"<dt>{_text(n, _NAME)}</dt><dd{' class=next' * (n == strong)}>{_text(t, most)}</dd>"
        for n, t in rows
    )
    return f"<dl>{inner}</dl>" if inner else ""


def _overview(runs: Sequence[RunView]) -> str:
    """The table of several runs, the worst first."""
    rows = []
    for number, run in enumerate(runs):
        stories = diagnosed_in(run).stories() if findings.worst_story(run) else []
        what = findings.summary_of(run, stories[0][0]) if stories else ""
        if run.verdict.crash is not None:
            what = without_secrets(exit_words(run.verdict.crash))
        name = f'<a href="#r{number}">{_text(run.name, _NAME)}</a>'
        what = what or why_unknown(run) or calm_words(run)
        cells = (name, _chip(run.verdict.mark), _text(standing_words(run), 200), _text(what, 300))
        rows.append(cells)
    heads = ("Run", "Verdict", "Progress", "What it shows")
    counts = {level: sum(r.verdict.level is level for r in runs) for level in reversed(Level)}
    words = ", ".join(f"{n:,} {LEVEL_WORDS[level]}" for level, n in counts.items() if n)
    return (
        f"<header><h1>{len(runs):,} runs</h1><p>{words}</p></header>{_table(heads, rows, 'runs')}"
    )


class _Page:
    """The section of one run."""

    def __init__(self, session: Session, run: RunView, number: int, room: int, alone: bool) -> None:
        """``room``: bytes that its charts may have; ``alone``: whether its name is the title."""
        self._session, self._run, self._number, self._room = session, run, number, room
        self._top = 1 if alone else 2
        self._drawn: set[str] = set()

    def html(self) -> str:
        """The whole section; what rltui fails in is named at its end."""
        run, parts = self._run, list[str]()
        with run.walled(NOT_SHOWN):
            parts += [self._ending(), self._stories()]
        with run.walled(NOT_SHOWN):
            parts += self._tabs()
        with run.walled(NOT_SHOWN):
            parts += [self._lists(), self._settings()]
        head = (
            f"<header>{self._heading(0, f'{_text(run.name, _NAME)} {_chip(run.verdict.mark)}')}"
            f"<p>{_text(standing_words(run), 300)}</p></header>"
        )
        notes = [note_text(n, str(n.path)) for n in run.troubles]
        items, left = _items([_text(n) for n in notes])
        if items:
            parts += [self._heading(1, "Notes"), items, _more(left, "notes")]
        return "\n".join(filter(None, (f'<article id="r{self._number}">{head}', *parts))) + (
            "\n</article>"
        )

    def _heading(self, depth: int, inner: str) -> str:
        """A heading ``depth`` levels below that of the run."""
        return f"<h{self._top + depth}>{inner}</h{self._top + depth}>"

    # -- the verdict ---------------------------------------------------------------------------

    def _ending(self) -> str:
        """How the job ended, with the end of its log."""
        run, crash = self._run, self._run.verdict.crash
        if crash is None:
            return ""
        words, line = without_secrets(exit_words(crash)), without_secrets(crash.line)
        tail = [without_secrets(x) for x in last_lines(run) if x.strip()][-_TAIL_LINES:]
        facts = [("it says", line), ("next step", findings.ending_advice(run, crash))]
        return (
            f'<section class="story {run.verdict.exit_level.mark}">'
            f"{self._heading(1, f'{_dot(run.verdict.exit_level)} {_text(words)}')}"
            f"{_pairs(f for f in facts if f[1])}"
            + (f"<pre>{chr(10).join(_text(x, 300) for x in tail)}</pre>" if tail else "")
            + "</section>"
        )

    def _stories(self) -> str:
        """What is wrong and was wrong, each story with its charts; or that nothing is."""
        run, diagnosed = self._run, diagnosed_in(self._run)
        found, alone = diagnosed.stories(), rows_without_story(run)
        stories = (self._story(s, n == 0) for n, s in enumerate(found))
        lone = (
            f'<section class="story {row.finding.level.mark if row.is_firing else "over"}">'
            f"<ul><li>{self._finding(run, row)}</li></ul>"
            f"{_pairs([('next step', advice)]) if advice else ''}</section>"
            for row in alone
            for advice in [findings.advice_of(run, row.finding) if row.is_firing else ""]
        )
        count = len(found) + len(alone)
        shown, left = _within(chain(stories, lone), count, _STORIES + self._room)
        if shown:
            return "\n".join(shown) + _more(left, "findings")
        judged = len(run.report.judged) if run.report else 0
        words = why_unknown(run) or f"{calm_words(run)}; {judged} rules judged"
        return f'<section class="story {run.verdict.mark.mark}"><p>{_text(words)}</p></section>'

    def _story(self, story: list[Diagnosis], first: bool) -> str:
        """A cause and what it brought about: evidence, what moved first, what to check, charts."""
        run, top = self._run, story[0]
        level = Level.OK if top.is_over and top.level < Level.WATCH else top.level
        look = "over" if level < Level.WATCH else level.mark
        mark = _dot(level) if look != "over" else f'<b class="over">{_GLYPHS.over}</b>'
        rows = rows_of_story(run, story)
        items, left = _items([self._finding(run, r) for r in rows], _STORIES // 4)
        facts = [
            (n, without_secrets(t) if n == "the log says" else t)
            for n, t in story_facts(run, story)
        ]
        moves = diagnosed_in(run).moves if first else ()
        tags = [m.tag for m in moves if m.is_setting]
        tags += [f.tag for row in rows for f in row.findings if f.tag is not None]
        tags += [m.tag for m in moves]
        return "".join(
            (
                f'<section class="story {look}">',
                self._heading(1, f"{mark} {_text(findings.summary_of(run, top))}"),
                items,
                _more(left, "findings"),
                _pairs(facts),
                self._moves() if first else "",
                self._charts(tags, _STORY_CHARTS),
                "</section>",
            )
        )

    @staticmethod
    def _finding(run: RunView, row: findings.FindingRow) -> str:
        words = row_of_finding(run, row)
        words = words if row.finding.words is not None else without_secrets(words)
        glyph, _, rest = words.partition(" ")
        look = row.finding.level.mark if row.is_firing else "over"
        return f'<b class="{look}">{glyph}</b> {_text(rest, 400)}'

    def _moves(self) -> str:
        """What moved first in the worst story."""
        run, moves = self._run, diagnosed_in(self._run).moves
        if not moves:
            return ""
        rows = (
            (
                _text(run.infos[m.tag].title, _NAME),
                numbers.step(m.step),
                numbers.plain(m.before),
                numbers.plain(m.after),
                "" if m.factor is None else numbers.factor(m.factor),
            )
            for m in moves
        )
        heads = ("Moved first", run.step_word, "before", "after", "change")
        return _table(heads, rows)

    def _lists(self) -> str:
        """What is to come, what rests on guesses, and which rules could not judge."""
        run, report = self._run, self._run.report
        parts = []
        ahead = [findings.ahead_sentence(run, p) for p in findings.projections(run)]
        guessed = [
            f"{tag} is {info.metric.title}, {sentences.GUESSED}"
            for tag, info in run.infos.items()
            if info.guessed and info.metric
        ]
        skipped = report.skipped if report else ()
        missing = [f"{s.title}: {findings.why_skipped(run, s)}" for s in skipped]
        for title, lines in (("Ahead", ahead), ("Guessed", guessed), ("Not judged", missing)):
            items, left = _items([_text(x, 400) for x in lines])
            parts += [self._heading(1, title), items, _more(left, "of them")] if items else []
        return f'<section class="cols">{"".join(parts)}</section>' if parts else ""

    # -- charts --------------------------------------------------------------------------------

    def _tabs(self) -> Iterator[str]:
        """The first metrics of each tab that has not been drawn yet, as far as there is room."""
        for tab in TABS:
            if tab.id in _ASIDE or self._room <= 0:
                continue
            rows = [r for s in tab_sections(self._run, tab.id) for r in s.rows]
            most = _OVERVIEW_CHARTS if tab.category is None else _TAB_CHARTS
            if drawn := self._charts([r.tag for r in rows], most):
                yield f"<section>{self._heading(1, tab.title)}{drawn}</section>"

    def _charts(self, tags: Iterable[str], most: int) -> str:
        """The charts of the first ``most`` of ``tags`` that have none yet, as long as there is
        room."""
        parts: list[str] = []
        for tag in dict.fromkeys(tags):
            if len(parts) == most or self._room <= 0:
                break
            if tag not in self._drawn and tag in self._run.infos and self._run.points.count(tag):
                part = self._figure(tag)
                self._room -= len(part.encode())
                if self._room >= 0:
                    self._drawn.add(tag)
                    parts.append(part)
        return f'<div class="charts">{"".join(parts)}</div>' if parts else ""

    def _figure(self, tag: str) -> str:
        run, series, info = self._run, self._run.shown(tag), self._run.infos[tag]
        judgement = run.verdict.judgement(tag)
        value = numbers.value(newest_of(run, series))
        unit = f" {info.unit}" if info.unit else ""
        limits = sentences.limits(judgement)
        since = ", ".join(
            f"{level.word} {run.step_word} {numbers.step(begin)} to "
            f"{'now' if end is None else numbers.step(end)}"
            for begin, end, level in episodes(run, tag)[-3:]
        )
        first, last, _ = span_of(run, tag)
        about = f"{info.title} ({tag}) from {run.step_word} {first} to {last}, newest {value}{unit}"
        about = "; ".join(x for x in (about, limits, since) if x)
        picture = chart_svg(
            _chart_of(run, tag),
            f"r{self._number}c{len(self._drawn)}",
            _plain(info.title, _NAME),
            _plain(about),
            _plain(info.unit, _NAME),
        )
        return (
            f"<figure><figcaption><span>{_dot(judgement.level)} <b>{_text(info.title, _NAME)}</b>"
            f'</span><span class="v"><b>{value}</b>{_text(unit, _NAME)}</span>'
            f"<code>{_text(tag, _NAME)}</code></figcaption>{picture}</figure>"
        )

    # -- settings and environment ----------------------------------------------------------------

    def _settings(self) -> str:
        """Settings and environment, from the logs and from files beside them."""
        run, session = self._run, self._session
        known = run in session.runs()
        logdir = session.logdirs[run.key.logdir] if known else run.data.path
        try:
            folders = folders_of(run, session.runs(), logdir)
        except (OSError, RltuiError):
            folders = []
        in_files = read_settings(folders)
        values: dict[str, object] = {
            name: masked(name, value_text(value))
            for name, value in settings_of(run, in_files).items()
        }
        return self._setting_lists(values) + self._environment(read_environment(folders))

    def _setting_lists(self, values: dict[str, object]) -> str:
        if not values:
            return ""
        run, parts = self._run, [self._heading(1, "Settings")]
        changed = [(n, masked(n, v)) for n, v in settings_changed(run)]
        if changed:
            items, left = _items([_text(f"{n}: {v}", 400) for n, v in changed])
            parts += [self._heading(2, "Changed at a restart"), items, _more(left, "changes")]
        parts.append(f'<div class="main">{_pairs(main_settings(values), 200)}</div>')
        groups = setting_groups(values)
        every = (
            f"<div>{self._heading(2, _text(title, _NAME))}{_pairs(part, 200)}</div>"
            for title, pairs in groups
            for part in (pairs[n : n + 40] for n in range(0, len(pairs), 40))
        )
        shown, left = _within(every, sum(-(-len(p) // 40) for _, p in groups), _SETTINGS)
        inner = f'<div class="settings">{"".join(shown)}</div>{_more(left, "groups")}'
        parts.append(f"<details><summary>All {len(values):,}</summary>{inner}</details>")
        return f"<section>{''.join(parts)}</section>"

    def _environment(self, recorded: dict[str, object]) -> str:
        """Where it ran and what was read."""
        run, data = self._run, self._run.data
        count, extent = gpus(run), data.extent
        facts = [
            ("path", str(data.path)),
            *((name, masked(name, str(value))) for name, value in recorded.items()),
            ("GPUs by its settings", "" if count is None else f"{sum(count):,}"),
            ("first row", _moment(extent.first_wall_time)),
            ("newest row", _moment(extent.last_wall_time)),
            (
                "restarts",
                f"{len(run.points.extent.restarts)}" if run.points.extent.restarts else "",
            ),
            ("tags", f"{len(run.infos):,}"),
        ]
        sources = [
            (_text(s.path.name, _NAME), _text(s.format, _NAME), f"{s.records:,}", f"{s.size:,}")
            for s in list(data.files.sources.values())[:20]
        ]
        left = len(data.files.sources) - len(sources)
        return (
            f"<section>{self._heading(1, 'Environment')}{_pairs(f for f in facts if f[1])}"
            f"{_table(('Log', 'format', 'records', 'bytes'), sources)}{_more(left, 'logs')}"
            "</section>"
        )


def _moment(when: float | None) -> str:
    """A wall time in UTC; "" for none, and for what no clock has shown."""
    try:
        return f"{datetime.fromtimestamp(when or np.nan, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return ""


def _chart_of(run: RunView, tag: str) -> Chart:
    """The chart of a tag over the steps of its run."""
    series, axis, limits = run.shown(tag), axis_of(run, run.shown(tag), "step"), []
    judgement, ends, worse = (
        run.verdict.judgement(tag),
        run.verdict.limits(tag),
        run.verdict.bad_limits(tag),
    )
    for value, bad, above in zip(ends, worse, (False, True), strict=True):
        if value is not None:
            limits.append(Limit(value, sentences.limit_words(judgement, above=above, value=value)))
        if bad is not None:
            text = f"bad {'>' if above else '<'} {numbers.short(bad)}"
            limits.append(Limit(bad, text, Token.MUTED, sought=False))
    first, last, end = span_of(run, tag)
    old = None
    if series.superseded:
        steps, _, values = series.old_points
        old = axis.places(steps), values
    levels = [(float(s), None if u is None else float(u), x) for s, u, x in episodes(run, tag)]
    known = bool(judgement.rules) or judgement.level is not Level.UNKNOWN or not levels
    return Chart(
        Curve(axis.places(series.steps), series.values, levels=levels, known=known, old=old),
        first=axis.place(first),
        last=axis.place(last),
        end=end,
        x_kind=axis.kind,
        x_unit=axis.unit,
        healthy=None if ends == (None, None) else ends,
        limits=limits,
        restarts=[axis.place(int(s)) for s in series.restarts],
    )
