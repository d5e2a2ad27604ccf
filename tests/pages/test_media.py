"""Histograms, pictures and curves on the screen."""

import struct
import zlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import numpy as np
import pytest

from rltui.facts.media import pixels_of
from rltui.formats.tfevents import TfEvents
from rltui.tui.terminal_picture import TerminalAnswer
from rltui.tui.theming import Palette
from tests import event_media
from tests.fakes import grpo_batch
from tests.tui.hand import Hand, open_app, read_at_once

RED_OVER_BLUE = np.array([[[255, 0, 0]] * 4] * 2 + [[[0, 0, 255]] * 4] * 2, np.uint8)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read_at_once(monkeypatch)


def at(
    folder: Path, *records: bytes, size: tuple[int, int] = (120, 36)
) -> AbstractAsyncContextManager[Hand]:
    """The app over a run with these records in a file."""
    path = folder / "ein Läufer" / "events.out.tfevents.1"
    path.parent.mkdir()
    path.write_bytes(b"".join(records))
    media = TfEvents().decoder().feed(path.read_bytes()).media
    batch = grpo_batch(60, run=".", media=media)
    object.__setattr__(batch, "source", batch.source._replace(path=path))
    return open_app(batch, size=size, logdirs=(folder,))


def spreads(tag: str = "policy/[b]adv") -> list[bytes]:
    edges = np.linspace(-3, 3, 31)
    return [
        event_media.record(s, event_media.histogram(tag, edges + s / 10, np.full(30, 4.0)))
        for s in range(5, 60, 5)
    ]


async def test_all_lists_them_and_enter_opens_one(tmp_path: Path) -> None:
    curve = event_media.curve("rm/pr", np.array([1.0, 0.5]), np.array([0.0, 1.0]))
    async with at(tmp_path, *spreads(), event_media.record(50, curve)) as hand:
        await hand.press("0", "G")
        assert "Histograms and pictures" in hand.text
        await hand.press("enter")
        assert "Precision and recall rm/pr" in hand.text
        assert "1.000" in hand.text
        assert "ridge" not in hand.footer
        await hand.press("k")
        assert "Histogram policy/[b]adv" in hand.text
        assert "step 55  11 of 11" in hand.text
        assert "median 5.50" in hand.text
        await hand.press("h", "h")
        assert "median 4.50" in hand.text
        await hand.press("g")
        assert "step 5  1 of 11" in hand.text
        ridge = hand.text
        await hand.press("v")
        assert hand.text != ridge
        assert "50 % and 90 %" in hand.footer
        await hand.press("q")
        assert "Histograms and pictures" in hand.text


async def test_where_there_is_no_room_for_a_ridge_the_key_says_so(tmp_path: Path) -> None:
    async with at(tmp_path, *spreads(), size=(80, 14)) as hand:
        await hand.press("0", "G", "enter", "v")
        assert "a ridge needs" in hand.notices


async def test_the_newest_step_is_followed_until_another_is_chosen(tmp_path: Path) -> None:
    records = spreads("adv")
    async with at(tmp_path, *records[:-1]) as hand:
        await hand.press("0", "G", "enter")
        assert "step 50  10 of 10" in hand.text
        path = next(tmp_path.rglob("events*"))
        data = b"".join(records)
        path.write_bytes(data)
        later = grpo_batch(1, first=61, run=".", media=TfEvents().decoder().feed(data).media[-1:])
        object.__setattr__(later, "source", later.source._replace(path=path))
        await hand.feed(later)
        assert "step 55  11 of 11" in hand.text
        assert "median 5.50" in hand.text


async def test_the_filter_holds_for_them(tmp_path: Path) -> None:
    async with at(tmp_path, *spreads("aaa"), *spreads("bbb")) as hand:
        await hand.press("0", "slash", "b", "b", "b", "enter", "G")
        assert "bbb" in hand.text
        assert "aaa" not in hand.text


async def test_a_file_that_is_gone_is_said(tmp_path: Path) -> None:
    async with at(tmp_path, *spreads()) as hand:
        next(tmp_path.rglob("events*")).unlink()
        await hand.press("0", "G", "enter")
        assert "cannot be read" in hand.text


async def test_a_log_that_was_written_anew_is_said(tmp_path: Path) -> None:
    async with at(tmp_path, *spreads()) as hand:
        path = next(tmp_path.rglob("events*"))
        path.write_bytes(bytes(path.stat().st_size))
        await hand.press("0", "G", "enter")
        assert "something else by now" in hand.text


