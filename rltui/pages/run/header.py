"""Line 1: which run, how far, how well."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rltui.core.level import ExitKind, Level, RunState
from rltui.core.text import cell_width, fit_middle
from rltui.draw.line import (
    MUTED,
    RULE,
    STRONG,
    TEXT,
    TITLE,
    Line,
    Style,
    Token,
    fit_line,
    line_width,
    style,
    with_ground,
)
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.findings import marks
from rltui.facts.runs import RunCounts, age_words, exit_words, state_words
from rltui.pages.findings.lines import muted_words
from rltui.session import Progress, RunView

_STATE_TOKEN = {
    RunState.LIVE: Token.OK,
    RunState.STALLED: Token.WATCH,
    RunState.FINISHED: Token.MUTED,
    RunState.STOPPED: Token.MUTED,
    RunState.CRASHED: Token.BAD,
    RunState.UNKNOWN: Token.MUTED,
}


#: Cells that the name of a run may always take; more of a wide screen.
_NAME_CELLS = 20
#: When the state is dropped: after all but the name.
_STATE = 10
#: The states that are counted, in their order, and when each count is dropped: first what is over
#: anyway, last what runs or needs somebody.
_STATE_COUNTS = {
    "live": 11,
    "stalled": 13,
    "crashed": 12,
    "stopped": 15,
    "cancelled": 24,
    "finished": 21,
    "quiet": 22,
    "ended": 23,
    "unreachable": 14,
}
#: The mark of a run that is shown as it was.
_REPLAY = (" replay ", style(Token.BG, bg=Token.ACCENT, bold=True))


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of the header that may be dropped: the highest ``drop`` goes first."""

    spans: Line
    drop: int
    gap: int = 2


def state_spans(run: RunView, view: View) -> Line:
    """Glyph and word of the run state."""
    glyph, look, word_look = _state_look(run, view)
    return [(f"{glyph} ", look), (run.verdict.state_word, word_look)]


def _state_look(run: RunView, view: View) -> tuple[str, Style, Style]:
    """(glyph, its look, look of the word) of the run state."""
    progress, crash = run.progress, run.verdict.crash
    if progress is None:
        return view.glyphs.unknown, MUTED, MUTED
    glyph, state = view.glyphs.state(progress.state), progress.state
    if crash is not None:
        token = Token.WATCH if crash.kind is ExitKind.CANCELLED else Token.BAD
        return glyph, style(token), style(token, bold=True)
    if progress.gone or run.verdict.state_word == "unreachable":
        return view.glyphs.stalled, style(Token.WATCH), STRONG
    loud = {RunState.LIVE: TEXT, RunState.UNKNOWN: MUTED}.get(state, STRONG)

    return glyph, style(_STATE_TOKEN[state]), loud


def _state_parts(run: RunView, view: View, *, wide: bool, reason: bool) -> list[_Part]:
    """Glyph and word of the state with the age of the newest write; of a run that crashed, with
    the reason."""
    line, crash = state_spans(run, view), run.verdict.crash
    if crash is not None and reason:
        line[1] = (exit_words(crash), line[1][1])
    words, age = state_words(run), age_words(run)
    tail = words.removeprefix(run.verdict.state_word)
    if not age:
        return [_Part(line, _STATE)]
    if run.verdict.state_word == "unreachable":
        return [_Part([*line, (tail, MUTED)], _STATE), *_last_write(run)]
    if wide or run.verdict.state_word != "live":
        short = tail if wide or not tail.startswith(" for ") else f" {age}"
        return [_Part([*line, (short, MUTED)], _STATE)]
    ago = _Part([("ago", MUTED)], 95, 1)

    return [_Part([*line, (f" {age.removesuffix(' ago')}", MUTED)], _STATE), ago]


def _last_write(run: RunView) -> list[_Part]:
    """How old the newest write was when the host of the run got out of reach."""
    age = None if run.progress is None else run.progress.age_s
    words = f"last write {numbers.age(age)} before"
    return [] if age is None else [_Part([(words, MUTED)], 95)]


