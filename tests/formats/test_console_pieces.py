"""The rows of a console do not depend on where its pieces end, also where grammars overlap."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rltui.formats.console import line_dispatch
from rltui.formats.console.console_dialect import ConsoleRows
from rltui.formats.console.line_dispatch import dialects, marked_lines
from tests.formats import encode
from tests.formats.consoles import decode, values

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


@st.composite
def logs(draw: st.DrawFn) -> str:
    kinds = draw(st.lists(st.sampled_from(PARTS), min_size=2, max_size=5, unique=True))
    rounds = st.lists(st.sampled_from(kinds), max_size=5)
    return "hello\n" + "".join(
        part.format(n=n)
        for n, parts in enumerate(draw(st.lists(rounds, min_size=3, max_size=9)), 1)
        for part in parts
    )


@settings(max_examples=200, deadline=None)
@given(logs())
@example(
    "".join(
        f"loss: {n}.5\nstep {n} loss=0.{n}\nStep {n}\n╭───┬───╮\n│ loss │ 0.{n} │\n╰───┴───╯\n"
        for n in range(1, 9)
    )
)
def test_rows_of_overlapping_grammars_are_alike_in_any_pieces(text: str) -> None:
    whole = decode(text)
    for piece in (1, 29):
        parts = decode(text, piece)
        assert encode.points_of(parts) == encode.points_of(whole)
        assert parts[-1].guessed == whole[-1].guessed


def test_guesses_end_at_the_same_line_in_any_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "hello\n" * 100 + "".join(f"step {n} loss=0.5\n" for n in range(1, 9))
    assert len(values(text)["loss"]) == 8
    monkeypatch.setattr(line_dispatch, "_GUESSED", 605)  # in the first row
    for piece in (None, 1, 7, 610, 640):
        assert encode.points_of(decode(text, piece)) == {}
    monkeypatch.setattr(line_dispatch, "_GUESSED", 620)  # in the second one
    for piece in (None, 1, 7, 610, 640):
        assert len(encode.points_of(decode(text, piece))["loss"]) == 8


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *sorted({m for d in dialects(ConsoleRows()) for m in (*d.markers, *d.words)}),
                *(b"%", b"{", b"x", b"Step", b"STEP", b"9", b"\xe2", b"y" * 300, b"\n"),
            ]
        ),
        max_size=60,
    )
)
def test_the_lines_with_markers_are_those_of_a_plain_search(parts: list[bytes]) -> None:
    text = b"".join(parts) + b"\n"
    known = dialects(ConsoleRows())
    expected, begin = set(), 0
    for line in text.splitlines(keepends=True):
        for number, dialect in enumerate(known):
            lower = line.lower()
            if any(m in line for m in dialect.markers) or any(w in lower for w in dialect.words):
                expected.add((begin, number))
        begin += len(line)
    found = marked_lines(text, known)
    assert set(found) == expected
    assert found == sorted(found)
