"""The screen on which one chooses what to watch when nobody named a path.

Made of what was found, the view, the time and the size; does no I/O.
"""

from __future__ import annotations

from pathlib import Path

from rltui.core.text import cell_width, clean, fit_middle, pad
from rltui.present.kit import numbers
from rltui.present.kit.line import (
    MUTED,
    STRONG,
    TEXT,
    TITLE,
    Line,
    Token,
    fit_line,
    line_width,
    style,
    with_ground,
)
from rltui.present.kit.prose import paragraph
from rltui.present.screens.entries import Entry, fixed, indented, longest, words_match
from rltui.present.screens.findings import heading
from rltui.present.screens.suggestion_lines import PathDisplay, SuggestionRows
from rltui.present.screens.view import View
from rltui.sources.discovery.suggestions import Suggestion, Suggestions

#: Seconds between two searches.
RESCAN_S = 5.0
#: Lines below the list that it takes to show more of the suggestion at the cursor.
_LEAST_DETAIL = 6
_MOST_DETAIL = 10


def suggestions_shown(
    suggestions: Suggestions | None, text: str, paths: PathDisplay
) -> list[Suggestion]:
    """After the filter ``text``: those of the working directory first, each part newest first."""
    found = suggestions.items if suggestions is not None else ()
    shown = [o for o in found if words_match(_hay(o, paths), text)]
    return [o for o in shown if o.here] + [o for o in shown if not o.here]


def suggestion_entries(
    suggestions: Suggestions | None,
    shown: list[Suggestion],
    view: View,
    paths: PathDisplay,
    now: float,
    width: int,
    height: int,
) -> list[Entry[Path]]:
    """The list, or what there is to say when it is empty. ``suggestions`` is None until the first
    search is over."""
    if not shown:
        return [fixed(x) for x in _nothing(suggestions, view, paths, width)]
    return SuggestionRows(view, paths, now, width, roomy=height > 20).entries(shown)


def suggestion_detail(
    suggestion: Suggestion | None,
    view: View,
    paths: PathDisplay,
    now: float,
    width: int,
    height: int,
) -> list[Line]:
    """Under the list: the newest logs of the suggestion at the cursor, and why it is offered."""
    if suggestion is None or height < _LEAST_DETAIL:
        return []
    return _detail(suggestion, view, paths, now, width, height)


def _hay(suggestion: Suggestion, paths: PathDisplay) -> str:
    commands = [f"{h.pid} {h.command}" for h in suggestion.writers]
    return " ".join(
        [paths.short(suggestion.path), suggestion.origin, *suggestion.formats, *commands]
    )


def picker_header(view: View, width: int) -> Line:
    """Line 1."""
    left: Line = [(" rltui", style(Token.ACCENT, bold=True)), ("  what to watch?", TITLE)]
    right = f"searches again every {numbers.duration(RESCAN_S)}"
    gap = width - line_width(left) - cell_width(right) - 1
    if gap > 2:
        left += [(" " * gap, TEXT), (right, MUTED)]
    return with_ground(fit_line(left, width, ellipsis=view.glyphs.ellipsis), Token.RAISED)


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
    lines: list[Line] = [[], *indented([heading(title, inner, view, suggestion.origin)], left)]
    names = [(_below(log.path, suggestion.path), log.modified) for log in suggestion.newest]
    room = min(longest([n for n, _ in names]) + 2, inner - 12)
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
