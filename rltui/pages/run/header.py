"""Line 1: which run, how far, how well."""

from __future__ import annotations

from dataclasses import replace

from rltui.core.level import ExitKind, Level, RunState
from rltui.core.record import record
from rltui.core.text import cell_width, fit, fit_middle
from rltui.draw.line import (
    ACCENT_BOLD,
    LEVEL_BOLD,
    LEVEL_TOKEN,
    MUTED,
    RULE,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Line,
    Span,
    Token,
    fit_line,
    line_width,
    style,
    with_ground,
)
from rltui.draw.prose import ended_lines, wrap
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.facts.findings import marks
from rltui.facts.runs import RunCounts, age_words, state_words
from rltui.facts.verdict_sentence import verdict_sentence
from rltui.pages.findings.lines import muted_words
from rltui.session import JudgedRun, Progress
from rltui.session.notes import note_on

#: The colours of states; others are muted.
_STATE_TOKEN = {
    RunState.LIVE: Token.OK,
    RunState.STALLED: Token.WATCH,
    RunState.CRASHED: Token.BAD,
}


#: Cells that the name of a run may always take; more of a wide screen.
_NAME_CELLS = 20
#: Drop order of the state: after all but the name.
_STATE = 10
#: The states that are counted, in their order, and the drop order of each count: ended runs first,
#: last those that run or need attention.
_STATE_COUNTS = {
    "live": 11,
    "waiting": 16,
    "stalled": 13,
    "crashed": 12,
    "stopped": 15,
    "cancelled": 24,
    "finished": 21,
    "unreachable": 14,
}
#: Lines of a window from which on the sentence about a run has two; cells that wrapping loses.
_TWO_LINES = 20
_RAGGED = 12
#: The look of what is bad, on the only filled ground of the screen.
_ALARM = style(Token.BG, bg=Token.BAD, bold=True)
#: The mark of a run that is shown as it was.
_REPLAY = (" replay ", style(Token.BG, bg=Token.ACCENT, bold=True))


@record
class _Piece:
    """A piece of the header that may be dropped: the highest ``drop`` goes first."""

    spans: Line
    drop: int
    gap: int = 2


def state_spans(run: JudgedRun, view: View) -> Line:
    """Glyph and word of the run state."""
    progress = run.progress
    crash = run.verdict.crash
    word = run.verdict.state_word
    glyph = view.glyphs.unknown
    look = MUTED
    word_look = MUTED
    if progress is not None:
        state = progress.state
        glyph = view.glyphs.state(state)
        look = style(_STATE_TOKEN.get(state, Token.MUTED))
        word_look = {RunState.LIVE: TEXT, RunState.UNKNOWN: MUTED}.get(state, STRONG)
        if crash is not None:
            token = Token.WATCH if crash.kind is ExitKind.CANCELLED else Token.BAD
            look = style(token)
            word_look = style(token, bold=True)
        elif progress.gone or word == "unreachable":
            glyph = view.glyphs.stalled
            look = style(Token.WATCH)
            word_look = STRONG

    return [(f"{glyph} ", look), (word, word_look)]


def _state_parts(run: JudgedRun, view: View, *, wide: bool) -> list[_Piece]:
    """Glyph and word of the state with the age of the newest write."""
    line = state_spans(run, view)
    word = run.verdict.state_word
    age = age_words(run)
    tail = state_words(run).removeprefix(word)

    if not age:
        return [_Piece(line, _STATE)]
    if word == "unreachable":  # how old the newest write was when the host got out of reach
        before = None if run.progress is None else run.progress.age_s
        last = [(f"last write {numbers.age(before)} before", MUTED)]
        return [
            _Piece([*line, (tail, MUTED)], _STATE),
            *([] if before is None else [_Piece(last, 95)]),
        ]
    if wide or word != "live":
        lasts, _, doing = tail.partition(", ")
        lasts = lasts if wide or not lasts.startswith(" for ") else f" {age}"
        stage = [_Piece([(doing, MUTED)], 65)] if doing else []
        return [_Piece([*line, (lasts, MUTED)], _STATE), *stage]
    line.append((f" {age.removesuffix(' ago')}", MUTED))

    return [_Piece(line, _STATE), _Piece([("ago", MUTED)], 95, 1)]


def verdict_spans(run: JudgedRun, view: View, *, words: bool) -> Line:
    """The verdict chip: the only filled block of alarm colour on the screen."""
    glyphs = view.glyphs
    report = run.report
    if report is None and run.verdict.crash is None:
        what = "judging…" if run.infos else "not judged"
        return [(f"{glyphs.badge(Level.UNKNOWN)} {what}", MUTED)]
    found = marks(run)
    exit_level = run.verdict.exit_level
    bad = found[Level.BAD] - (exit_level is Level.BAD)

    if bad or run.verdict.crash is None:
        line = _level_counts(found[Level.BAD], found[Level.WATCH], view, words=words)
    else:  # its state stands for the end
        line = _level_counts(0, found[Level.WATCH] - (exit_level is Level.WATCH), view, words=words)
    if not line and report is not None and report.level is Level.OK and run.verdict.crash is None:
        line.append(_calm(run.verdict.mark, view))
    if not line and run.verdict.crash is None:
        line.append((f"{glyphs.badge(Level.UNKNOWN)} not judged", MUTED))
    if report is not None and report.muted:
        line.append((f"  {muted_words(run)}", MUTED))

    return line


