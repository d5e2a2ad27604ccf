"""The screen on which one chooses what to watch when nobody named a path.

Made of what was found, the view, the time and the size; does no I/O.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rltui.core.text import cell_width, pad
from rltui.formats import Belonging
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
from rltui.present.screens.entries import Entry, fixed, words_match
from rltui.present.screens.suggestion_lines import PathDisplay, SuggestionRows
from rltui.present.screens.view import View
from rltui.sources.discovery.suggestions import Suggestion, Suggestions
from rltui.sources.discovery.tree import Candidate

#: Seconds between two searches.
RESCAN_S = 5.0


def suggestions_shown(
    suggestions: Suggestions | None, text: str, paths: PathDisplay
) -> list[Suggestion]:
    """After the filter ``text``: those of the working directory first, each part newest first.
    Under a place with several runs stand the newest of them."""
    found = suggestions.items if suggestions is not None else ()
    known = {s.path for s in found}
    shown: list[Suggestion] = []
    for suggestion in sorted(found, key=lambda s: not s.here):
        newest = {_run_path(log): log for log in reversed(suggestion.newest) if not log.tracker}
        shown.append(suggestion)
        for path, log in reversed(newest.items()):
            if suggestion.runs > 1 and path not in known:
                known.add(path)
                one = replace(suggestion, path=path, runs=1, formats=(log.kind,), writers=())
                shown.append(replace(one, modified=log.modified, partial=False, newest=()))
    return [s for s in shown if words_match(_searched_words(s, paths), text)]


def _run_path(log: Candidate) -> Path:
    return log.path if log.belonging is Belonging.NAME else log.path.parent


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


def _searched_words(suggestion: Suggestion, paths: PathDisplay) -> str:
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
