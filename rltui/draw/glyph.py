"""The glyphs of a screen, in a unicode and an ascii set. Every glyph is one cell."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from functools import lru_cache

from rltui.core.level import Level, RunState
from rltui.core.record import entity
from rltui.core.text import cell_width

MARKERS = ("braille", "block", "ascii")
#: Typographic characters that rltui writes, and their replacements in ascii.
_ASCII: dict[str, str] = dict(
    re.findall(
        r"(\S) (\S+)",
        r"""
        → ->  ← <-  ↑ ^  ↓ v  ▌ >  ◂ <  ▸ >  ⇒ =>  ↔ <>  ≤ <=  ≥ >=  ± +-  ≠ !=  ∞ inf  √ sqrt  × x
        ÷ /  ≈ ~  − -  – -  — -  ‐ -  ‑ -  … ~  · .  • *  “ "  ” "  „ "  ‘ '  ’ '  « "  » "  ✔ +
        ✖ X  △ ~  ▲ !  ▼ v  ● *  ○ o  ■ #  □ #  ─ -  ━ =  ┈ -  ╌ -  ┄ -  │ |  ┃ |  ┊ :  ┆ :  ┤ +
        ├ +  ┬ +  ┴ +  ┼ +  └ +  ┘ +  ┌ +  ┐ +  ▁ _  ▂ .  ▃ -  ▄ =  ▅ +  ▆ *  ▇ #  █ #  ▀ ^  ░ .
        ▒ :  ▓ #  µ u  μ u  τ t  γ g  λ l  Δ d  α alpha  β beta  ε eps  θ theta  π pi  ρ rho
        σ sigma  χ chi
        """,
    )
)


@entity
class GlyphSet:
    """The glyph for each meaning. Compare sets by identity; get one from :func:`glyph_set`."""

    marker: str = "braille"
    """How charts draw their dots: braille, block or ascii."""
    colours: bool = True
    """False where nothing has a colour: areas are filled with letters."""

    # Verdicts and states
    unknown: str = "·"
    ok: str = "✔"
    unsure: str = "△"
    watch: str = "▲"
    bad: str = "✖"
    over: str = "○"
    """Badge of a finding that is resolved (muted)."""
    live: str = "●"
    stalled: str = "○"
    finished: str = "■"
    stopped: str = "□"
    crashed: str = "✖"

    # Rows
    unchanged: str = "╌"
    """Sparkline of a value that never changed, and the duration of a NaN."""
    nan: str = "N"
    ramp: str = "▁▂▃▄▅▆▇"

    # Rules and axes
    rule: str = "─"
    heavy: str = "━"
    vertical: str = "│"
    tick_left: str = "┤"
    tick_down: str = "┬"
    tick_up: str = "┴"
    corner: str = "└"

    # Charts
    newest: str = "◂"
    above: str = "^"
    below: str = "v"
    limit: str = "┈"
    restart_line: str = "┊"
    bar: str = "━"
    """Body of the bar of a finding."""
    bar_rest: str = "━"
    """Rest of a progress bar; the same glyph as its done part, in another colour."""

    # Typography
    dot: str = "·"

    @property
    def ascii(self) -> bool:
        """True when nothing beyond ascii may be printed."""
        return self.marker == "ascii"

    @property
    def lettered(self) -> bool:
        """Whether letters distinguish areas."""
        return self.ascii or not self.colours

    def badge(self, level: Level) -> str:
        """The badge of a level."""
        return (self.unknown, self.ok, self.unsure, self.watch, self.bad)[level]

    def state(self, state: RunState) -> str:
        """The glyph of a run state."""
        return str(getattr(self, state.name.lower()))

    def text(self, text: str) -> str:
        """``text`` as this set may print it: itself, or :func:`ascii_text` of it."""
        return ascii_text(text) if self.ascii else text


BRAILLE = GlyphSet()
BLOCK = replace(BRAILLE, marker="block")
ASCII = GlyphSet(
    marker="ascii", unknown="?", ok="+", unsure="~", watch="!", bad="X", over="o", live="*",
    stalled="o", finished="#", stopped="-", crashed="X",
    unchanged="-", ramp="_.-=+*#", rule="-", heavy="=", vertical="|", tick_left="+",
    tick_down="+", tick_up="+", corner="+", newest="<", limit="-", restart_line=":", bar="=",
    bar_rest=".", dot=".",
)  # fmt: skip
_SETS = {"braille": BRAILLE, "block": BLOCK, "ascii": ASCII}


@lru_cache(maxsize=4096)
def ascii_text(text: str) -> str:
    """``text`` in ascii alone: typography mapped, accents dropped, ``?`` per cell of the rest.

    The width may change (``≤`` becomes ``<=``): map first, then fit.
    """
    if text.isascii():
        return text
    # between two values: an arrow with a head of ">" reads as a comparison
    text = text.replace(" → ", " to ")
    out = []
    for char in text:
        plain = char if char.isascii() else _ASCII.get(char)
        if plain is None and "⠀" <= char <= "⣿":
            plain = " " if char == "⠀" else "*"
        if plain is None:
            plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
            plain = plain or "?" * cell_width(char)
        out.append(plain)
    return "".join(out)


@lru_cache(maxsize=8)
def glyph_set(marker: str, *, colours: bool = True) -> GlyphSet:
    """The set for a marker: ``braille``, ``block`` or ``ascii``, on a terminal with colours or
    without. Raises ValueError for another marker."""
    if marker not in _SETS:
        raise ValueError(f"unknown marker {marker!r}; one of {', '.join(MARKERS)}")
    return _SETS[marker] if colours else replace(_SETS[marker], colours=False)