def _calm(mark: Level, view: View) -> Span:
    """The chip without an alarm; it has no tick where a row has none that a rule judged."""
    said = "ok" if mark is Level.OK else "ok so far"
    look = style(LEVEL_TOKEN[mark], bold=mark is Level.OK)
    return f"{view.glyphs.badge(mark)} {said}", look


def _level_counts(bad: int, watch: int, view: View, *, words: bool) -> Line:
    glyphs = view.glyphs
    line = []
    if bad:
        line.append((f" {glyphs.badge(Level.BAD)} {bad} bad ", _ALARM))
    if watch:
        gap = ("   " if words else "  ") if bad else ""
        word = " watch" if words or not bad else ""
        text = f"{gap}{glyphs.badge(Level.WATCH)} {watch}{word}"
        line.append((text, LEVEL_BOLD[Level.WATCH]))

    return line


def run_header(run: JudgedRun, view: View, width: int, reading: float | None) -> Line:
    """Line 1 for one run, ``width`` cells."""
    wide = width >= 150
    right = verdict_spans(run, view, words=width >= 110)
    if run.data.files.reading or run.data.loading:
        share = "" if reading is None else f" {numbers.percent(reading)}"
        right = [(f"{view.glyphs.badge(Level.UNKNOWN)} reading{share}", MUTED)]
    if width < 40:
        mark = [] if run.as_of is None else [_REPLAY, (" ", TEXT)]
        return _between([*mark, (run.name, TITLE)], right, width)
    parts = _run_parts(run, view, width)
    room = width - line_width(right) - 3
    if wide:
        parts.insert(0, _Piece([("rltui", ACCENT_BOLD)], 90, 0))
    else:
        parts[0] = replace(parts[0], gap=0)
    kept = _fitting(parts, room)

    # as much of the name as the other parts leave room for
    at = next(i for i, part in enumerate(kept) if part.drop == 0)
    shown, look = kept[at].spans[0]
    spare = room - _width(kept)
    if shown != run.name and spare > 0:
        name = fit_middle(run.name, cell_width(shown) + spare)
        kept[at] = _Piece([(name, look)], 0, kept[at].gap)

    return _between(_joined(kept), right, width)


