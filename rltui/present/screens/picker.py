"""The screen on which one chooses what to watch when nobody named a path.

Made of what was found, the view, the time and the size; does no I/O.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
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
from rltui.sources.discovery.run_files import parents_of
from rltui.sources.discovery.suggestions import Suggestion, Suggestions

#: Seconds between two searches.
RESCAN_S = 5.0


@dataclass(frozen=True, slots=True)
class Choices:
    """What can be chosen."""

    items: tuple[Suggestion, ...] = ()
    """Places, those of the working directory first, then single runs; each part newest first."""
    runs: int = 0
    """About how many single runs there are, listed or not."""
    partial: bool = False
    """Whether there may be more of them."""

    def shown(self, text: str, paths: PathDisplay) -> list[Suggestion]:
        """The items that the filter ``text`` leaves."""
        return [s for s in self.items if not text or words_match(_searched_words(s, paths), text)]


def choices_of(suggestions: Suggestions) -> Choices:
    """The places that a search found, and the newest runs of those that hold several."""
    places = sorted(suggestions.items, key=lambda s: not s.here)
    several = [s for s in places if s.runs > 1]
    runs: dict[Path, Suggestion] = {}
    for place in several:
        for run in _single_runs(place):
            runs.setdefault(run.path, run)
    places_too = sum(runs.pop(s.path).runs for s in places if s.path in runs)
    listed = sorted(runs.values(), key=lambda s: -s.modified)
    outer = [
        s for s in several if not any(s is not o and s.path.is_relative_to(o.path) for o in several)
    ]
    total = max(sum(s.runs for s in outer) - places_too, sum(s.runs for s in listed))
    return Choices((*places, *listed), total, any(s.partial for s in outer))


def _single_runs(place: Suggestion) -> Iterator[Suggestion]:
    """Each run of a place once, by its newest log; a database as one."""
    stored = Counter(log.path for log in place.newest if log.part)
    directories = {log.directory for log in place.newest if log.belonging is Belonging.DIRECTORY}
    done: set[Path] = set()
    for log in place.newest:
        path = log.path
        if log.belonging is Belonging.DIRECTORY:
            if not directories.isdisjoint(parents_of(log.directory)):
                continue  # part of the run above
            path = place.path / log.directory
        if path not in done:
            done.add(path)
            one = replace(place, path=path, runs=stored.get(path, 1), formats=(log.kind,))
            one = replace(one, modified=log.modified, partial=False, newest=(), writers=())
            yield replace(one, single=True, title="" if log.part else log.title)


def suggestion_entries(
    suggestions: Suggestions | None,
    choices: Choices,
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
    rows = SuggestionRows(view, paths, now, width, roomy=height > 20)
    return rows.entries(shown, _runs_title(choices, shown))


def _runs_title(choices: Choices, shown: list[Suggestion]) -> str:
    """Heading of the single runs: how many of them are shown."""
    listed = sum(s.runs for s in shown if s.single)
    more = choices.partial or listed < choices.runs
    total = f"{numbers.step(choices.runs)}{'+' if choices.partial else ''}"
    count = f"{numbers.step(listed)} of {total}" if more else total
    return f"{count} run{'s' if count != '1' else ''}, newest first"


def _searched_words(suggestion: Suggestion, paths: PathDisplay) -> str:
    commands = [f"{h.pid} {h.command}" for h in suggestion.writers]
    return " ".join(
        [
            *(paths.short(suggestion.path), suggestion.title, suggestion.origin),
            *(*suggestion.formats, *commands),
        ]
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
