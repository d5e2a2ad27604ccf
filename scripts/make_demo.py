"""Records ``rltui demo`` in a pseudo terminal and draws the moving picture of the README.

    python scripts/make_demo.py [FILE]      default: docs/demo.gif

Needs ``pip install -e '.[dev,pictures]'`` and the font DejaVu Sans Mono. Takes fifteen seconds, and
as long again to draw. Values are the same each time; how many steps are written meanwhile is not.
"""

from __future__ import annotations

import fcntl
import html
import io
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pyte
from make_pictures import ROOT, as_png

COLUMNS, ROWS = 100, 30
#: Seconds from the start, and the keys pressed then.
KEYS = (
    (4.0, "3"),
    (5.0, "\x1b[B"),
    (5.5, "\x1b[B"),
    (6.5, "\r"),
    (9.0, "\x1b"),
    (9.8, "v"),
    (12.0, "9"),
    (15.0, "q"),
)
#: Seconds between two frames; how long the last one stays.
FRAME_S = 0.25
LAST_S = 2.5
_FILL = re.compile(r'fill="#([0-9a-f]{6})"')
#: Pixels of a cell and of its text; the advance of DejaVu Sans Mono is 0.602 of its size.
SIZE = 14
WIDE, HIGH = 0.602 * SIZE, 17
MARGIN = 8
INK, PAPER = "#d8dee9", "#0d1117"
#: Shares of its colour that the edge of a letter has.
EDGES = (1.0, 0.75, 0.5, 0.25)


class Cell(NamedTuple):
    """How a character is drawn."""

    ink: str
    paper: str
    bold: bool


def record() -> Iterator[Any]:
    """The screen each time a frame is due."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    with tempfile.TemporaryDirectory(prefix="rltui-demo-") as home:
        environment = {
            "HOME": home,
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }
        command = [sys.executable, "-m", "rltui", "demo"]
        ours, theirs = pty.openpty()
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        child = subprocess.Popen(
            command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        keys = list(KEYS)
        began = time.monotonic()
        due = FRAME_S
        while keys:
            passed = time.monotonic() - began
            if passed >= keys[0][0]:
                os.write(ours, keys.pop(0)[1].encode())
            if select.select([ours], [], [], FRAME_S / 5)[0]:
                stream.feed(os.read(ours, 1 << 16))
            if passed >= due:
                due += FRAME_S
                yield screen
        child.wait()
        os.close(ours)


def drawn(screen: Any) -> str:
    """The screen as SVG: each character at a place of its own, for fonts differ in width."""
    width = COLUMNS * WIDE + 2 * MARGIN
    height = ROWS * HIGH + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}">',
        f'<rect width="100%" height="100%" rx="6" fill="{PAPER}"/>',
        f'<g font-family="DejaVu Sans Mono" font-size="{SIZE}" xml:space="preserve">',
    ]
    for row in range(ROWS):
        cells = [(column, screen.buffer[row][column]) for column in range(COLUMNS)]
        for style, found in groupby(cells, key=lambda cell: _style(cell[1])):
            run = list(found)
            parts += _run(row, run[0][0], [cell.data for _, cell in run], style)
    return "\n".join([*parts, "</g></svg>"])


def _style(cell: Any) -> Cell:
    ink, paper = _colour(cell.fg, INK), _colour(cell.bg, PAPER)
    return Cell(paper, ink, cell.bold) if cell.reverse else Cell(ink, paper, cell.bold)


def _colour(name: str, default: str) -> str:
    """Of the 24-bit colours that the program writes."""
    return default if name == "default" else f"#{name}"


def _run(row: int, column: int, characters: list[str], style: Cell) -> Iterator[str]:
    top = MARGIN + row * HIGH
    if style.paper != PAPER:
        left = MARGIN + column * WIDE
        wide = len(characters) * WIDE
        place = f'x="{left:.2f}" y="{top}" width="{wide:.2f}" height="{HIGH}"'
        yield f'<rect {place} fill="{style.paper}"/>'
    if "".join(characters).strip():
        places = " ".join(f"{MARGIN + (column + n) * WIDE:.2f}" for n in range(len(characters)))
        weight = ' font-weight="bold"' if style.bold else ""
        text = html.escape("".join(c or " " for c in characters))
        yield f'<text x="{places}" y="{top + 13}" fill="{style.ink}"{weight}>{text}</text>'


def palette(pictures: Iterable[str]) -> list[int]:
    """Red, green and blue of each colour of some pictures, and of the edges of letters."""
    background = _channels(PAPER)
    inks = dict.fromkeys(name for svg in pictures for name in _FILL.findall(svg))
    found = {
        tuple(round(share * c + (1 - share) * b) for c, b in zip(ink, background, strict=True))
        for ink in map(_channels, inks)
        for share in EDGES
    }
    return [channel for colour in sorted(found)[:256] for channel in colour]


def _channels(name: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(name.removeprefix("#")))


def main() -> int:
    """Record, draw, name what was written."""
    from PIL import Image

    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "demo.gif"
    # equal screens in a row are one frame that stays longer
    shown = [(svg, len(list(same))) for svg, same in groupby(map(drawn, record()))]
    images = [Image.open(io.BytesIO(as_png(svg))).convert("RGB") for svg, _ in shown]
    colours = Image.new("P", (1, 1))
    colours.putpalette(palette(svg for svg, _ in shown))
    frames = [image.quantize(palette=colours, dither=Image.Dither.NONE) for image in images]
    times = [round(1000 * FRAME_S * count) for _, count in shown]
    times[-1] = round(1000 * LAST_S)
    frames[0].save(target, save_all=True, append_images=frames[1:], duration=times, loop=0)
    print(f"{target}: {len(frames)} frames, {target.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