def _run_parts(run: JudgedRun, view: View, width: int) -> list[_Piece]:
    known = run.recognition
    progress = run.progress
    is_wide = width >= 110
    name = fit_middle(run.name, max(_NAME_CELLS, width // 3))
    parts = [_Piece([(name, TITLE)], 0)]
    titles = (known.title, known.algorithm) if known else ()
    what = (" · " if is_wide else " ").join(t for t in titles if t)

    if what and width >= 60:
        parts.append(_Piece([(what, MUTED)], 30))
    other = run.report.reference if run.report else None
    if other is not None and is_wide:
        other = fit_middle(other, _NAME_CELLS)
        parts.append(_Piece([("vs ", MUTED), (other, MUTED)], 85))
    if run.as_of is not None:
        return [*parts, *_replay_parts(run, width)]
    note = fit(note_on(run), width // 3) if is_wide else ""
    parts += [_Piece([(note, STRONG)], 86)] if note else []
    ends = _state_parts(run, view, wide=width >= 150)
    if progress is None or progress.last_step is None:
        return [*parts, replace(ends[0], gap=3), *ends[1:]]
    parts.append(_Piece(_step_spans(run, progress, width), 20, 3 if is_wide else 2))

    return [*parts, *_progress_parts(progress, view, width), *ends]


def _replay_parts(run: JudgedRun, width: int) -> list[_Piece]:
    """The mark of a run that is shown as it was, and at which step that is."""
    is_wide = width >= 110
    progress = run.progress
    parts = [_Piece([_REPLAY], 0, 3 if is_wide else 2)]
    if progress is not None and progress.last_step is not None:
        words = ("as it was at " if is_wide else "", MUTED)
        parts.append(_Piece([words, *_step_spans(run, progress, width)], 5))
        if progress.elapsed_s is not None and is_wide:
            elapsed = f"after {numbers.duration(progress.elapsed_s)}"
            parts.append(_Piece([(elapsed, MUTED)], 70))

    return parts


def _progress_parts(progress: Progress, view: View, width: int) -> list[_Piece]:
    """How far a run is: a bar, the share, the time it took, the time it will take."""
    parts = list[_Piece]()
    glyphs = view.glyphs
    is_wide = width >= 110
    if progress.share is not None:
        cells = 18 if width >= 150 else 10
        done = round(progress.share * cells)
        bar = [(glyphs.heavy * done, STRONG), (glyphs.bar_rest * (cells - done), RULE)]
        share = _Piece([(numbers.percent(progress.share), TEXT)], 40, 1)
        parts += [_Piece(bar, 80, 1), share] if is_wide else [share]
    if progress.elapsed_s is not None and is_wide:
        mark = "~" if progress.elapsed_derived else ""
        parts.append(_Piece([(mark + numbers.duration(progress.elapsed_s), TEXT)], 70))
    lives = progress.state is RunState.LIVE and progress.lost_at is None
    if progress.eta_s is not None and lives and is_wide:
        eta = numbers.duration(progress.eta_s) if progress.eta_s > 0 else "–"
        parts.append(_Piece([("ETA ", MUTED), (eta, TEXT)], 60))

    return parts


def _step_spans(run: JudgedRun, progress: Progress, width: int) -> Line:
    last = numbers.step(progress.last_step or 0)
    line: Line = [(f"{run.step_word} ", MUTED), (last, STRONG)]
    if progress.total_steps and width >= 80:
        line.append((f"/{numbers.step(progress.total_steps)}", MUTED))
    return line


def _width(parts: list[_Piece]) -> int:
    return sum(p.gap + line_width(p.spans) for p in parts)


def _fitting(parts: list[_Piece], room: int) -> list[_Piece]:
    """The parts that have room."""
    kept = list(parts)
    taken = _width(parts)
    while len(kept) > 1 and taken > room:
        last = max(kept, key=lambda p: p.drop)
        kept.remove(last)
        taken -= _width([last])
    return kept


def _joined(parts: list[_Piece]) -> Line:
    line: Line = []
    for part in parts:
        line += [(" " * (part.gap if line else 1), TEXT), *part.spans]
    return line


def _between(left: Line, right: Line, width: int) -> Line:
    room = width - line_width(right) - 1
    line = right if room < 4 else [*fit_line(left, room), *right]
    return with_ground(fit_line(line, width), Token.RAISED)


def sentence_lines(run: JudgedRun, view: View, width: int, height: int) -> Block:
    """The verdict on a run in one sentence, and what to do: whole, above everything else. A window
    with few lines gets fewer clauses."""
    said = verdict_sentence(run)
    room = width - 4
    lines = 3 if width < 80 else 2 if height >= _TWO_LINES else 1
    level, _, rest = said.words(lines * room - _RAGGED).partition(" ")
    look = LEVEL_BOLD[said.level]
    first, *more = wrap(f"{level.upper()} {rest}", room, lines + 1)
    mark: Line = [(" ", TEXT), (f"{view.glyphs.badge(said.level)} ", look)]
    word, _, rest = first.partition(" ")
    block: Block = [[*mark, (word, look), (f" {rest}", STRONG)]]
    block += ([("   ", TEXT), (text, STRONG)] for text in more)
    if said.action:
        step = said.to_do(lines * (room - 4) - _RAGGED)
        block += ended_lines([(" Do: ", MUTED)], step, TEXT, [], width - 3)
    return [fit_line(line, width) for line in block]


def runs_header(counts: RunCounts, label: str, view: View, width: int, expected: int = 0) -> Line:
    """Line 1 of the list of runs; ``expected`` is how many there are, read or not."""
    total = max(expected, counts.runs)
    wide = width >= 150
    words = f"{total} run{'s' * (total != 1)}"
    if counts.read < total:
        words = f"{counts.read} of {total} read"
    elif counts.judged < total:
        words = f"judging {counts.judged} of {total}"
    states = [
        _Piece([(f"{n} {state}", MUTED)], drop)
        for state, drop in _STATE_COUNTS.items()
        if (n := counts.states[state])
    ]
    parts = [_Piece([(words, TEXT)], _STATE), *states]

    if wide:
        parts.insert(0, _Piece([("rltui", ACCENT_BOLD)], 90, 0))
    levels = counts.levels
    right = _level_counts(levels[Level.BAD], levels[Level.WATCH], view, words=True)

    calm = Level.UNSURE if levels[Level.UNSURE] else Level.OK
    if not right and levels[calm] and counts.judged >= total:
        right = [_calm(calm, view)]
    room = width - line_width(right) - 3
    kept = _width([p for p in parts if p.drop <= _STATE_COUNTS["stalled"]])
    label = fit_middle(label, max(_NAME_CELLS, room - kept))
    parts.insert(wide, _Piece([(label, TITLE)], 0, 2 if wide else 0))

    shown = _fitting(parts, room)
    if not all(part in shown for part in states):  # a sign says that these are not all
        more = _Piece([("…", MUTED)], 0)
        shown = [*_fitting(parts, room - _width([more])), more]

    return _between(_joined(shown), right, width)
