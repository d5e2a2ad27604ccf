"""Themes: the one place that knows colours.

A theme is a YAML document::

    name: mine
    dark: true                      # the shipped theme that supplies what is missing
    colours:
      accent: "#ff9ecb"             # truecolour; the 256-colour index is the nearest one
      bad: ["#ff7a70", 210, bright red]   # truecolour, 256-colour index, ANSI name

A colour may be ``default``: the terminal's own. A token that is missing is derived from its
source if the theme gives that (``badfill`` from ``bad``), else taken from ``dark`` or
``light``. An ANSI name is one of the 16 colours, ``default``, ``none`` or only attributes
(``bold``, ``dim``, ``reverse``); a colour may carry attributes: ``white dim``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from rltui.core.errors import RltuiError, UsageError
from rltui.core.installation import shipped
from rltui.core.yaml_document import Node, nearest, read_document, read_each
from rltui.draw.line import RUN_BANDS, Token

DEFAULT = "default"
ANSI_COLOURS = tuple(
    prefix + name
    for prefix in ("", "bright ")
    for name in ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
)
_ATTRIBUTES = frozenset({"bold", "dim", "reverse"})
_HEX = re.compile(r"#[0-9a-fA-F]{6}\Z")
_BASES = {True: "dark", False: "light"}
_ENDINGS = (".yaml", ".yml")

#: How a token that is missing is mixed, when a theme gives its source: token, source, other, share.
_MIXED = """
raised bg text 0.05
sel bg accent 0.16
line bg text 0.25
muted text bg 0.35
strong text text 0
watchfill watch bg 0.22
badfill bad bg 0.22
spark series bg 0.3
band series bg 0.6
tint ok bg 0.9
"""
_DERIVED: dict[Token, tuple[Token, Token, float]] = {
    band: (run, Token.BG, 0.55) for run, band in RUN_BANDS.items()
}
for row in _MIXED.strip().splitlines():
    mixed, source, other, share = row.split()
    _DERIVED[Token(mixed)] = Token(source), Token(other), float(share)
_Colour = tuple[str, int, str]
_CUBE = (0, 95, 135, 175, 215, 255)
#: What the 16 names usually look like, to find the nearest one.
_ANSI = """
#000000 #cd3131 #0dbc79 #e5e510 #2472c8 #bc3fbc #11a8cd #e5e5e5
#666666 #f14c4c #23d18b #f5f543 #3b8eea #d670d6 #29b8db #ffffff
"""


class Theme(NamedTuple):
    """Every token in truecolour, in 256 colours and in the terminal's own 16."""

    name: str
    dark: bool
    colours: Mapping[Token, str]
    """``#rrggbb`` or ``default``."""
    colours256: Mapping[Token, int]
    """Index of the 256-colour palette; -1 is the terminal's default."""
    ansi16: Mapping[Token, str]
    ansi: bool = False
    """Use the names of ``ansi16`` even where there is truecolour: the terminal's own palette."""
    path: Path | None = None


def is_colour(text: str) -> bool:
    """Whether this is ``#rrggbb``."""
    return _HEX.match(text) is not None


def completed(
    name: str, dark: bool, colours: Mapping[Token, str], *, terminal: bool = False
) -> Theme:
    """A theme of a few colours; the rest is derived, or taken from ours.

    With ``terminal`` ours is the one that leaves the terminal its own colours.
    """
    given = {t: (c, nearest_256(c), _base_ansi(c, t)) for t, c in colours.items()}
    base = _read(shipped("themes", "terminal.yaml")) if terminal else _base(dark)
    _fill(given, [t for t in Token if t not in given], base)
    return _theme(name, dark, given)


def _theme(
    name: str,
    dark: bool,
    given: Mapping[Token, _Colour],
    ansi: bool = False,
    path: Path | None = None,
) -> Theme:
    colours, colours256, ansi16 = ({t: given[t][n] for t in Token} for n in range(3))
    return Theme(name, dark, colours, colours256, ansi16, ansi, path)  # type: ignore[arg-type]


def load_theme(name_or_path: str | Path, extra_dirs: Iterable[Path] = ()) -> Theme:
    """The theme of this name, or in this file.

    A name is looked for in ``extra_dirs`` first, then among the shipped ones. Raises DocumentError
    for an invalid file and UsageError for an unknown name.
    """
    word = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in word or word.endswith(_ENDINGS):
        return _read(Path(word).expanduser())
    for path in _files(extra_dirs):
        if path.stem == word:
            return _read(path)
    known = sorted({p.stem for p in _files(extra_dirs)})
    hint = nearest(word, known)
    tail = f"; did you mean {hint!r}?" if hint else ""
    raise UsageError(f"no theme {word!r}; there are {', '.join(known)}{tail}")


def list_themes(extra_dirs: Iterable[Path] = ()) -> list[Theme]:
    """All themes by name, the user's before a shipped one of the same name; without broken ones."""
    loaded: dict[str, Theme] = {}
    for path in _files(extra_dirs):
        if path.stem not in loaded:
            with suppress(RltuiError):
                loaded[path.stem] = _read(path)
    return sorted(loaded.values(), key=lambda t: t.name)


