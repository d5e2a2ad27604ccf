"""The dialects of console logs, beyond what the contract asks of every format.

The points of a console do not depend on where its pieces end, whatever the bytes.
"""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rltui.core.batch import LogTail
from rltui.formats.base import Belonging
from rltui.formats.console import Console
from tests import places
from tests.formats import encode
from tests.formats.consoles import decode, restarts, values
from tests.tables import cases, table


def tail(text: str | bytes) -> LogTail:
    found = decode(text)[-1].tail
    assert found is not None
    return found


def bar(done: int, total: int, name: str = "") -> str:
    return f"\r{name}{100 * done // total:3d}%|██▏   | {done}/{total} [00:10<01:00,  2.00s/it]"


# names and claims


@cases(__file__, "names_of_consoles")
def test_names_of_consoles(names: str, fits: bool) -> None:
    assert {Console().claims_name(name) for name in names.split()} == {fits}


def test_fixed_names_belong_to_the_directory() -> None:
    console = Console()
    assert console.belonging("stdout.log") is Belonging.DIRECTORY
    assert console.belonging("log_1781234567.txt") is Belonging.DIRECTORY
    assert console.belonging("grpo_v2.log") is Belonging.NAME
    assert console.belonging("slurm-4711.out") is Belonging.NAME


@cases(__file__, "other_logs_are_not_claimed")
def test_other_logs_are_not_claimed(text: str, times: int) -> None:
    assert not Console().claims(Path("x.log"), (text * times).encode("latin-1"))


def test_a_training_is_claimed_before_its_first_row() -> None:
    head = b"\x1b[36m(TaskRunner pid=7)\x1b[0m {'actor_rollout_ref': {'actor': {'a': 1}}}\n"
    assert Console().claims(Path("x.log"), head)


# verl


@pytest.mark.parametrize("length", [4096, 4097])
def test_verl_line_cut_by_wandb_loses_its_last_field(length: int) -> None:
    line = "step:1 - a:1.0 - " + "b" * 4000 + ":2.0 - critic/score/mean:0.123456789012345"
    line = line[:length] if length == 4096 else line.ljust(length, "6")
    line = line + "7" * (length - len(line))
    found = values(line + "\nstep:2 - a:1.5\n")
    assert ("critic/score/mean" in found) is (length != 4096)
    assert found["a"] == [(1, 1.0), (2, 1.5)]


def test_verl_resumed_console_supersedes_from_its_first_step() -> None:
    rows = [*range(1, 150), *range(101, 120)]
    text = "".join(f"step:{s} - actor/a:{s}.0 - actor/b:1.0\n" for s in rows)
    assert restarts(text) == [101]


def test_equal_steps_and_late_evaluations_are_no_restarts() -> None:
    text = "".join(
        f"step:{s} - actor/a:1.0 - actor/b:1\nstep:{s} - val/x:0.5\n"
        f"step:{max(s - 3, 0)} - val/y:1\n"
        for s in range(20)
    )
    assert restarts(text) == []


# transformers


def row(number: float) -> str:
    return f"{{'loss': {number}, 'grad_norm': 1.0, 'epoch': {number / 100}}}\n"


def steps_of(text: str, tag: str = "train/loss") -> list[int]:
    whole = [s for s, _ in values(text)[tag]]
    for piece in (1, 7, 61):
        pieces = encode.points_of(decode(text, piece))
        assert [p[0] for p in pieces[tag]] == whole
    assert not decode(text)[-1].steps_are_row_numbers
    return whole


@cases(__file__, "the_bar_behind_a_row_gives_its_step")
def test_the_bar_behind_a_row_gives_its_step(
    logged: tuple[int, ...], begun: tuple[int, ...], done: tuple[int, ...]
) -> None:
    text = bar(0, 80)
    for step in logged:
        text += "".join(bar(step + late, 80) for late in begun) + f"\r{row(step)}"
        text += "".join(bar(step + late, 80) for late in done) + "\r" + " " * 40
    assert steps_of(text) == list(logged)


