"""What goes to a terminal for a picture, and what is made of its answers."""

import base64
import itertools
import re
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from textual import events
from textual.drivers import linux_driver
from textual.geometry import Region

from rltui.tui.terminal_picture import ASK, Placed, TerminalAnswer, TerminalPicture, hear_answers

KITTY = "\x1b_Gi=7498868;OK\x1b\\"
CELL = "\x1b[6;20;10t"
SIXEL, PLAIN = "\x1b[?63;1;4;22c", "\x1b[?62;c"
NOISE = Image.fromarray(np.random.default_rng(1).integers(0, 256, (40, 30, 3), np.uint8))


def heard(pieces: list[str]) -> tuple[list[TerminalAnswer], list[str]]:
    """The answers and the keys in pieces of input."""
    hear_answers()
    parser, answers, keys = linux_driver.XTermParser(), [], []  # type: ignore[attr-defined]
    for piece in pieces:
        for message in parser.feed(piece):
            if isinstance(message, TerminalAnswer):
                answers.append(message)
            elif isinstance(message, events.Key):
                keys.append(message.key)
    return answers, keys


def told(*answers: str) -> TerminalPicture:
    picture = TerminalPicture()
    for message in heard(list(answers))[0]:
        picture.answered(message.answer)
    return picture


def test_answers_are_no_keys_however_they_are_split() -> None:
    text = f"j{KITTY}k\x1b[A{CELL}{SIXEL}\x1b[6;5~l"
    whole = heard([text])
    assert [[*a.answer] for a in whole[0]] == [["kitty"], ["height", "width"], ["attributes"]]
    assert whole[1] == ["j", "k", "up", "ctrl+pagedown", "l"]
    for at in range(1, len(text)):
        answers, keys = heard([text[:at], text[at:]])
        assert ([a.answer for a in answers], keys) == ([a.answer for a in whole[0]], whole[1])


