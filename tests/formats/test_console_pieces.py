"""The points of a console do not depend on where its pieces end, whatever the bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests import places
from tests.formats import encode
from tests.formats.consoles import decode, values

FILES = sorted((places.FIXTURES / "console").glob("*.log"))
#: What stands in a log again and again, with a number that grows.
PARTS = (
    "Epoch {n}, global step {n}6: x\nkl: 0.{n}\n",
    "Epoch {n} complete:\nloss: 0.{n}\nkl: 0.2\n",
    "Epoch {n}/9\n",
    "Epoch {n}:  50%|#  | {n}/40 [00:02<00:03,  1.9it/s, loss={n}.5]\n",
    "Iter  Loss  Reward\n",
    "1{n}  0.5  {n}.5\n",
    "Step {n}\n",
    "step {n} loss=0.{n}\n",
    "loss: {n}.5\n",
    "timesteps: {n}0\n",
    "-------\n",
    "| total_steps | {n} |\n| loss | {n}.25 |\n-------\n",
    "╭───┬───╮\n│ loss │ 0.{n} │\n╰───┴───╯\n",
    "Learning iteration {n}/90\nMean reward: {n}.5\n",
    "Total timesteps: 4\n",
    "Step {n}:\n{{'loss': 0.{n}\n",
    "'kl': {n}}}\n",
    "Ep {n} | Reward: {n} | Eps: 0.{n}\n",
    "step: 2.{n}K, loss: 0.{n}\n",
    "╭─── Step {n} ───╮\n│ Mean reward: 0.{n} │\n╰────────────────╯\n",
    "Evaluation over 10 episodes: mean {n}.2, std 0.5\n",
    "hello\n",
)
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


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_pieces_of_real_logs_give_the_same(path: Path) -> None:
    data = path.read_bytes()
    whole = decode(data)
    assert encode.points_of(whole)
    for piece in (13, 4096):
        parts = decode(data, piece)
        assert encode.points_of(parts) == encode.points_of(whole)
        assert parts[-1].tail == whole[-1].tail
        assert sum(p.records for p in parts) == whole[0].records


@pytest.mark.parametrize("byte", ["%", "{", "|", "+", "│"])
def test_rows_among_many_bytes_that_are_rare_elsewhere(byte: str) -> None:
    text = "".join(f"step {n} loss: 0.5\n" + f"{byte} x\n" * 9 for n in range(1, 40))
    bars = "".join(f"SAC: 1%|#| {n}/99 [00:01<00:02, 1.2it/s, kl={n}]\n{byte}\n" for n in range(40))
    assert len(values(text)["loss"]) == 39
    assert len(values(bars)["kl"]) == 40