def test_buffered_rows_are_counted_over_the_bars() -> None:
    """Eight rows are flushed at once, and the next one is torn by the bars."""
    stream = "".join(row(n) for n in range(1, 41))
    cuts = [0, *range(350, len(stream), 350), len(stream)]
    text, step = bar(0, 500) + "\r", 0
    for begin, end in pairwise(cuts):
        while step < 10 * (stream.count("{", 0, end)):
            step += 1
            text += bar(step, 500)
        text += stream[begin:end] + bar(step, 500)
    assert steps_of(text) == [10 * n for n in range(1, 41)]
    assert [v for _, v in values(text)["train/loss"]] == list(range(1, 41))


@pytest.mark.parametrize("every", [1, 10])
def test_a_short_training_whose_rows_all_come_at_its_end(every: int) -> None:
    text = "".join(bar(n, 45) for n in range(46)) + "\n"
    numbers = range(every, 46, every) if every > 1 else range(1, 31)
    total = 45 if every > 1 else 30
    text = text.replace("/45", f"/{total}") if every > 1 else "".join(bar(n, 30) for n in range(31))
    for n in numbers:
        text += f"\r{{'loss': 1.0, 'grad_norm': 1.0, 'epoch': {n / total:.2f}}}\n"
    text += "{'train_runtime': 10.0, 'train_steps_per_second': "
    text += f"{total / 10}, 'train_loss': 1.0, 'epoch': 1.0}}\n"
    assert steps_of(text) == list(numbers)
    assert values(text)["train/train_loss"] == [(total, 1.0)]


def test_resumed_training_with_a_bar() -> None:
    text = bar(0, 80)
    for step in (*range(5, 45, 5),):
        text += f"\r{row(step)}" + bar(step, 80)
    text += "\nTraceback (most recent call last):\nSystemExit\n" + bar(0, 80) + bar(26, 80)
    for step in (*range(30, 50, 5),):
        text += f"\r{row(step)}" + bar(step, 80)
    assert steps_of(text) == [*range(5, 45, 5), *range(30, 50, 5)]
    assert restarts(text) == [30]


# own loops


# lines and bytes


def test_times_with_a_zone_are_wall_times_and_others_are_those_of_this_machine() -> None:
    zoned = "2026-01-01T12:00:00.250Z INFO step:1 - a:1.0\n2026-01-01 14:00:00+02:00 step:2 - a:1\n"
    found = encode.points_of(decode(zoned))["a"]
    assert [wall for _, wall, _ in found] == [1767268800.25, 1767268800.0]
    local = "2026-01-01 12:00:00,123 - INFO - step:1 - a:1.0\n"
    assert (
        encode.points_of(decode(local))["a"][0][1]
        == datetime(2026, 1, 1, 12, 0, 0, 123000).timestamp()
    )


def test_a_giant_line_is_passed_over_and_noted_once() -> None:
    decoder = Console().decoder()
    parts = [decoder.feed(b"x" * 1_000_000) for _ in range(20)]
    parts.append(decoder.feed(b"\nstep:1 - a:1.0\n"))
    assert encode.points_of(parts)["a"][0][0] == 1
    assert [n.message for p in parts for n in p.notes] == ["line is too long"]


# the tail


def test_tail_shows_what_a_terminal_shows() -> None:
    text = (
        "step:1 - a:1.0\n\x1b[31mTraceback\x1b[0m (most recent call last):\n"
        "  10%|#   | 1/10\r  20%|##  | 2/10\rdone\x1b[K\n"
        + "y" * 900
        + "\nCUDA out of memory\u202e"
    )
    found = tail(text)
    assert found.lines[:3] == ("step:1 - a:1.0", "Traceback (most recent call last):", "done")
    assert len(found.lines[3]) == 500
    assert found.lines[4] == "CUDA out of memory\\u202e"
    assert found.after_row == 4


