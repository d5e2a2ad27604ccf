"""Pictures in the pixels of the terminal, where it says that it can show them: by the graphics
protocol of Kitty, or as Sixel. Elsewhere, inside tmux for one, nobody answers and half blocks stay.

What is sent is made of decoded pixels: no byte of an image of a log reaches the terminal. The half
blocks lie below, and come to light where a terminal lets go of the picture.
"""

from __future__ import annotations

import base64
import codecs
import os
import re
import struct
from collections.abc import Iterable, Mapping
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from textual.geometry import Region
from textual.message import Message
from textual.widget import Widget

try:
    import fcntl
    import termios

    from textual.drivers import linux_driver
except ImportError:  # Windows
    linux_driver = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from PIL.Image import Image

#: Our name for the one image, which no other program is likely to use.
_ID = 0x726C74
#: Kitty's query, pixels of a cell, and the attributes, which every terminal answers.
ASK = f"\x1b_Gi={_ID},s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[16t\x1b[c"
_ANSWER = re.compile(
    rf"\x1b_Gi={_ID};(?P<kitty>[^\x1b]*)\x1b\\|\x1b\[6;(?P<height>\d+);(?P<width>\d+)t"
    r"|\x1b\[\?(?P<attributes>[\d;]*)c"
)
#: An answer of which the end is still to come.
_BEGUN = re.compile(r"\x1b(_(Gi?|Gi=[^\x1b]*\x1b?)?|\[(\?[\d;]*|6(;[\d;]*)?)?)\Z")
#: The attribute of Sixel, and how many colours it has.
_SIXEL = "4"
_COLOURS = 256
#: Pixels of a picture at most, either way: xterm shows no more, and a slow line would take long.
LARGEST = 1000
_KITTY_CHUNK = 4096
#: Four or more of one byte.
_RUN = re.compile(rb"(.)\1{3,}")


class TerminalAnswer(Message):
    """The terminal has answered."""

    def __init__(self, answer: Mapping[str, str]) -> None:
        """``answer``: what was asked for -> the words of the terminal."""
        super().__init__()
        self.answer = answer


def hear_answers() -> None:
    """Take answers out of what the terminal sends, from the next start of a driver on: Textual
    would make keys of them. What is no key and no text is dropped: Textual would end."""
    parser = getattr(linux_driver, "XTermParser", None)
    if parser is not None and not issubclass(parser, _Answers):
        vars(linux_driver)["XTermParser"] = type("Parser", (_Answers, parser), {})
        # a decoder that leaves out what is not in the encoding
        vars(linux_driver)["getincrementaldecoder"] = lambda encoding: partial(
            codecs.getincrementaldecoder(encoding), "ignore"
        )


def hears(driver: object) -> bool:
    """Whether an answer that comes to a driver is taken out, so that one may ask."""
    # the console of Linux would print the question
    real = linux_driver is not None and type(driver) is linux_driver.LinuxDriver
    return real and os.environ.get("TERM") != "linux"


class _Answers:
    """Stands before a parser."""

    _held = _last = ""

    def feed(self, data: str) -> Iterable[Message]:
        """The messages of a piece of input; the empty one ends it."""
        text = self._held + data
        at = 0
        whole = f"\x1b{text}"
        if self._last == "\x1b" and len(text) > 1 and (_ANSWER.match(whole) or _BEGUN.match(whole)):
            # take an escape back that the parser has not yet called a key
            waits = getattr(self, "_timeout_time", None) is not None
            text = whole if waits and self._begin_anew() else text
        begun = _BEGUN.search(text) if data else None
        self._held = begun[0] if begun else ""
        end = begun.start() if begun else len(text)
        for found in _ANSWER.finditer(text, 0, end):
            yield from self._passed(text[at : found.start()])
            yield TerminalAnswer({k: v for k, v in found.groupdict().items() if v is not None})
            at = found.end()
        yield from self._passed(text[at:end])
        if not data:
            yield from super().feed(data)  # type: ignore[misc]

    def tick(self) -> Iterable[Message]:
        """The messages of what has waited too long for its end."""
        return self._tried(super().tick())  # type: ignore[misc]

    def _begin_anew(self: Any) -> bool:
        """Forget the sequence that has begun."""
        self._gen = self.parse(self._tokens.append)
        self._awaiting = next(self._gen)
        self._timeout_time = None
        return True

    def _passed(self, text: str) -> Iterable[Message]:
        self._last = text[-1:] or self._last
        for char in text:
            yield from self._tried(super().feed(char))  # type: ignore[misc]

    def _tried(self, messages: Iterable[Message]) -> Iterable[Message]:
        """Messages that the parser makes, none of a sequence that it cannot read."""
        try:
            yield from messages
        except Exception:  # noqa: BLE001 - of int() and chr() for one
            self._begin_anew()


class Placed(NamedTuple):
    """A picture on the screen."""

    region: Region
    data: str
    """Output of :meth:`TerminalPicture.encoded` for it."""


