"""The palette: all that can be gone to or done from a screen, in one list that is searched."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical

from rltui.core.level import Level
from rltui.core.text import cell_width, fit_middle, pad
from rltui.draw.line import (
    LEVEL_TOKEN,
    MUTED,
    STRONG,
    TITLE,
    Entry,
    Line,
    fixed,
    row_entry,
    style,
)
from rltui.tui.overlay import Overlay, RaisedList
from rltui.tui.shell import Offer
from rltui.tui.widgets.status import Status

#: Kinds, in the order in which equally good matches are listed, and without anything typed.
KINDS = ("metric", "finding", "setting", "command", "run")
_UNASKED = ("finding", "command", "metric", "setting", "run")
#: Rows, cells of the box, and cells of a kind.
_MOST = 200
_WIDEST = 100
_KIND = 9
#: With fewer matches letters may be left out.
_FEW = 5
#: Of more matches those that begin with the text are ranked, and the first of the others.
_MANY = 1000
_FAR = 100


class Search:
    """Some offers, of which the likeliest are found."""

    def __init__(self, offers: Sequence[Offer]) -> None:
        self.offers = offers
        self._hays = [f"{o.title}\n{o.hint}".lower() for o in offers]

    def found(self, text: str) -> list[Offer]:
        """The offers that hold every word of ``text``, the likeliest first: whole titles, then
        their beginnings, words in them, parts of words; when these are few, also those with the
        letters in this order."""
        words = text.lower().split()
        offers = self.offers
        hays = self._hays
        if not words:
            return sorted(offers, key=lambda o: _UNASKED.index(o.kind))[:_MOST]
        text = " ".join(words)
        places = [n for n, hay in enumerate(hays) if all(w in hay for w in words)]
        if len(places) > _MANY:
            places = sorted(places, key=lambda n: not hays[n].startswith(text))[:_MANY]
        costs = {n: _cost(text, words, hays[n]) for n in places}
        if len(places) < _FEW:
            letters = "".join(words)
            for n, hay in enumerate(hays):
                if n not in costs and (span := _span(letters, hay.partition("\n")[0])):
                    costs[n] = _FAR + span

        def rank(n: int) -> tuple[int, int, int]:
            return costs[n], KINDS.index(offers[n].kind), len(offers[n].title)

        return [offers[n] for n in sorted(costs, key=rank)[:_MOST]]


def _span(letters: str, title: str) -> int:
    """The length of what holds the letters in their order, from the first on; 0 if nothing does."""
    first = at = title.find(letters[:1])
    for letter in letters[1:]:
        at = title.find(letter, at + 1) if at >= 0 else -1
    return at - first + 1 if at >= 0 else 0


def _cost(text: str, words: Sequence[str], hay: str) -> int:
    """How unlikely an offer is meant that holds all words."""
    title = hay.partition("\n")[0]
    if title.startswith(text):
        return 0 if title == text else 1
    cost = 2
    for word in words:
        within = title if word in title else hay
        at = within.find(word)
        begins = not (at and within[at - 1].isalnum())
        whole = begins and not within[at + len(word) : at + len(word) + 1].isalnum()
        cost += (within is hay) + (0 if whole else 1 if begins else 4)
    return cost


class PaletteScreen(Overlay):
    """Takes text, and shows what it finds. What is chosen is done after it has closed."""

    title_words = "the palette"
    DEFAULT_CSS = "PaletteScreen #box > Status { height: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self.begin(())

    def begin(self, offers: Sequence[Offer], text: str = "") -> bool:
        """Choose what it opens with; returns whether anything is found."""
        self._search = Search(offers)
        self._asked = text
        self._found = self._search.found(text)
        return bool(self._found)

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Status(self.footer, lambda: f"{len(self._found)} of {len(self._search.offers)}")
            yield RaisedList(id="text")

    def on_mount(self) -> None:
        """Before the base draws it."""
        self.status.filter = self._asked
        self.items.chosen = None

    def on_screen_resume(self) -> None:
        """Take text at once."""
        self.on_mount()
        self.call_later(self.status.edit, "search")

    def update(self) -> None:
        width, height = self.size
        text = self.status.filter
        if self._asked != text:
            self._asked = text
            self.items.chosen = None
            self._found = self._search.found(text)
        box, cells = self.query_one("#box"), min(width - 2, _WIDEST)
        box.styles.width = cells
        box.styles.margin = (1 if height < 30 else 3, 0, 0, 0)
        self.items.styles.height = max(1, min(len(self._found), height - 6))
        lines = [partial(self._line, offer, cells - 4) for offer in self._found]
        entries: list[Entry[Any]] = [
            row_entry(n, line, cells - 4, 2) for n, line in enumerate(lines)
        ]
        self.items.show(entries or [fixed([("  no match", MUTED)])])

    def _line(self, offer: Offer, cells: int, cursor: bool) -> Line:
        """Kind, badge, title, and at the right what else is known."""
        glyphs = self.view.glyphs
        badge = ("  ", MUTED)
        if offer.level is not None:
            level = offer.level()
            badge = (f"{glyphs.badge(level)} ", style(LEVEL_TOKEN[level], bold=level > Level.OK))
        room = cells - _KIND - 2
        title = fit_middle(offer.title, room)
        room -= cell_width(title) + 2
        hint = pad(fit_middle(offer.hint, room), room, right=True) if room > 8 else ""
        look = TITLE if cursor else STRONG
        return [(pad(offer.kind, _KIND), MUTED), badge, (f"{title}  ", look), (hint, MUTED)]

    def on_status_entered(self, event: Status.Entered) -> None:
        event.stop()
        event.prevent_default()  # it is no command
        self.action_enter()

    def action_enter(self) -> None:
        """Close, then do what is at the cursor."""
        self.dismiss()
        if self.items.cursor is not None:
            self.shell.call_later(self._found[self.items.cursor].call)

    action_back = Overlay.action_close