def verdict_spans(run: RunView, view: View, *, words: bool) -> Line:
    """The verdict chip: the only filled block of alarm colour on the screen."""
    glyphs, report = view.glyphs, run.report
    if report is None and run.verdict.crash is None:
        what = glyphs.text("judging…") if run.infos else "not judged"
        return [(f"{glyphs.badge(Level.UNKNOWN)} {what}", MUTED)]
    found, exit_level = marks(run), run.verdict.exit_level
    bad = found[Level.BAD] - (exit_level is Level.BAD)
    if bad or run.verdict.crash is None:
        line = _level_counts(found[Level.BAD], found[Level.WATCH], view, words=words)
    else:  # its own chip stands for the end
        line = _level_counts(0, found[Level.WATCH] - (exit_level is Level.WATCH), view, words=words)
        look = style(Token.WATCH, bold=True)
        if run.verdict.exit_level is Level.BAD:
            look = style(Token.BG, bg=Token.BAD, bold=True)
        text = f" {glyphs.badge(run.verdict.exit_level)} {run.verdict.crash.kind.value} "
        line = [(text, look), *([("  ", TEXT), *line] if line else [])]
    if not line and report is not None and report.level is Level.OK:
        line.append((f"{glyphs.badge(Level.OK)} ok", style(Token.OK, bold=True)))
    if not line:
        line.append((f"{glyphs.badge(Level.UNKNOWN)} not judged", MUTED))
    if report is not None and report.muted:
        line.append((f"  {muted_words(run)}", MUTED))

    return line


def _level_counts(bad: int, watch: int, view: View, *, words: bool) -> Line:
    glyphs, line = view.glyphs, []
    if bad:
        text = f" {glyphs.badge(Level.BAD)} {bad} bad "
        line.append((text, style(Token.BG, bg=Token.BAD, bold=True)))
    if watch:
        gap = ("   " if words else "  ") if bad else ""
        word = " watch" if words or not bad else ""
        text = f"{gap}{glyphs.badge(Level.WATCH)} {watch}{word}"
        line.append((text, style(Token.WATCH, bold=True)))
    return line


def run_header(run: RunView, view: View, width: int, reading: float | None) -> Line:
    """Line 1 for one run, ``width`` cells."""
    wide = width >= 150
    right = verdict_spans(run, view, words=width >= 110)
    if run.data.files.reading or run.data.loading:
        share = "" if reading is None else f" {numbers.percent(reading)}"
        right = [(f"{view.glyphs.badge(Level.UNKNOWN)} reading{share}", MUTED)]
    if width < 40:
        mark = [] if run.as_of is None else [_REPLAY, (" ", TEXT)]
        return _between([*mark, (run.name, TITLE)], right, width)
    kept: list[_Part] = []
    for reason in (width >= 80, False):  # the reason of a crash goes before its state does
        parts = _run_parts(run, view, width, reason=reason)
        if wide:
            parts.insert(0, _Part([("rltui", style(Token.ACCENT, bold=True))], 90, 0))
        else:
            parts[0] = _Part(parts[0].spans, parts[0].drop, 0)
        kept = _fitting(parts, width - line_width(right) - 3)
        if any(part.drop == _STATE for part in kept):
            break
    kept = _with_longer_name(kept, run, view, width - line_width(right) - 3)

    return _between(_joined(kept), right, width)


def _with_longer_name(parts: list[_Part], run: RunView, view: View, room: int) -> list[_Part]:
    """The parts with as much of the name as they leave room for."""
    at = next(i for i, part in enumerate(parts) if part.drop == 0)
    (shown, look), gap = parts[at].spans[0], parts[at].gap
    spare = room - sum(p.gap + line_width(p.spans) for p in parts)
    if shown == run.name or spare <= 0:
        return parts
    name = fit_middle(run.name, cell_width(shown) + spare, ellipsis=view.glyphs.ellipsis)
    return [*parts[:at], _Part([(name, look)], 0, gap), *parts[at + 1 :]]


