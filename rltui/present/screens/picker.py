"""The screen on which one chooses what to watch when nobody named a path.

A pure function of what was found, the view, the time and the size. It never looks for anything.
"""

from __future__ import annotations

from pathlib import Path

from rltui.core.text import cell_width, clean, fit_middle, pad
from rltui.present.kit import numbers
from rltui.present.kit.line import (
    ACCENT,
    MUTED,
    STRONG,
    TEXT,
    TITLE,
    Line,
    Token,
    fit_line,
    line_width,
    plain,
    style,
    with_ground,
)
from rltui.present.kit.prose import paragraph
from rltui.present.screens.findings import heading
from rltui.present.screens.frame_model import Frame
from rltui.present.screens.header import footer_line
from rltui.present.screens.help import help_overlay
from rltui.present.screens.keys import PICKER
from rltui.present.screens.metric_rows import words_match
from rltui.present.screens.suggestion_lines import PathDisplay, SuggestionRows, suggestion_id
from rltui.present.screens.view import View
from rltui.sources.discovery.suggestions import Suggestion, Suggestions

#: Seconds between two searches.
RESCAN_S = 5.0
#: Lines below the list that it takes to show more of the suggestion at the cursor.
_LEAST_DETAIL = 6
_MOST_DETAIL = 10
_ACTIONS = ("help", "filter", "enter", "rescan", "quit")


def suggestions_shown(
    suggestions: Suggestions | None, view: View, paths: PathDisplay
) -> list[Suggestion]:
    """After the filter: those of the working directory first, each part newest first."""
    found = suggestions.items if suggestions is not None else ()
    shown = [o for o in found if words_match(_hay(o, paths), view.filter)]
    return [o for o in shown if o.here] + [o for o in shown if not o.here]


def draw_picker(
    suggestions: Suggestions | None,
    view: View,
    paths: PathDisplay,
    now: float,
    width: int,
    height: int,
) -> Frame:
    """The screen at ``width`` x ``height`` cells: exactly ``height`` lines of ``width``.

    ``suggestions`` is None until the first search is over. Changes in the view the scroll position,
    and the cursor until the user moves it.
    """
    shown = suggestions_shown(suggestions, view, paths)
    items = [suggestion_id(o) for o in shown]
    if items and (view.cursor.get(PICKER) not in items or PICKER not in view.moved):
        view.cursor[PICKER] = items[0]
    room = height - 2
    rows = SuggestionRows(view, paths, now, width, roomy=room > 20)
    body = (
        rows.body(shown) if shown else [(x, "") for x in _nothing(suggestions, view, paths, width)]
    )
    spare = room - len(body)
    chosen = next((o for o in shown if suggestion_id(o) == view.cursor[PICKER]), None)
    if chosen is not None and spare >= _LEAST_DETAIL:
        body += [(x, "") for x in _detail(chosen, view, paths, now, width, spare)]
    at = _scrolled(body, view, room)
    total = len(suggestions.items) if suggestions is not None else 0
    lines = [_header(view, width), *(line for line, _ in body[at : at + room])]
    lines += [[] for _ in range(height - 1 - len(lines))]
    lines = [*lines[: height - 1], _bottom(view, width, f"{len(shown)} of {total}")]
    hits = {y + 1: item for y, (_, item) in enumerate(body[at : at + room]) if item}
    frame = Frame(lines[:height], items, hits, [])
    if view.overlay:
        _overlay(frame, view, width, height)
    ellipsis = view.glyphs.ellipsis
    if view.glyphs.ascii:
        frame.lines = [[(view.glyphs.text(t), look) for t, look in x] for x in frame.lines]
    frame.lines = [fit_line(x, width, ellipsis=ellipsis) for x in frame.lines]
    return frame


def _hay(suggestion: Suggestion, paths: PathDisplay) -> str:
    commands = [f"{h.pid} {h.command}" for h in suggestion.writers]
    return " ".join(
        [paths.short(suggestion.path), suggestion.origin, *suggestion.formats, *commands]
    )


# -- around the list -----------------------------------------------------------------------


def _header(view: View, width: int) -> Line:
    left: Line = [(" rltui", style(Token.ACCENT, bold=True)), ("  what to watch?", TITLE)]
    right = f"searches again every {numbers.duration(RESCAN_S)}"
    gap = width - line_width(left) - cell_width(right) - 1
    if gap > 2:
        left += [(" " * gap, TEXT), (right, MUTED)]
    return with_ground(fit_line(left, width, ellipsis=view.glyphs.ellipsis), Token.RAISED)