def _files(extra_dirs: Iterable[Path]) -> list[Path]:
    out: list[Path] = []
    for folder in (*extra_dirs, shipped("themes")):
        with suppress(OSError):
            out += sorted(p for p in Path(folder).iterdir() if p.suffix in _ENDINGS)
    return out


@lru_cache(maxsize=2)
def _base(dark: bool) -> Theme:
    return _read(shipped("themes", f"{_BASES[dark]}.yaml"))


def _read(path: Path) -> Theme:
    table = read_document(path).table()
    name = table.read("name", Node.text, path.stem)
    dark = table.read("dark", Node.boolean, True)
    ansi = table.read("ansi", Node.boolean, False)
    colours = table.get("colours")
    table.finish()

    words = [t.value for t in Token]
    named = {} if colours is None else colours.table().named(words, "unknown colour")
    given = read_each(
        ((Token(word), node) for word, node in named.items()),
        lambda token, node: _entry(node, token),
    )

    missing = [t for t in Token if t not in given]
    if missing and path.resolve() == shipped("themes", f"{_BASES[dark]}.yaml").resolve():
        table.node.fail(f"colour {missing[0].value!r} is missing")
    if missing:
        _fill(given, missing, _base(dark))
    return _theme(name, dark, given, ansi, path)


def _entry(node: Node, token: Token) -> _Colour:
    """A colour: text, or a list of truecolour, 256-colour index and ANSI name."""
    parts = node.items() if isinstance(node.value, list) else [node]
    if not 1 <= len(parts) <= 3:
        node.fail("expected a colour, or [colour, 256-colour index, ANSI name]")
    colour = parts[0].text()
    if colour != DEFAULT and not _HEX.match(colour):
        parts[0].fail(f"expected a colour like '#6cb6ff' or 'default', found {colour!r}")
    index = parts[1].integer() if len(parts) > 1 else nearest_256(colour)
    if not -1 <= index <= 255:
        parts[1].fail(f"expected an index from 0 to 255, found {index}")
    ansi = parts[2].text() if len(parts) > 2 else _base_ansi(colour, token)
    rest = [w for w in ansi.split() if w not in _ATTRIBUTES]
    if not ansi.split() or (rest and " ".join(rest) not in (*ANSI_COLOURS, DEFAULT, "none")):
        options = (*ANSI_COLOURS, DEFAULT, "none", *sorted(_ATTRIBUTES))
        parts[2].fail(f"unknown ANSI colour {ansi!r}", hint=nearest(ansi, options))

    return colour.lower(), index, ansi


def _base_ansi(colour: str, token: Token) -> str:
    """The name used when a theme gives none: backgrounds and text stay the terminal's own."""
    if colour == DEFAULT or token in (Token.BG, Token.RAISED, Token.TEXT):
        return DEFAULT
    fixed = {Token.STRONG: "bold", Token.SEL: "reverse", Token.TINT: "none", Token.MUTED: "dim"}
    want = rgb(colour)
    closest = min(range(16), key=lambda i: _distance(_ANSI_RGB[i], want))
    return fixed.get(token) or ANSI_COLOURS[closest]


def _fill(given: dict[Token, _Colour], missing: list[Token], base: Theme) -> None:
    """Add the missing tokens: derived where the theme gives their source, else from the base."""
    own = set(given)
    for token in missing:
        given[token] = base.colours[token], base.colours256[token], base.ansi16[token]
    for token in missing:
        source, other, share = _DERIVED.get(token, (token, token, 0.0))
        first = given[source][0]
        second = given[other][0]
        if source in own and DEFAULT not in (first, second):
            colour = mix(first, second, share)
            given[token] = colour, nearest_256(colour), base.ansi16[token]


def rgb(colour: str) -> tuple[int, int, int]:
    """The channels of ``#rrggbb``, 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


_ANSI_RGB = [rgb(colour) for colour in _ANSI.split()]


def mix(first: str, second: str, share: float) -> str:
    """``first`` with ``share`` (0 to 1) of ``second`` in it."""
    pairs = zip(rgb(first), rgb(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


@lru_cache(maxsize=512)
def nearest_256(colour: str) -> int:
    """Index (16 to 255) of the nearest colour of the 256-colour palette; -1 for the default."""
    if colour == DEFAULT:
        return -1
    want = rgb(colour)
    cube = [min(range(6), key=lambda i, c=c: abs(_CUBE[i] - c)) for c in want]  # type: ignore[misc]
    grey = min(23, max(0, round((sum(want) / 3 - 8) / 10)))
    options = {
        16 + 36 * cube[0] + 6 * cube[1] + cube[2]: [_CUBE[i] for i in cube],
        232 + grey: [8 + 10 * grey] * 3,
    }
    return min(options, key=lambda i: _distance(options[i], want))


def _distance(first: Iterable[int], second: Iterable[int]) -> int:
    return sum((a - b) ** 2 for a, b in zip(first, second, strict=True))