def _run_parts(run: RunView, view: View, width: int, *, reason: bool) -> list[_Part]:
    known, progress = run.recognition, run.progress
    name = fit_middle(run.name, max(_NAME_CELLS, width // 3), ellipsis=view.glyphs.ellipsis)
    parts = [_Part([(name, TITLE)], 0)]
    title = known.title if known else ""
    algorithm = (known.algorithm if known else None) or ""
    dot = " · " if width >= 110 else " "
    what = dot.join(t for t in (title, algorithm) if t)
    if what and width >= 60:
        parts.append(_Part([(what, MUTED)], 30))
    other = run.report.reference if run.report else None
    if other is not None and width >= 110:
        other = fit_middle(other, _NAME_CELLS, ellipsis=view.glyphs.ellipsis)
        parts.append(_Part([("vs ", MUTED), (other, MUTED)], 85))
    if run.as_of is not None:
        return [*parts, *_replay_parts(run, width)]
    ends = _state_parts(run, view, wide=width >= 150, reason=reason)
    if progress is None or progress.last_step is None:
        return [*parts, replace(ends[0], gap=3), *ends[1:]]
    parts.append(_Part(_step_spans(run, progress, width), 20, 3 if width >= 110 else 2))
    if progress.share is not None and width >= 110:
        parts.append(_Part(_bar(progress.share, 18 if width >= 150 else 10, view), 80, 1))
    if progress.share is not None:
        parts.append(_Part([(numbers.percent(progress.share), TEXT)], 40, 1))
    if progress.elapsed_s is not None and width >= 110:
        mark = "~" if progress.elapsed_derived else ""
        parts.append(_Part([(mark + numbers.duration(progress.elapsed_s), TEXT)], 70))
    lives = progress.state is RunState.LIVE and progress.lost_at is None
    if progress.eta_s is not None and lives and width >= 110:
        eta = numbers.duration(progress.eta_s) if progress.eta_s > 0 else "–"
        parts.append(_Part([("ETA ", MUTED), (eta, TEXT)], 60))

    return parts + ends


def _replay_parts(run: RunView, width: int) -> list[_Part]:
    """The mark of a run that is shown as it was, and at which step that is."""
    parts = [_Part([_REPLAY], 0, 3 if width >= 110 else 2)]
    if run.progress is not None and run.progress.last_step is not None:
        words = "as it was at " if width >= 110 else ""
        step = [(words, MUTED), *_step_spans(run, run.progress, width)]
        parts.append(_Part(step, 5, 2))
        if run.progress.elapsed_s is not None and width >= 110:
            elapsed = f"after {numbers.duration(run.progress.elapsed_s)}"
            parts.append(_Part([(elapsed, MUTED)], 70))
    return parts


def _step_spans(run: RunView, progress: Progress, width: int) -> Line:
    last = numbers.step(progress.last_step or 0)
    line: Line = [(f"{run.step_word} ", MUTED), (last, STRONG)]
    if progress.total_steps and width >= 80:
        line.append((f"/{numbers.step(progress.total_steps)}", MUTED))
    return line


def _bar(share: float, width: int, view: View) -> Line:
    done = round(share * width)
    glyphs = view.glyphs
    return [(glyphs.heavy * done, STRONG), (glyphs.bar_rest * (width - done), RULE)]


def _fitting(parts: list[_Part], room: int) -> list[_Part]:
    """The parts that have room."""
    kept = list(parts)
    while len(kept) > 1 and sum(p.gap + line_width(p.spans) for p in kept) > room:
        kept.remove(max(kept, key=lambda p: p.drop))
    return kept


def _joined(parts: list[_Part]) -> Line:
    line: Line = []
    for i, part in enumerate(parts):
        gap = 1 if i == 0 else part.gap
        line.append((" " * gap, TEXT))
        line.extend(part.spans)
    return line


def _between(left: Line, right: Line, width: int) -> Line:
    room = width - line_width(right) - 1
    if room < 4:
        return with_ground(fit_line(right, width), Token.RAISED)
    line = [*fit_line(left, room), *right]
    return with_ground(fit_line(line, width), Token.RAISED)


def runs_header(counts: RunCounts, label: str, view: View, width: int, expected: int = 0) -> Line:
    """Line 1 of the list of runs; ``expected`` is how many there are, read or not."""
    parts = []
    if width >= 150:
        parts.append(_Part([("rltui", style(Token.ACCENT, bold=True))], 90, 0))
    total = max(expected, counts.runs)
    runs_word = "run" if total == 1 else "runs"
    words = f"{counts.read} of {total} read" if counts.read < total else f"{total} {runs_word}"
    parts.append(_Part([(words, TEXT)], _STATE))
    counted = [(n, state) for state in _STATE_COUNTS if (n := counts.states[state])]
    states = [_Part([(f"{n} {state}", MUTED)], _STATE_COUNTS[state]) for n, state in counted]
    parts += states
    levels = counts.levels
    right = _level_counts(levels[Level.BAD], levels[Level.WATCH], view, words=True)
    if not right and levels[Level.OK] and counts.read >= total:
        right = [(f"{view.glyphs.badge(Level.OK)} ok", style(Token.OK, bold=True))]
    room = width - line_width(right) - 3
    kept = sum(p.gap + line_width(p.spans) for p in parts if p.drop <= _STATE_COUNTS["stalled"])
    label = fit_middle(label, max(_NAME_CELLS, room - kept), ellipsis=view.glyphs.ellipsis)
    parts.insert(width >= 150, _Part([(label, TITLE)], 0, 0 if width < 150 else 2))

    return _between(_joined(_some(parts, states, room, view)), right, width)


def _some(parts: list[_Part], states: list[_Part], room: int, view: View) -> list[_Part]:
    """The parts that have room, with a sign where that is not every state."""
    shown = _fitting(parts, room)
    if all(part in shown for part in states):
        return shown
    more = _Part([(view.glyphs.ellipsis, MUTED)], 0)
    return [*_fitting(parts, room - more.gap - line_width(more.spans)), more]
