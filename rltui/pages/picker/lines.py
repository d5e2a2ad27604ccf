"""Lines of the screen on which users choose what to watch when they named no path. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import starmap
from pathlib import Path

from rltui.core.record import record
from rltui.core.text import cell_width, clean, fit_middle, pad, words_match
from rltui.draw.line import (
    ACCENT_BOLD,
    MUTED,
    STRONG,
    TEXT,
    TITLE,
    Block,
    Entry,
    Line,
    Token,
    fit_line,
    fixed,
    line_width,
    longest,
    plain,
    style,
    with_end,
    with_ground,
    with_margin,
)
from rltui.draw.prose import distinct, paragraph
from rltui.draw.table import Cells, Table, heading
from rltui.draw.view import View
from rltui.facts import numbers
from rltui.formats.base import Belonging
from rltui.sources.discovery.run_files import parents_of
from rltui.sources.discovery.suggestions import Suggestion, Suggestions

#: Seconds between two searches.
RESCAN_S = 5.0
#: A log that changed within this many seconds is being written.
_LIVE_S = 60.0


@record
class PathDisplay:
    """Shortens paths by the working and the home directory."""

    directory: Path | None
    """The working directory; None when it was deleted."""
    home: Path | None

    def short(self, path: Path) -> str:
        """With ``~`` for the home directory, cleaned."""
        if self.home is not None and self.home != Path("/") and path.is_relative_to(self.home):
            rest = path.relative_to(self.home)
            return clean("~" if rest == Path() else f"~/{rest}")
        return clean(str(path))

    def name(self, suggestion: Suggestion) -> str:
        """Relative to the working directory what is in it; a run that has a title by that."""
        path = suggestion.path
        if suggestion.title:
            path = path.parent / suggestion.title
        if suggestion.here and self.directory is not None and path != self.directory:
            if path.is_relative_to(self.directory):
                return clean(str(path.relative_to(self.directory)))
        elif suggestion.here:
            return ". (everything here)"

        return self.short(path)


@record
class Choices:
    """What can be chosen."""

    items: tuple[Suggestion, ...] = ()
    """Places, those of the working directory first, then single runs; both newest first."""
    runs: int = 0
    """About how many single runs there are, listed or not."""
    partial: bool = False
    """Whether there may be more of them."""

    def shown(self, text: str, paths: PathDisplay) -> list[Suggestion]:
        """The items that the filter ``text`` leaves."""

        def words(item: Suggestion) -> str:
            commands = [f"{h.pid} {h.command}" for h in item.writers]
            about = paths.short(item.path), item.title, item.origin
            return " ".join([*about, *item.formats, *commands])

        return [s for s in self.items if not text or words_match(words(s), text)]


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
            one = place._replace(path=path, runs=stored.get(path, 1), formats=(log.kind,))
            one = one._replace(modified=log.modified, partial=False, newest=(), writers=())
            yield one._replace(single=True, title="" if log.part else log.title)


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
        return [fixed(x) for x in _empty_lines(suggestions, paths, width)]
    listed = sum(s.runs for s in shown if s.single)
    count = total = f"{numbers.step(choices.runs)}{'+' if choices.partial else ''}"
    if choices.partial or listed < choices.runs:
        count = f"{numbers.step(listed)} of {total}"
    title = f"{count} run{'s' if count != '1' else ''}, newest first"
    return SuggestionRows(view, paths, now, width, roomy=height > 20).entries(shown, title)


def picker_header(width: int) -> Line:
    """The header: title, and how often rltui searches."""
    left: Line = [(" rltui", ACCENT_BOLD), ("  what to watch?", TITLE)]
    right = f"searches again every {numbers.duration(RESCAN_S)}"
    if line_width(left) + cell_width(right) + 3 < width:
        left = with_end(left, [(right, MUTED)], width - 1)
    return with_ground(fit_line(left, width), Token.RAISED)


def _empty_lines(suggestions: Suggestions | None, paths: PathDisplay, width: int) -> Block:
    """The lines in place of the list during the first search, or when nothing was found."""
    if suggestions is None:
        return [[], [("  looking for logs", MUTED)]]
    if suggestions.items:
        return [[], [("  nothing matches the filter", MUTED)]]
    directory = paths.directory
    place = f" in {paths.short(directory)}" if directory is not None else ""
    inner = min(width - 2, 100)
    looked = ", ".join(suggestions.searched) + ", and what your running processes write"
    lines: Block = [[], [("  No logs found", TITLE), (place, TITLE)], []]
    lines += paragraph(f"Looked in {looked}.", inner, MUTED, indent=2)
    every = numbers.duration(RESCAN_S)
    again = f"rltui searches again every {every}: a run appears here once it writes."
    lines += [[], *paragraph(again, inner, indent=2), []]

    for command, does in (
        ("rltui watch LOGDIR", "watch a directory that you name"),
        ("rltui demo", "watch a made-up run"),
    ):
        lines.append([("    ", TEXT), (pad(command, 22), STRONG), (does, MUTED)])

    return [fit_line(x, width) for x in lines]


def suggestions_text(suggestions: Suggestions, paths: PathDisplay, now: float) -> str:
    """The list as plain text, one line each, newest first; whole paths, to be copied."""
    if not suggestions.items:
        return f"no logs found in: {', '.join(suggestions.searched)}\n"
    rows = [
        (paths.short(o.path), _runs(o), _kinds(o), age_of(o, now), plain(_writer_spans(o)))
        for o in suggestions.items
    ]
    widths = [max(cell_width(row[i]) for row in rows) for i in range(4)]
    lines = [
        "  ".join([*starmap(pad, zip(row, widths, strict=False)), row[4]]).rstrip() for row in rows
    ]

    return "".join(f"  {line}\n" for line in lines)


class SuggestionRows:
    """The lines of the list at one width."""

    def __init__(
        self, view: View, paths: PathDisplay, now: float, width: int, *, roomy: bool
    ) -> None:
        self._view = view
        self._path_display = paths
        self._now = now
        self._width = width
        self._roomy = roomy
        self._wide = width >= 110
        self._left = 2 if self._wide else 1
        self._columns = Table({})

    def entries(self, shown: Sequence[Suggestion], runs_title: str) -> list[Entry[Path]]:
        """Places here, places elsewhere and single runs, each under its heading."""
        here = [o for o in shown if o.here and not o.single]
        elsewhere = [o for o in shown if not o.here and not o.single]
        single = [o for o in shown if o.single]
        display = self._path_display

        self._columns = self._divided(shown, runs_title if not here and not elsewhere else "")
        place = display.directory
        sections = (
            (f"In {display.short(place)}" if place is not None else "Here", here),
            ("Elsewhere" if here else "Found", elsewhere),
            (runs_title, single),
        )
        found: list[Entry[Path]] = []
        for title, suggestions in sections:
            if suggestions:
                found += self._section(title, suggestions, first=not found)

        return found

    def _divided(self, shown: Sequence[Suggestion], title: str) -> Table:
        """The width shared out among paths, with their heading ``title``, and formats; paths come
        first."""
        width = self._width
        writers = 24 if self._wide and any(o.writers for o in shown) else 0
        sizes = {"runs": 11 if width >= 46 else 0, "formats": 0, "age": 9 if width >= 34 else 0}
        rest = width - self._left - Table(sizes).width - 2 - writers
        names = [title, *map(self._path_display.name, shown)]
        path = longest(names) + 2
        if width >= 70:
            kinds = longest(map(_kinds, shown)) + 2
            sizes["formats"] = min(kinds, 38, max(14, rest - path)) - 1
            rest -= sizes["formats"] + 1
        sizes = {"path": max(8, min(path, rest) if self._wide else rest) - 1} | sizes
        rest = width - self._left - Table(sizes).width - 2
        return Table(sizes | {"writers": rest * bool(writers)})

    def _section(
        self, title: str, suggestions: list[Suggestion], *, first: bool
    ) -> list[Entry[Path]]:
        above: Block = [[]] if self._roomy or not first else []
        head: Entry[Path] = fixed(*above, self._head(title, heads=first))
        names = tuple(self._path_display.name(o) for o in suggestions)
        cut = distinct(names, self._columns["path"])
        return [head, *starmap(self._entry, zip(suggestions, cut, strict=True))]

    def _head(self, title: str, *, heads: bool) -> Line:
        """The title of a section and a rule; in the first one the column heads stand in it."""
        words = {"runs": "holds", "age": "newest", "writers": "written by"} if heads else {}
        columns = self._columns
        width = self._width - self._left - 1
        title = fit_middle(title, columns["path"] if heads else width - 2)
        line = heading(title, width, self._view, heads=columns.heads(words))
        return [(" " * self._left, TEXT), *line]

    def _entry(self, suggestion: Suggestion, name: str) -> Entry[Path]:
        writers = _writer_spans(suggestion)
        two = bool(writers) and not self._wide

        def draw(cursor: bool) -> Block:
            lines = [self._line(suggestion, name, cursor)]
            lines += [[("    ", TEXT), *writers]] if two else []
            cells = self._width - self._left - 1
            left = self._left
            lines = [fit_line(x, cells) for x in lines]
            return [with_margin(x, cells, left, cursor=cursor) for x in lines]

        return Entry(suggestion.path, draw, 1 + two)

    def _line(self, suggestion: Suggestion, name: str, here: bool) -> Line:
        glyphs = self._view.glyphs
        live = self._now - suggestion.modified < _LIVE_S
        glyph = glyphs.live if live else glyphs.stalled if suggestion.writers else glyphs.dot
        cells: Cells = {
            "path": (name, STRONG if live or here else TEXT),
            "runs": (_runs(suggestion), TEXT),
            "formats": (_kinds(suggestion), MUTED),
            "age": (age_of(suggestion, self._now), TEXT if live else MUTED),
            "writers": _writer_spans(suggestion),
        }
        return self._columns.line([(f"{glyph} ", style(Token.OK) if live else MUTED)], cells)


def _runs(suggestion: Suggestion) -> str:
    plus = "+" if suggestion.partial else ""
    return f"{numbers.step(suggestion.runs)}{plus} run{'s' if suggestion.runs != 1 or plus else ''}"


def _kinds(suggestion: Suggestion) -> str:
    return ", ".join(suggestion.formats)


def age_of(suggestion: Suggestion, now: float) -> str:
    """ "3 min ago": when the newest log of a suggestion was written."""
    return f"{numbers.age(now - suggestion.modified)} ago"


def _writer_spans(suggestion: Suggestion) -> Line:
    """The first program that writes a log, and how many more."""
    if not suggestion.writers:
        return []
    first = suggestion.writers[0]
    more = f"  and {len(suggestion.writers) - 1} more" if len(suggestion.writers) > 1 else ""
    return [(f"pid {first.pid} ", MUTED), (first.command, TEXT), (more, MUTED)]