class PictureFrame(Widget):
    """A widget that may have a picture."""

    @property
    def placed(self) -> Placed | None:
        """The picture, and where on the screen it is in view."""
        raise NotImplementedError

    def update(self) -> None:
        """Draw anew."""
        raise NotImplementedError


class TerminalPicture:
    """Abilities of the terminal, and the one picture that it shows. Writes nothing itself."""

    def __init__(self) -> None:
        self.asked = False
        self.protocol = ""
        """``kitty``, ``sixel`` or none."""
        self.cell = 1, 2
        """Width and height of a cell in pixels; of half blocks as long as there is no protocol."""
        self._kitty = False
        self._answered_cell: tuple[int, int] | None = None
        self._shown: Placed | None = None

    def answered(self, answer: Mapping[str, str]) -> None:
        """Note an answer of the terminal; the last one, its attributes, decides."""
        if "kitty" in answer:
            self._kitty = answer["kitty"] == "OK"
        elif "width" in answer:
            self._answered_cell = int(answer["width"][:4]), int(answer["height"][:4])
        else:
            cell = self._answered_cell or _cell_of_system()
            sixel = _SIXEL in answer["attributes"].split(";")[1:] and min(cell) > 1
            self.protocol = "kitty" if self._kitty else "sixel" if sixel else ""
            if self.protocol:
                self.cell = cell if min(cell) > 1 else (10, 20)

    def encoded(self, image: Image) -> str:
        """An RGB image that fills whole cells, as the protocol has it; "" without one."""
        if self.protocol == "kitty":
            return _kitty(image, *self.cell)
        if not self.protocol:
            return ""
        if image.getcolors(_COLOURS) is not None:
            return _sixel(image.quantize(_COLOURS))
        octree = 2  # fast; the second pass spreads what its colours lack over neighbours
        return _sixel(image.quantize(palette=image.quantize(_COLOURS, octree)))

    def change(self, wanted: Placed | None, written: Iterable[Region]) -> str:
        """The control sequences after which the terminal shows this picture, or none. ``written``:
        where cells were written since the last call."""
        shown = self._shown
        self._shown = wanted
        if wanted == shown and not (wanted and any(map(wanted.region.overlaps, written))):
            return ""
        gone = shown is not None and self.protocol == "kitty"
        out = f"\x1b_Ga=d,d=I,i={_ID},q=2\x1b\\" if gone else ""
        if wanted is not None:
            out += f"\x1b7\x1b[{wanted.region.y + 1};{wanted.region.x + 1}H{wanted.data}\x1b8"
        return out


def _cell_of_system() -> tuple[int, int]:
    """Pixels of a cell as the system knows them; zeros where it does not."""
    try:
        size = fcntl.ioctl(2, termios.TIOCGWINSZ, bytes(8))  # where the driver writes
    except (NameError, OSError):
        return 0, 0
    rows, columns, width, height = struct.unpack("4H", size)
    return width // (columns or 1), height // (rows or 1)


def _kitty(image: Image, wide: int, high: int) -> str:
    """A PNG in pieces, over the cells that it fills; the cursor stays and nobody answers."""
    out = BytesIO()
    image.save(out, "PNG")
    data = base64.b64encode(out.getvalue()).decode()
    cells = f"c={image.width // wide},r={image.height // high}"
    pieces = [data[i : i + _KITTY_CHUNK] for i in range(0, len(data), _KITTY_CHUNK)]
    head = f"a=T,f=100,i={_ID},q=2,C=1,{cells},"
    return "".join(
        f"\x1b_G{'' if n else head}m={int(n + 1 < len(pieces))};{piece}\x1b\\"
        for n, piece in enumerate(pieces)
    )


def _sixel(image: Image) -> str:
    """Bands of six rows of an image with a palette, each colour of a band in a line of its own."""
    places = np.asarray(image)
    width, height = image.size
    shares = [round(x / 2.55) for x in image.getpalette() or ()]
    out = [b'\x1bP0;1;0q"1;1;%d;%d' % (width, height)]
    used = np.unique(places).tolist()
    out += [b"#%d;2;%d;%d;%d" % (n, *shares[3 * n : 3 * n + 3]) for n in used]
    for y in range(0, height, 6):
        band = places[y : y + 6]
        own, at = np.unique(band, return_inverse=True)
        bits = np.full((len(own), width), 63, np.uint8)
        for row, line in enumerate(at.reshape(band.shape)):
            bits[line, np.arange(width)] += 1 << row
        for n, line in zip(own.tolist(), bits, strict=True):
            text = _RUN.sub(lambda m: b"!%d%b" % (len(m[0]), m[1]), line.tobytes().rstrip(b"?"))
            out.append(b"#%d%b$" % (n, text))
        out.append(b"-")
    return b"".join([*out, b"\x1b\\"]).decode()
