"""The view is as the user left it.

Copying: through tmux and screen, into tmux's buffer, into a file.
"""

import base64
import json
import os
import stat
from pathlib import Path

import pytest

from rltui.core.level import Level
from rltui.draw.view import View
from rltui.health.model import MutedFinding
from rltui.pages.app import RltuiApp
from rltui.tui.clipboard import load_tmux, terminal_sequence, write_file
from rltui.tui.remembered import RememberedView, SavedMark
from tests.builders import LOGDIR
from tests.fakes import FakeReader, a_session, grpo_batch, grpo_clock
from tests.tables import cases
from tests.tui.driving import driving
from tests.tui.hand import Hand, a_look


def opened(tmp_path: Path) -> RememberedView:
    return RememberedView.of_logdirs([LOGDIR], {"XDG_STATE_HOME": str(tmp_path)}, View())


def file_in(tmp_path: Path) -> Path:
    (path,) = (tmp_path / "rltui" / "views").iterdir()
    return path


def left(tmp_path: Path) -> Path:
    """The file of a view that the user changed."""
    seen = opened(tmp_path)
    seen.state.tabs = {"run0": "actor"}
    mark = SavedMark(0, "/logs", "run0")
    seen.save(View(log_y=True), {MutedFinding("rule", "title")}, ["loss"], [mark])
    return file_in(tmp_path)


async def visit(tmp_path: Path, *keys: str, runs: int = 1) -> Hand:
    """Open the app, press keys, leave it."""
    reader = FakeReader()
    batches = [grpo_batch(60, run=f"run{i}") for i in range(runs)]
    session = a_session(*batches, reader=reader, clock=grpo_clock())
    app = RltuiApp(session, a_look(), remembered=opened(tmp_path))
    async with driving(app, size=(120, 36)) as pilot:
        hand = Hand(app, pilot, reader)
        await hand.settle()
        await hand.press(*keys)
        hand.seen = hand.text  # type: ignore[attr-defined]
    return hand


async def test_tab_options_filter_and_mutes_come_back(tmp_path: Path) -> None:
    before = await visit(tmp_path, "exclamation_mark", "M", "3", "s", "L", "slash", *"kl", "enter")
    after = await visit(tmp_path)
    assert after.seen == before.seen  # type: ignore[attr-defined]
    assert after.app.view == before.app.view != View()
    assert len(after.app.session.run_list.mutes.names) == 1


async def test_pins_come_back(tmp_path: Path) -> None:
    before = await visit(tmp_path, "3", "P", "1")
    assert before.app.session.run_list.pins.tags
    after = await visit(tmp_path)
    assert after.app.session.run_list.pins.tags == before.app.session.run_list.pins.tags
    assert after.seen == before.seen  # type: ignore[attr-defined]


async def test_order_and_filter_of_the_runs_come_back(tmp_path: Path) -> None:
    keys = ("o", "slash", *"run1", "enter")
    before = await visit(tmp_path, *keys, runs=3)
    after = await visit(tmp_path, runs=3)
    assert after.app.state.order == "name"
    assert "run0" not in after.seen  # type: ignore[attr-defined]
    assert after.seen == before.seen  # type: ignore[attr-defined]


async def test_marks_come_back_in_their_colours(tmp_path: Path) -> None:
    before = await visit(tmp_path, "o", "g", "down", "space", "g", "space", "G", "space", runs=3)
    assert [(m.run.name, m.slot) for m in before.app.view.marked] == [
        ("run1", 0),
        ("run0", 1),
        ("run2", 2),
    ]
    after = await visit(tmp_path, runs=3)
    assert [(m.run.name, m.slot) for m in after.app.view.marked] == [
        ("run1", 0),
        ("run0", 1),
        ("run2", 2),
    ]
    fewer = await visit(tmp_path, runs=2)
    assert [(m.run.name, m.slot) for m in fewer.app.view.marked] == [("run1", 0), ("run0", 1)]
    marks = json.loads(file_in(tmp_path).read_text())["marks"]
    assert marks == [[0, "/logs", "run1"], [1, "/logs", "run0"]]


async def test_marks_stay_while_the_view_is_paused(tmp_path: Path) -> None:
    hand = await visit(tmp_path, "space", "space", "p", "C", runs=3)
    assert "2 of 3 runs" in hand.seen  # type: ignore[attr-defined]
    assert all(m.run in hand.app.session.runs() for m in hand.app.view.marked)


async def test_what_was_not_changed_follows_the_configuration(tmp_path: Path) -> None:
    await visit(tmp_path, "L")
    seen = RememberedView(file_in(tmp_path), View(axis="relative", marker="ascii"))
    assert seen.view == View(axis="relative", log_y=True, marker="ascii")


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "null", "{}", "[" * 100_000, '{"schema": "rltui.view/9"}',
    ],
    ids=["empty", "torn", "list", "null", "bare", "deep", "newer"],
)  # fmt: skip
def test_a_broken_file_is_a_note(tmp_path: Path, content: str) -> None:
    left(tmp_path).write_text(content)
    seen = opened(tmp_path)
    assert seen.note.startswith("the view as you left it is lost: ")
    seen.save(seen.view, ())
    assert not opened(tmp_path).note, "written anew"


