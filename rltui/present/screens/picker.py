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
from rltui.present.screens.suggestion_lines import Around, OfferRows
from rltui.present.screens.view import View
from rltui.sources.discovery.suggestions import Offer, Offers

#: Seconds between two searches.
RESCAN_S = 5.0
#: Lines below the list that it takes to show more of the offer at the cursor.
_LEAST_DETAIL = 6
_MOST_DETAIL = 10


def offers_shown(offers: Offers | None, text: str, around: Around) -> list[Offer]:
    """After the filter ``text``: those of the working directory first, each part newest first."""
    found = offers.offers if offers is not None else ()
    shown = [o for o in found if words_match(_hay(o, around), text)]
    return [o for o in shown if o.here] + [o for o in shown if not o.here]


def offer_entries(
    offers: Offers | None,
    shown: list[Offer],
    view: View,
    around: Around,
    now: float,
    width: int,
    height: int,
) -> list[Entry[Path]]:
    """The list, or what there is to say when it is empty. ``offers`` is None until the first
    search is over."""
    if not shown:
        return [fixed(x) for x in _nothing(offers, view, around, width)]
    return OfferRows(view, around, now, width, roomy=height > 20).entries(shown)


def offer_detail(
    offer: Offer | None, view: View, around: Around, now: float, width: int, height: int
) -> list[Line]:
    """Under the list: the newest logs of the offer at the cursor, and why it is offered."""
    if offer is None or height < _LEAST_DETAIL:
        return []
    return _detail(offer, view, around, now, width, height)


def _hay(offer: Offer, around: Around) -> str:
    commands = [f"{h.pid} {h.command}" for h in offer.holders]
    return " ".join([around.short(offer.path), offer.origin, *offer.formats, *commands])


def picker_header(view: View, width: int) -> Line:
    """Line 1."""
    left: Line = [(" rltui", style(Token.ACCENT, bold=True)), ("  what to watch?", TITLE)]
    right = f"looks again every {RESCAN_S:.0f} s"
    gap = width - line_width(left) - cell_width(right) - 1
    if gap > 2:
        left += [(" " * gap, TEXT), (right, MUTED)]
    return with_ground(fit_line(left, width, ellipsis=view.glyphs.ellipsis), Token.RAISED)


def _nothing(offers: Offers | None, view: View, around: Around, width: int) -> list[Line]:
    """While the first search runs, or when nothing was found."""
    if offers is None:
        return [[], [("  looking for logs", MUTED)]]
    if offers.offers:
        return [[], [("  nothing matches the filter", MUTED)]]
    directory = around.directory
    place = f" in {around.short(directory)}" if directory is not None else ""
    inner = min(width - 2, 100)
    looked = ", ".join(offers.looked) + ", and what your running processes write"
    lines: list[Line] = [[], [("  No logs found", TITLE), (place, TITLE)], []]
    lines += paragraph(f"Looked in {looked}.", inner, MUTED, indent=2)
    again = f"rltui keeps looking, every {RESCAN_S:.0f} s: a run appears here once it writes."
    lines += [[], *paragraph(again, inner, indent=2), []]
    for command, does in (
        ("rltui watch LOGDIR", "watch a directory that you name"),
        ("rltui demo", "watch a made-up run"),
    ):
        lines.append([("    ", TEXT), (pad(command, 22), STRONG), (does, MUTED)])
    return [fit_line(x, width, ellipsis=view.glyphs.ellipsis) for x in lines]


def _detail(
    offer: Offer, view: View, around: Around, now: float, width: int, height: int
) -> list[Line]:
    """The newest logs of the offer at the cursor, and why it is offered."""
    left = 2 if width >= 110 else 1
    inner = width - left - 1
    title = fit_middle(around.short(offer.path), inner - 24, ellipsis=view.glyphs.ellipsis)
    lines: list[Line] = [[], *indented([heading(title, inner, view, offer.origin)], left)]
    names = [(_below(log.path, offer.path), log.modified) for log in offer.newest]
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