async def test_a_picture_is_drawn_in_half_blocks(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    value = event_media.picture("frame", event_media.png(RED_OVER_BLUE))
    async with at(tmp_path, event_media.record(7, value)) as hand:
        await hand.press("0", "G", "enter")
        assert "Picture frame" in hand.text
        assert "▀▀▀" not in hand.text, "in 16 colours it is letters"
        hand.app._palette = Palette(hand.app.tokens, "truecolor")
        hand.app.screen.update()
        await hand.settle()
        assert "▀▀▀" in hand.text


async def test_a_picture_stays_until_the_one_of_another_step_has_been_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL")
    frames = [RED_OVER_BLUE, np.zeros_like(RED_OVER_BLUE)]
    records = [
        event_media.record(n, event_media.picture("frame", event_media.png(frame)))
        for n, frame in enumerate(frames, 1)
    ]
    waiting: list[Callable[[], None]] = []
    async with at(tmp_path, *records) as hand:
        await hand.press("0", "G", "enter", "h")
        red = hand.lines[2:-1]
        monkeypatch.setattr("rltui.tui.screen.start_thread", waiting.append)
        await hand.press("l")
        assert "2 of 2" in hand.text
        assert hand.lines[2:-1] == red
        while waiting:
            waiting.pop()()
            await hand.settle()
        assert hand.lines[2:-1] != red


async def test_several_pictures_of_a_step_are_stepped_through(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    encoded = (
        event_media.png(RED_OVER_BLUE),
        b"no picture",
        event_media.png(np.zeros_like(RED_OVER_BLUE)),
    )
    records = event_media.record(7, event_media.pictures("batch", *encoded)), *spreads()
    async with at(tmp_path, *records) as hand:
        await hand.press("0", "G", "k", "enter")
        assert "[ ]  1 of 3   step 7" in hand.text
        assert "[ ] picture" in hand.footer
        first = hand.text
        await hand.press("right_square_bracket")
        assert "2 of 3" in hand.text
        assert "The picture is broken." in hand.text
        await hand.press("left_square_bracket", "left_square_bracket")
        assert "3 of 3" in hand.text
        assert hand.text.splitlines()[3] != first.splitlines()[3]
        hand.app._palette = Palette(hand.app.tokens, "truecolor")
        await hand.press("right_square_bracket", "left_square_bracket")
        assert "▀▀▀" in hand.text
        await hand.press("left_square_bracket")
        assert "▀" not in hand.text, "nothing of a black picture is left"
        await hand.press("j")
        assert "picture" not in hand.footer
        assert "[ ]" not in hand.text


async def test_beside_the_list_stands_what_is_at_the_cursor(tmp_path: Path) -> None:
    async with at(tmp_path, *spreads(), size=(160, 45)) as hand:
        await hand.press("0", "G")
        assert "Histogram policy/[b]adv" in hand.text
        assert "median 5.50" in hand.text
        await hand.press("v")
        assert "Histogram" not in hand.text
        await hand.press("v", "k")
        assert "median 5.50" not in hand.text
        await hand.press("G")
        assert "median 5.50" in hand.text


async def test_a_picture_in_pixels_goes_when_something_lies_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL")
    value = event_media.picture("frame", event_media.png(RED_OVER_BLUE))
    async with at(tmp_path, event_media.record(7, value), size=(80, 24)) as hand:
        sent: list[str] = []
        monkeypatch.setattr(hand.app, "write_terminal", sent.append)
        for answer in ({"kitty": "OK"}, {"width": "10", "height": "20"}, {"attributes": "62"}):
            hand.app.post_message(TerminalAnswer(answer))
        await hand.press("0", "G", "enter")
        (picture,) = sent
        assert picture.startswith("\x1b7\x1b[3;3H\x1b_Ga=T,f=100,")
        await hand.press("question_mark")
        assert sent[1:] == ["\x1b_Ga=d,d=I,i=7498868,q=2\x1b\\"]
        await hand.press("escape")
        assert sent[2:] == [picture]
        await hand.press("q")
        assert sent[3:] == [sent[1]]


def test_pixels_keep_the_shape_of_the_picture() -> None:
    pytest.importorskip("PIL")
    found = pixels_of(event_media.png(RED_OVER_BLUE), 40, 5)
    assert np.array_equal(np.asarray(found.image), found.halves)
    assert found.halves.shape == (8, 8, 3)
    assert found.halves[0, 0].tolist() == [255, 0, 0]
    assert found.halves[-1, -1].tolist() == [0, 0, 255]
    small = pixels_of(event_media.png(np.zeros((300, 600, 3), np.uint8)), 40, 20)
    assert small.halves.shape == (20, 40, 3)
    whole = pixels_of(event_media.png(RED_OVER_BLUE), 40, 5, (7, 15))
    assert whole.image.size == (77, 75), "18 times as large, in whole cells"
    assert whole.halves.shape == (10, 11, 3)


def a_bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims to be large."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("size", [(50_000, 50_000), (5_000, 5_000), (1, 1 << 30)])
def test_a_picture_that_would_fill_the_memory_is_not_decoded(size: tuple[int, int]) -> None:
    pytest.importorskip("PIL")
    found = pixels_of(a_bomb(*size), 40, 20)
    assert isinstance(found, str)
    assert "pixels" in found


def test_a_torn_picture_is_broken() -> None:
    pytest.importorskip("PIL")
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8)
    whole = event_media.png(noise)
    assert pixels_of(whole[: len(whole) // 2], 40, 20) == "The picture is broken."


def test_without_pillow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rltui.facts.media.find_spec", lambda _: None)
    found = pixels_of(b"", 40, 20)
    assert isinstance(found, str)
    assert "pillow" in found