def _bottom(view: View, width: int, note: str) -> Line:
    if not (view.editing or view.filter):
        return footer_line(view, width, "", _ACTIONS)
    caret: Line = [("█", ACCENT)] if view.editing else []
    line: Line = [(" /", ACCENT), (view.filter, STRONG), *caret]
    right = note + ("  Enter keep  Esc clear" if view.editing else "  Esc clear")
    gap = width - line_width(line) - cell_width(right) - 1
    if gap > 0:
        line += [(" " * gap, TEXT), (right, MUTED)]
    return with_ground(fit_line(line, width), Token.SEL)


def _nothing(
    suggestions: Suggestions | None, view: View, paths: PathDisplay, width: int
) -> list[Line]:
    """While the first search runs, or when nothing was found."""
    if suggestions is None:
        return [[], [("  looking for logs", MUTED)]]
    if suggestions.items:
        return [[], [("  nothing matches the filter", MUTED)]]
    directory = paths.directory
    place = f" in {paths.short(directory)}" if directory is not None else ""
    inner = min(width - 2, 100)
    looked = ", ".join(suggestions.searched) + ", and what your running processes write"
    lines: list[Line] = [[], [("  No logs found", TITLE), (place, TITLE)], []]
    lines += paragraph(f"Looked in {looked}.", inner, MUTED, indent=2)
    every = numbers.duration(RESCAN_S)
    again = f"rltui searches again every {every}: a run appears here once it writes."
    lines += [[], *paragraph(again, inner, indent=2), []]
    for command, does in (
        ("rltui watch LOGDIR", "watch a directory that you name"),
        ("rltui demo", "watch a made-up run"),
    ):
        lines.append([("    ", TEXT), (pad(command, 22), STRONG), (does, MUTED)])
    return [fit_line(x, width, ellipsis=view.glyphs.ellipsis) for x in lines]


def _detail(
    suggestion: Suggestion, view: View, paths: PathDisplay, now: float, width: int, height: int
) -> list[Line]:
    """The newest logs of the suggestion at the cursor, and why it is offered."""
    left = 2 if width >= 110 else 1
    inner = width - left - 1
    title = fit_middle(paths.short(suggestion.path), inner - 24, ellipsis=view.glyphs.ellipsis)
    lines: list[Line] = [[], [(" " * left, TEXT), *heading(title, inner, view, suggestion.origin)]]
    names = [(_below(log.path, suggestion.path), log.modified) for log in suggestion.newest]
    room = min(max((cell_width(n) for n, _ in names), default=0) + 2, inner - 12)
    for name, modified in names[: min(height - 2, _MOST_DETAIL)]:
        name = pad(fit_middle(name, room - 2, ellipsis=view.glyphs.ellipsis), room)
        age = f"{numbers.age(now - modified)} ago"
        lines.append([(" " * (left + 2), TEXT), (name, TEXT), (age, MUTED)])
    return lines


def _below(path: Path, directory: Path) -> str:
    """A path relative to the directory that is offered; cleaned."""
    if path.is_relative_to(directory) and path != directory:
        return clean(str(path.relative_to(directory)))
    return clean(path.name)


def _scrolled(body: list[tuple[Line, str]], view: View, room: int) -> int:
    """The first line to draw, so that the cursor is in sight; kept in the view."""
    marked = [y for y, (_, item) in enumerate(body) if item and item == view.cursor.get(PICKER)]
    at = view.offset.get(PICKER, 0)
    if marked:
        # With the first entry the headings above it come into sight, too.
        first = 0 if not any(item for _, item in body[: marked[0]]) else marked[0]
        at = max(min(at, first), marked[-1] - room + 1)
    at = max(0, min(at, len(body) - room))
    view.offset[PICKER] = at
    return at


def _overlay(frame: Frame, view: View, width: int, height: int) -> None:
    """Dim what is behind and lay the help over it."""
    box = help_overlay(view, min(width - 4, 110), height - 3)
    inner = min(width - 2, max((line_width(x) for x in box), default=0) + 4)
    left, dim = (width - inner) // 2, style(Token.LINE)
    for y in range(1, height - 1):
        behind = plain(fit_line(frame.lines[y], width))
        row = y - 1
        if row < len(box):
            inside = with_ground(fit_line([("  ", TEXT), *box[row]], inner), Token.RAISED)
            frame.lines[y] = [(behind[:left], dim), *inside, (behind[left + inner :], dim)]
        else:
            frame.lines[y] = [(behind, dim)]
    frame.hits.clear()
    frame.lines[-1] = footer_line(view, width, "")