def test_tail_is_bounded_and_the_same_for_any_pieces() -> None:
    text = "step:1 - a:1\n" + "".join(f"line {n}\r\n" for n in range(500)) + "end"
    found = tail(text)
    assert len(found.lines) == 200
    assert found.lines[-2:] == ("line 499", "end")
    assert found.after_row == 200
    assert decode(text, 7)[-1].tail == found
    more = tail(text + "\nstep:2 - a:1\nlast\n")
    assert more.after_row == 1


FILES = sorted((places.FIXTURES / "console").glob("*.log"))
#: What stands in a log again and again, with a number that grows.
PARTS = table(__file__)["parts"]
TEXTS = (
    "".join(f"U {n} | F {n * 2048} | FPS 250 | rR:μσmM 0.{n} 0.0 0.0 0.0\n" for n in range(1, 4)),
    "".join(
        f"SAC:  0%|#| {n}/200 [05:05<03:09, 29.77step/s, act_loss=-0.{n}]\r" for n in (0, 4, 8)
    ),
    "".join(
        f"Step {n}\n-----\nloss: {n}.5\tkl: 1\n=====\nx: 1\ntimesteps: {n}\n" for n in range(4)
    ),
    "".join(f"╭──╮\n│ a  loss: {n} | step: {n} │\n╰──╯\n" for n in range(4)),
    "Iter  Loss  Kl\n" + "".join(f"{n}  0.5  1\n" for n in range(4)),
    "".join(f"Epoch #{n}: 9it [00:05, 1.5it/s, env_step={n}, rew={n}]\n" for n in range(4)),
    "".join(f"Fps is (10 sec: 1.0). Total num frames: {n}.\n" for n in range(4)),
    "Interval 1 (0 steps performed)\n9/9 [===] - loss: 1\n3 episodes - episode_reward: 1\n",
)

JUNK = [
    b"\r",
    b"\n",
    b"step:",
    b"step: 9",
    b"{'",
    b"}",
    b" - ",
    b" | ",
    b"-----\n",
    b"1e999",
    b"9" * 30,
]


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Parts of several grammars, or logs, with other bytes here and there."""
    kinds = draw(st.lists(st.sampled_from(PARTS), min_size=2, max_size=5, unique=True))
    rounds = draw(st.lists(st.lists(st.sampled_from(kinds), max_size=5), min_size=3, max_size=9))
    mixed = "".join(part.format(n=n) for n, parts in enumerate(rounds, 1) for part in parts)
    file = draw(st.sampled_from(FILES)).read_bytes()[:3000]
    log = draw(st.sampled_from([b"hello\n" + mixed.encode(), mixed.encode() + file, file]))
    data = bytearray("".join(draw(st.permutations(TEXTS))[:2]).encode() + log)
    for _ in range(draw(st.integers(0, 12))):
        at = draw(st.integers(0, len(data) - 1))
        junk = draw(st.one_of(st.binary(max_size=12), st.sampled_from(JUNK)))
        data[at : at + draw(st.integers(0, 40))] = junk
    return bytes(data)


@settings(max_examples=80, deadline=None)
@given(logs())
@example(
    "".join(
        f"loss: {n}.5\nstep {n} loss=0.{n}\nStep {n}\n╭───┬───╮\n│ loss │ 0.{n} │\n╰───┴───╯\n"
        for n in range(1, 9)
    ).encode()
)
def test_any_bytes_are_read_alike_in_any_pieces(data: bytes) -> None:
    whole = decode(data)
    for piece in (1, 29, 997):
        parts = decode(data, piece)
        assert encode.points_of(parts) == encode.points_of(whole)
        assert parts[-1].guessed == whole[-1].guessed


@pytest.mark.parametrize("byte", ["%", "{", "|", "+", "│"])
def test_rows_among_many_bytes_that_are_rare_elsewhere(byte: str) -> None:
    text = "".join(f"step {n} loss: 0.5\n" + f"{byte} x\n" * 9 for n in range(1, 40))
    bars = "".join(f"SAC: 1%|#| {n}/99 [00:01<00:02, 1.2it/s, kl={n}]\n{byte}\n" for n in range(40))
    assert len(values(text)["loss"]) == 39
    assert len(values(bars)["kl"]) == 40
