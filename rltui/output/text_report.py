"""Verdicts as plain text, for ``check``, ``snapshot`` and the line printed on quitting."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import NamedTuple

from rltui.catalogue.model import Category
from rltui.core.address import file_url
from rltui.core.batch import RunKey
from rltui.core.fault import NOT_SHOWN
from rltui.core.level import Level, worst
from rltui.core.text import Names, cell_width, clean, counted, fit, hyperlink, pad
from rltui.draw.glyph import glyph_set
from rltui.draw.prose import note_text
from rltui.facts import findings, numbers, seams, sentences, story_words
from rltui.facts.metrics import fold
from rltui.facts.runs import by_verdict, last_lines, state_words
from rltui.facts.story import Story, stories
from rltui.facts.verdict_sentence import verdict_sentence
from rltui.session import JudgedRun, Session
from rltui.session.event import Event, EventKind

_GLYPHS = glyph_set("braille")
#: Cells of the sentence about a run.
_SENTENCE = 180
#: Lines of the end of a log that are printed.
_TAIL_LINES = 12
#: Cells of the titles in a snapshot, and the most that a long one widens them to.
_TITLE = 20
_TITLE_MOST = 40
_COLOURS = {Level.OK: 32, Level.WATCH: 33, Level.BAD: 31}
_CODES = {_GLYPHS.badge(level): code for level, code in _COLOURS.items()}
#: A badge after the indent, or after the time of an event.
_BADGE = re.compile(rf"^( *(?:\d\d:\d\d:\d\d )?)([{''.join(_CODES)}])(?= )", re.MULTILINE)
#: The name of a run behind its badge.
_NAMED = re.compile(rf"^([{''.join(_CODES)}] )(.+?)(?= \(|: )", re.MULTILINE)
#: Cells of the line.
WIDTH = 80


def verdict_line(session: Session) -> str:
    """One line on all runs, for the scrollback."""
    runs = session.runs()
    if not runs:
        return "rltui: no runs were found"
    if len(runs) == 1:
        return f"rltui: {run_words(runs[0])}"
    worst_run = min(runs, key=by_verdict)
    tail = f"; first look at {run_words(worst_run)}"
    words = _counts(r.verdict.level for r in runs)
    is_fine = worst_run.verdict.level < Level.WATCH
    return f"rltui: {len(runs)} runs: {', '.join(words)}{'' if is_fine else tail}"


def _counts(levels: Iterable[Level]) -> list[str]:
    """ "2 bad", "1 ok": how many runs have each level, the worst first."""
    counts = Counter(levels)
    return [f"{counts[x]} {x.word}" for x in sorted(counts, reverse=True)]


def run_words(run: JudgedRun) -> str:
    """Badge, name, progress and what is wrong, in one line."""
    badge = _GLYPHS.badge(run.verdict.mark)
    standing = _standing(run)
    return f"{badge} {run.name}{standing}: {verdict_words(run)}"


def verdict_words(run: JudgedRun) -> str:
    """The verdict on a run in a sentence of a report."""
    return verdict_sentence(run).words(_SENTENCE)


def standing_words(run: JudgedRun) -> str:
    """Describe what trains, how far it is and in which state."""
    known = run.recognition
    progress = run.progress
    words = []
    if known is not None:
        words.append(" ".join(x for x in (known.title, known.algorithm) if x))
    if progress is not None and progress.last_step is not None:
        total = f"/{numbers.step(progress.total_steps)}" if progress.total_steps else ""
        words.append(f"{run.step_word} {numbers.step(progress.last_step)}{total}")

    if progress is not None and (progress.last_step is not None or run.verdict.crash is not None):
        words.append(state_words(run))
        if progress.is_waiting and progress.eta_s:
            words.append(f"ETA {numbers.duration(progress.eta_s)}")
    if run.report is not None and run.report.reference is not None:
        words.append(f"compared with {run.report.reference}")
    return ", ".join(w for w in words if w)


def _standing(run: JudgedRun) -> str:
    """Standing of the run in brackets, after a name; "" for none."""
    text = standing_words(run)
    return f" ({text})" if text else ""


def check_text(session: Session) -> str:
    """The verdict of every run with its findings."""
    runs = session.runs()
    return checked_text([checked_run(r) for r in runs], [r.name for r in runs])


class CheckedRun(NamedTuple):
    """Report of ``check`` on a run but for its name, which depends on all runs."""

    key: RunKey
    level: Level
    crash: str
    """How it ended, if it died: crashed, cancelled; else empty."""
    is_readable: bool
    badge: str
    standing: str
    """Text behind its name."""
    lines: Names
    """Lines below that."""
    faults: Names = ()
    """Failures of rltui itself."""
    entry: Mapping[str, object] | None = None
    """Its JSON, if asked for; then no text."""


def checked_run(run: JudgedRun) -> CheckedRun:
    """Report of the text on a run."""
    badge, standing, lines = _parts(run)
    notes = run.troubles  # about files that could not be read in full
    lines += [f"    note: {note_text(n, n.path.name)}" for n in notes[:5]]
    lines += [f"    and {len(notes) - 5} more notes"] if len(notes) > 5 else []

    crash = ""
    readable = True
    with run.isolate_faults("end could not be told"):
        crash = run.verdict.state_word if run.verdict.crash is not None else ""
        readable = run.is_readable

    faults = tuple(fault.text for fault in run.faults.values())
    level = run.verdict.level
    return CheckedRun(run.key, level, crash, readable, badge, standing, tuple(lines), faults)


def checked_text(runs: Sequence[CheckedRun], names: Sequence[str]) -> str:
    """The text of all runs, with the name of each."""
    lines: list[str] = []
    for run, name in zip(runs, names, strict=True):
        lines += [f"{run.badge} {name}{run.standing}", *run.lines]
    if len(runs) > 1:
        ends = Counter(r.crash for r in runs if r.crash)
        words = _counts(r.level for r in runs) + [f"{n} {word}" for word, n in ends.items()]
        level = worst(r.level for r in runs)
        lines.append(f"{len(runs)} runs, worst {level.word}: {', '.join(words)}")
    return "\n".join(lines) + "\n"


def event_text(event: Event, now: float) -> str:
    """One change of the verdict in one line, with the time of day (UTC) at which it was seen."""
    return f"{datetime.fromtimestamp(now, timezone.utc):%H:%M:%S} {event_words(event)}"


def event_words(event: Event) -> str:
    """One change of the verdict in one line."""
    run = event.run
    finding = event.finding
    if event.kind is EventKind.GOAL:
        badge = _GLYPHS.badge(run.verdict.mark)
        return (
            f"{badge} {run.name}: goal reached, {sentences.summary(finding)}; {verdict_words(run)}"
        )
    if not event.kind.is_of_finding:
        return run_words(run)
    glyph = _GLYPHS.over
    level = ""
    cause = ""
    if event.kind is not EventKind.RESOLVED:
        now = "now " if event.kind is EventKind.CHANGED else ""
        glyph = _GLYPHS.badge(finding.level)
        level = f"{now}{finding.level.word} "
        cause = story_words.cause_words(run, finding)
    what = f"{finding.title}, {level}{story_words.when_words(run, finding)}".rstrip()
    tail = f"; cause: {cause}" if cause else ""
    return f"{glyph} {run.name}: {what}: {sentences.summary(finding)}{tail}"


def run_lines(run: JudgedRun) -> list[str]:
    """A run in a line, then how it ended, its findings from their causes, and what to check."""
    badge, standing, lines = _parts(run)
    return [f"{badge} {run.name}{standing}", *lines]


def _parts(run: JudgedRun) -> tuple[str, str, list[str]]:
    """The first line of a run, before and after its name, and the other lines."""
    with run.isolate_faults(NOT_SHOWN):
        marks = findings.marks_words(run)
        standing = _standing(run)
        standing += f": {marks}" if marks else ""
        badge = _GLYPHS.badge(run.verdict.mark)
        return badge, standing, _verdict_lines(run)
    return _GLYPHS.badge(Level.UNKNOWN), "", []


def _verdict_lines(run: JudgedRun) -> list[str]:
    """The stories of a run, and what else the log shows."""
    report = run.report
    lines = [line for story in stories(run) for line in story_lines(story)]
    if report is None:
        if run.verdict.crash is None:
            return ["    no scalar yet"]
        tail = [x for x in last_lines(run) if x.strip()][-_TAIL_LINES:]
        return [*lines, "    no row of metrics; the log ends with", *(f"      | {x}" for x in tail)]

    if report.findings:
        lines.insert(0, f"    {verdict_words(run)}")
    if words := seams.seam_words(run):
        lines.append(f"    {words}")
    lines += [
        f"    guessed: {tag} is {info.metric.title}, {sentences.GUESSED}"
        for tag, info in run.infos.items()
        if info.guessed and info.metric
    ]
    ahead = (findings.ahead_sentence(run, p) for p in findings.projections(run))
    lines += [f"    ahead: {sentence}" for sentence in ahead]
    if not report.findings:
        lines.append(f"    {story_words.judged_words(run)}")
    if report.skipped and report.judged:
        left = counted(len(report.skipped), "rule")
        lines.append(f"    {left} could not judge it (--json names them)")

    return lines


def story_lines(story: Story) -> list[str]:
    """A cause, the evidence below it, and what is said of the story."""
    lines = []
    top = story.top
    if story.crash is not None or (top is not None and story.has_past_cause):
        badge = _GLYPHS.over if top is not None and top.is_over else _GLYPHS.badge(story.level)
        lines.append(f"  {badge} {story_words.summary(story)}")
    if story.crash is not None and story.crash.line:
        lines.append(f"      {story.crash.line}")
    indent = "    " if lines else "  "

    for row in story.rows:
        badge = _GLYPHS.badge(row.finding.level) if row.is_firing else _GLYPHS.over
        lines.append(f"{indent}{badge} {story_words.row_words(story.run, row)}")
    told = story_words.parts(story, _GLYPHS.badge)
    return [*lines, *(f"      {part.value}: {text}" for part, text in told)]


def snapshot_text(session: Session) -> str:
    """Every run with its verdict and all its rows, by category."""
    parts = []
    for run in session.runs():
        lines = run_lines(run)
        with run.isolate_faults(NOT_SHOWN):
            lines += _metric_lines(run)
        lines += [f"    note: {fault.text}" for fault in run.faults.values()]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _metric_lines(run: JudgedRun) -> list[str]:
    """The rows of each category that has some, the worst category and its worst rows first."""
    groups = []
    for category in Category:
        tags = [t for t, i in run.infos.items() if i.category is category]
        if rows := sorted(fold(run, tags), key=lambda r: -r.level):
            groups.append((category, rows))

    widest = max((cell_width(r.title) for _, rows in groups for r in rows), default=0)
    title = max(_TITLE, min(widest, _TITLE_MOST))

    lines = []

    for category, rows in sorted(groups, key=lambda group: -group[1][0].level):
        lines += ["", f"  {category.heading}"]
        for row in rows:
            unit = f" {row.info.unit}" if row.info.unit else ""
            value = numbers.aligned(row.value).rstrip()
            line = f"  {_GLYPHS.badge(row.level)} {pad(row.title, title)} {value}{unit}"
            line += " " * max(1, title + 28 - cell_width(line))
            limit = sentences.healthy(row.judgement, row.value)
            lines.append(f"{line}{pad(limit, 18)} {row.tag}".rstrip())

    return lines


def painter(colour: bool, linked: Iterable[JudgedRun] = ()) -> Callable[[str], str]:
    """Make a function that gives the badges of a report their colours, if there is ``colour``, and
    the names of the ``linked`` runs at the beginning of a line links to their logs."""
    urls = {run.name: file_url(run.data.path) for run in linked}

    def painted(text: str) -> str:
        if urls:
            text = _NAMED.sub(lambda m: m[1] + hyperlink(m[2], urls.get(m[2], "")), text)
        return (
            text
            if not colour
            else _BADGE.sub(lambda m: f"{m[1]}\x1b[{_CODES[m[2]]}m{m[2]}\x1b[0m", text)
        )

    return painted if colour or urls else str


def status_line(session: Session) -> str:
    """At most :data:`WIDTH` cells: how many runs are how well, and what to look at first."""
    runs = session.runs()
    if not runs:
        return "rltui: no runs"
    run = min(runs, key=by_verdict)
    counts = Counter(r.verdict.level for r in runs)
    head = " ".join(f"{_GLYPHS.badge(x)} {counts[x]}" for x in sorted(counts, reverse=True))
    is_calm = run.verdict.level < Level.WATCH
    if len(runs) == 1:
        head = _GLYPHS.badge(run.verdict.mark)
    elif is_calm:
        return fit(head, WIDTH)

    step = "" if run.data.last_step is None else f" {numbers.step(run.data.last_step)}"
    total = run.progress.total_steps if run.progress else None
    if step and total:
        step += f"/{numbers.step(total)}"
    name = f"{run.name}{step}"
    room = WIDTH - cell_width(f"{head}  {name}: ")
    words = clean(name if is_calm else f"{name}: {verdict_sentence(run).words(room)}")

    return fit(f"{head}{' ' if len(runs) == 1 else '  '}{words}", WIDTH)
