"""Offers of logs as rows and as text: paths, runs, formats, ages, writers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rltui.core.text import cell_width, clean, fit_middle, pad
from rltui.present.kit import numbers
from rltui.present.kit.line import (
    MUTED,
    RULE,
    STRONG,
    TEXT,
    TITLE,
    Line,
    Token,
    fit_line,
    plain,
    style,
)
from rltui.present.screens.entries import Entry, fixed, with_margin
from rltui.present.screens.view import View
from rltui.sources.discovery.suggestions import Offer, Offers

#: A log that changed within so many seconds is being written.
_LIVE_S = 60.0


@dataclass(frozen=True, slots=True)
class Around:
    """What paths are shortened by."""

    directory: Path | None
    """The working directory; None when it was deleted."""
    home: Path | None

    def short(self, path: Path) -> str:
        """With ``~`` for the home directory, cleaned."""
        if self.home is not None and self.home != Path("/") and path.is_relative_to(self.home):
            rest = path.relative_to(self.home)
            return clean("~" if rest == Path() else f"~/{rest}")
        return clean(str(path))

    def name(self, offer: Offer) -> str:
        """Relative to the working directory what is in it."""
        if offer.here and self.directory is not None and offer.path != self.directory:
            if offer.path.is_relative_to(self.directory):
                return clean(str(offer.path.relative_to(self.directory)))
        elif offer.here:
            return ". (everything here)"
        return self.short(offer.path)


def offers_text(offers: Offers, around: Around, now: float) -> str:
    """The list as plain text, one line each, newest first; whole paths, to be copied."""
    if not offers.offers:
        return f"no logs found in: {', '.join(offers.looked)}\n"
    rows = [
        (around.short(o.path), _runs(o), _kinds(o), age_of(o, now), _writers(o))
        for o in offers.offers
    ]
    widths = [max(cell_width(row[i]) for row in rows) for i in range(4)]
    lines = [
        "  ".join([*(pad(x, w) for x, w in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in rows
    ]
    return "".join(f"  {line}\n" for line in lines)


class OfferRows:
    """The lines of the list at one width."""

    def __init__(self, view: View, around: Around, now: float, width: int, *, roomy: bool) -> None:
        self._view = view
        self._around = around
        self._now = now
        self._width = width
        self._roomy = roomy
        self._left = 2 if width >= 110 else 1
        self._runs = 11 if width >= 46 else 0
        self._age = 9 if width >= 34 else 0
        self._wide = width >= 110
        self._path = self._formats = 0

    def entries(self, shown: Sequence[Offer]) -> list[Entry[Path]]:
        """What is here, then what is elsewhere, each under its heading."""
        self._divide(shown)
        here = [o for o in shown if o.here]
        elsewhere = [o for o in shown if not o.here]
        found: list[Entry[Path]] = []
        if here:
            place = self._around.directory
            title = f"In {self._around.short(place)}" if place is not None else "Here"
            found += self._section(title, here, first=True)
        if elsewhere:
            found += self._section("Elsewhere" if here else "Found", elsewhere, first=not here)
        return found

    def _divide(self, shown: Sequence[Offer]) -> None:
        """Give paths and formats the cells that they need, and paths the first claim."""
        writers = 24 if self._wide else 0
        rest = self._width - self._left - 3 - self._runs - self._age - writers
        path = max(cell_width(self._around.name(o)) for o in shown) + 2
        kinds = max(cell_width(_kinds(o)) for o in shown) + 2
        if self._width >= 70:
            self._formats = min(kinds, 38, max(14, rest - path))
        self._path = min(path, rest - self._formats) if self._wide else rest - self._formats
        self._path = max(8, self._path)

    def _section(self, title: str, offers: list[Offer], *, first: bool) -> list[Entry[Path]]:
        above: list[Line] = [[]] if self._roomy or not first else []
        head: Entry[Path] = fixed(*above, self._head(title, heads=first))
        return [head, *(self._entry(o) for o in offers)]

    def _head(self, title: str, *, heads: bool) -> Line:
        """The title of a section and a rule; in the first one the column heads stand in it."""
        columns = [(title, self._path + 2)]
        if heads:
            columns += [("holds", self._runs + self._formats), ("newest", self._age)]
            columns += [("written by", self._width)] if self._wide else []
        line: Line = []
        for name, cells in columns if heads else [(title, self._width)]:
            if cells:
                name = fit_middle(name, cells - 2, ellipsis=self._view.glyphs.ellipsis)
                line.append((f"{name} ", MUTED if line else TITLE))
                line.append((self._rule(cells - cell_width(name) - 2), RULE))
        margin = (" " * self._left, TEXT)
        return [margin, *fit_line(line, self._width - self._left - 1, ellipsis="")]

    def _rule(self, cells: int) -> str:
        return self._view.glyphs.rule * max(0, cells) + " "

    def _entry(self, offer: Offer) -> Entry[Path]:
        writers = _writer_spans(offer)
        two = bool(writers) and not self._wide

        def draw(cursor: bool) -> list[Line]:
            line = self._line(offer, cursor)
            lines = [[*line, *writers]] if self._wide else [line]
            lines += [[("    ", TEXT), *writers]] if two else []
            cells, left = self._width - self._left - 1, self._left
            lines = [fit_line(x, cells, ellipsis=self._view.glyphs.ellipsis) for x in lines]
            return [with_margin(x, cells, left, self._view, cursor=cursor) for x in lines]

        return Entry(offer.path, draw, 1 + two)

    def _line(self, offer: Offer, here: bool) -> Line:
        glyphs = self._view.glyphs
        live = self._now - offer.modified < _LIVE_S
        glyph = glyphs.live if live else glyphs.stalled if offer.holders else glyphs.dot
        name = fit_middle(self._around.name(offer), self._path - 1, ellipsis=glyphs.ellipsis)
        line: Line = [
            (f"{glyph} ", style(Token.OK) if live else MUTED),
            (pad(name, self._path), STRONG if live or here else TEXT),
        ]
        if self._runs:
            line.append((pad(_runs(offer), self._runs), TEXT))
        if self._formats:
            kinds = pad(_kinds(offer), self._formats - 2, ellipsis=glyphs.ellipsis)
            line.append((kinds + "  ", MUTED))
        if self._age:
            line.append((pad(age_of(offer, self._now), self._age), TEXT if live else MUTED))
        return line


def _runs(offer: Offer) -> str:
    plus = "+" if offer.partial else ""
    return f"{offer.runs:,}{plus} run{'s' if offer.runs != 1 or plus else ''}"


def _kinds(offer: Offer) -> str:
    return ", ".join(offer.formats)


def age_of(offer: Offer, now: float) -> str:
    return f"{numbers.age(now - offer.modified)} ago"


def _writer_spans(offer: Offer) -> Line:
    if not offer.holders:
        return []
    first = offer.holders[0]
    more = f"  and {len(offer.holders) - 1} more" if len(offer.holders) > 1 else ""
    return [(f"pid {first.pid} ", MUTED), (first.command, TEXT), (more, MUTED)]


def _writers(offer: Offer) -> str:
    return plain(_writer_spans(offer))