def test_a_key_that_begins_as_an_answer_takes_no_others_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Alt and underscore."""
    hear_answers()
    now = itertools.count()
    monkeypatch.setattr("textual._parser.get_time", lambda: float(next(now)))
    parser, keys = linux_driver.XTermParser(), []  # type: ignore[attr-defined]
    for piece in ("\x1b_", "G", "j", "k"):
        keys += [*parser.feed(piece), *parser.tick()]
    assert [m.key for m in keys if isinstance(m, events.Key)] == ["underscore", "G", "j", "k"]


@pytest.mark.parametrize(
    ("answers", "protocol", "cell"),
    [
        ((KITTY, CELL, PLAIN), "kitty", (10, 20)),
        ((KITTY, CELL, SIXEL), "kitty", (10, 20)),
        ((CELL, SIXEL), "sixel", (10, 20)),
        ((SIXEL,), "", (1, 2)),  # of an unknown size
        ((CELL, PLAIN), "", (1, 2)),
        ((KITTY.replace("OK", "EINVAL"), "\x1b[6;0;0t", PLAIN), "", (1, 2)),
        ((KITTY, CELL), "", (1, 2)),
    ],
)
def test_the_protocol_is_what_the_terminal_says(
    answers: tuple[str, ...], protocol: str, cell: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltui.tui.terminal_picture._cell_of_system", lambda: (0, 0))
    found = told(*answers)
    assert (found.protocol, found.cell) == (protocol, cell)
    assert bool(found.encoded(NOISE)) == bool(protocol)


def test_kitty_is_sent_our_own_png_in_pieces() -> None:
    sent = told(KITTY, CELL, PLAIN).encoded(NOISE)
    pieces = re.findall(r"\x1b_G([a-zA-Z0-9=,]*);([A-Za-z0-9+/=]{1,4096})\x1b\\", sent)
    assert "".join(f"\x1b_G{head};{data}\x1b\\" for head, data in pieces) == sent
    assert pieces[0][0] == "a=T,f=100,i=7498868,q=2,C=1,c=3,r=2,m=1"
    assert {head for head, _ in pieces[1:-1]} <= {"m=1"}
    assert pieces[-1][0] == "m=0"
    image = Image.open(BytesIO(base64.b64decode("".join(data for _, data in pieces))))
    assert np.array_equal(np.asarray(image), NOISE)


def drawn(sixel: str) -> np.ndarray:
    """The pixels of Sixel text, as a terminal draws them."""
    head = re.fullmatch(r'\x1bP0;1;0q"1;1;(\d+);(\d+)((?:#\d+;2;\d+;\d+;\d+)+)(.*)\x1b\\', sixel)
    width, height = int(head[1]), int(head[2])
    colours = {
        int(n): [int(x) for x in rgb]
        for n, *rgb in re.findall(r"#(\d+);2;(\d+);(\d+);(\d+)", head[3])
    }
    pixels, y, x, colour = np.full((height, width, 3), -1), 0, 0, 0
    for token in re.findall(r"#\d+|!\d+[?-~]|[?-~]|[$-]", head[4]):
        if token[0] == "#":
            colour = int(token[1:])
        elif token in "$-":
            x, y = 0, y + 6 * (token == "-")
        else:
            count, bits = int(token[1:-1] or 1) if token[0] == "!" else 1, ord(token[-1]) - 63
            for row in (r for r in range(6) if bits >> r & 1):
                pixels[y + row, x : x + count] = colours[colour]
            x += count
    return pixels


def test_sixel_has_every_pixel() -> None:
    few = NOISE.resize((3, 5)).resize((30, 40), Image.Resampling.NEAREST)
    pixels = drawn(told(CELL, SIXEL).encoded(few))
    assert np.abs(pixels - np.asarray(few) / 2.55).max() <= 0.51
    many = drawn(told(CELL, SIXEL).encoded(NOISE))
    assert (many >= 0).all()


def test_a_picture_is_sent_once_and_again_when_cells_of_it_were_written() -> None:
    placed = Placed(Region(2, 3, 10, 5), "DATA")
    at = "\x1b7\x1b[4;3HDATA\x1b8"
    for answers, gone in (
        ((KITTY, CELL, PLAIN), "\x1b_Ga=d,d=I,i=7498868,q=2\x1b\\"),
        ((CELL, SIXEL), ""),
    ):
        picture = told(*answers)
        assert picture.change(None, [Region(0, 0, 80, 24)]) == ""
        assert picture.change(placed, []) == at
        beside = [Region(0, 2, 80, 1), Region(0, 8, 80, 1), Region(12, 4, 9, 1), Region(0, 5, 2, 1)]
        assert picture.change(placed, beside) == ""
        assert picture.change(placed, [*beside, Region(11, 7, 1, 1)]) == gone + at
        assert picture.change(placed._replace(region=Region(2, 4, 10, 5)), []).startswith(gone)
        assert picture.change(None, []) == gone


def test_the_question_moves_and_prints_nothing() -> None:
    assert re.fullmatch(r"\x1b_G[^\x1b]*\x1b\\(\x1b\[\??[\d;]*[Stc])+", ASK)


@pytest.mark.parametrize(
    "wrong", ["\x1b[106;1:3u", "\x1b[99999999999u", "\x1b[1;u", "\x1b[57344;9999u"]
)
def test_a_sequence_that_no_parser_reads_takes_no_others_with_it(wrong: str) -> None:
    text = f"j{wrong}k\x1b[Al"
    for at in range(1, len(text)):
        _, keys = heard([text[:at], text[at:]])
        assert [k for k in keys if k in "jkl" or k == "up"] == ["j", "k", "up", "l"]


def test_bytes_that_are_no_text_are_left_out() -> None:
    hear_answers()
    decoder = linux_driver.getincrementaldecoder("utf-8")()  # type: ignore[attr-defined]
    assert decoder.decode(b"j\xe4\xff\xc3") + decoder.decode(b"\xa4k") == "jäk"