@cases(__file__, "test_what_is_wrong_in_a_file_is_left_out_alone")
def test_what_is_wrong_in_a_file_is_left_out_alone(
    tmp_path: Path, name: str, value: object
) -> None:
    path = left(tmp_path)
    known = json.loads(path.read_text())
    path.write_text(json.dumps({**known, name: value}))
    seen = opened(tmp_path)
    assert seen.note.startswith("the view as you left it is lost in part: ")
    assert seen.note.endswith(f": {name}")
    seen.save(seen.view, seen.mutes, seen.state.pins, seen.state.marks)
    assert not opened(tmp_path).note, "written anew"
    again = json.loads(path.read_text())
    del known[name], again[name]
    assert again == known


def test_a_whole_number_is_a_smoothing(tmp_path: Path) -> None:
    opened(tmp_path).save(View(), ())
    path = file_in(tmp_path)
    known = json.loads(path.read_text())
    path.write_text(json.dumps({**known, "options": {"smooth": 0, "log_y": True}}))
    seen = RememberedView(path, View(smooth=0.5))
    assert seen.note == ""
    assert seen.view == View(log_y=True)


def test_a_file_never_grows_too_long_to_be_read(tmp_path: Path) -> None:
    seen = opened(tmp_path)
    seen.state.tabs = {f"{'long' * 100}{n}": "loss" for n in range(5000)}
    seen.save(View(log_y=True), ())
    again = opened(tmp_path)
    assert again.note == ""
    assert again.view.log_y
    assert list(again.state.tabs)[-1].endswith("4999"), "the newest are kept"


def test_a_cleaned_name_comes_back_as_it_was(tmp_path: Path) -> None:
    pins = ["a\\x1b[31m", "b\\x5cx1b", "c\\d"]
    opened(tmp_path).save(View(), {MutedFinding("rule", pins[0])}, pins)
    again = opened(tmp_path)
    assert again.state.pins == pins
    assert again.mutes == [MutedFinding("rule", pins[0])]


async def test_an_unknown_tab_and_control_characters_do_no_harm(tmp_path: Path) -> None:
    await visit(tmp_path, "3")
    path = file_in(tmp_path)
    known = json.loads(path.read_text())
    known["tabs"] = {"run0": "no-such-tab"}
    known["filter"] = "\x1b[31m"
    path.write_text(json.dumps(known))
    hand = await visit(tmp_path)
    assert "\x1b" not in hand.seen  # type: ignore[attr-defined]


def test_a_place_that_takes_nothing_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "rltui").write_text("a file")
    seen = opened(tmp_path)
    assert "Not a directory" in seen.note
    seen.save(seen.view._replace(log_y=True), ())


def test_the_file_is_replaced_whole_and_private(tmp_path: Path) -> None:
    seen = opened(tmp_path)
    seen.save(View(log_y=True), ())
    path = file_in(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    inode = os.stat(path).st_ino  # noqa: PTH116
    seen.save(View(), ())
    assert file_in(tmp_path).stat().st_ino != inode


async def test_what_is_muted_is_muted_from_the_first_verdict_on(tmp_path: Path) -> None:
    (run,) = a_session(grpo_batch(60), clock=grpo_clock()).runs()
    opened(tmp_path).save(View(), {MutedFinding.of(f) for f in run.report.findings})
    hand = await visit(tmp_path)
    assert hand.app.session.runs()[0].verdict.level is Level.OK


TEXT = "grpo\tactor/entropy\t0.1 µ"
OSC = f"\x1b]52;c;{base64.b64encode(TEXT.encode()).decode()}\x07"


def test_a_plain_terminal_takes_osc_52() -> None:
    assert terminal_sequence(TEXT, {"TERM": "xterm-256color"}) == OSC


def test_tmux_passes_it_through() -> None:
    sequence = terminal_sequence(
        TEXT, {"TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0"}
    )
    assert sequence.startswith("\x1bPtmux;\x1b\x1b]52;")
    assert sequence.endswith("\x1b\\")
    assert sequence[7:-2].replace("\x1b\x1b", "\x1b") == OSC


def test_screen_gets_it_in_pieces() -> None:
    long = "x" * 2000
    sequence = terminal_sequence(long, {"TERM": "screen.xterm-256color"})
    pieces = [p.removeprefix("\x1bP") for p in sequence.split("\x1b\\") if p]
    assert all(len(p) < 768 for p in pieces)
    assert "".join(pieces) == f"\x1b]52;c;{base64.b64encode(long.encode()).decode()}\x07"


def test_tmux_gets_a_buffer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmux = tmp_path / "tmux"
    tmux.write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/called"\ncat > "{tmp_path}/buffer"\n')
    tmux.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert not load_tmux(TEXT, {})
    assert load_tmux(TEXT, {"TMUX": "x"})
    assert (tmp_path / "buffer").read_text() == TEXT
    assert (tmp_path / "called").read_text() == "load-buffer -\n"
    tmux.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not load_tmux(TEXT, {"TMUX": "x"})


def test_the_file_is_for_the_user_alone(tmp_path: Path) -> None:
    path = write_file(TEXT, {"XDG_STATE_HOME": str(tmp_path)})
    assert path == tmp_path / "rltui" / "copied.txt"
    assert path.read_text() == TEXT + "\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_place_for_it_there_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert write_file(TEXT, {"XDG_STATE_HOME": str(tmp_path / "file")}) is None
