"""JSON lines: verl's file logger and flat or nested rows.

Durations, shares, fractions and dates as logs write them.
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.core.batch import Restart
from rltui.formats.base import Decoded, Options, clean_tag
from rltui.formats.json_value import TIME_KEYS, seconds_of, wall_of
from rltui.formats.jsonl import JsonLines
from tests.formats import encode
from tests.tables import cases


def decode(data: bytes | str, *, piece: int | None = None) -> list[Decoded]:
    raw = data.encode() if isinstance(data, str) else data
    return encode.feed_all(JsonLines().decoder(), raw, piece=piece)


def values(data: bytes | str) -> dict[str, list[tuple[int, float]]]:
    return encode.values_of(decode(data))


def test_step_keys_in_order_of_preference() -> None:
    found = values('{"iteration": 9, "step": 3, "a": 1}\n{"training_iteration": 4, "a": 2}\n')
    assert found == {"iteration": [(3, 9.0)], "a": [(3, 1.0), (4, 2.0)]}
    decoder = JsonLines().decoder(Options(step_keys=("current_steps",)))
    found2 = encode.points_of([decoder.feed(b'{"current_steps": 10, "step": 1, "loss": 2}\n')])
    assert [p[0] for p in found2["loss"]] == [10]


def test_rows_of_episodes_one_after_another_are_no_training() -> None:
    lengths = [14, 3, 9, 20, 5, 8, 2, 17]
    rows = [f'{{"task": {n}, "num_steps": {k}, "reward": 1.0}}' for n, k in enumerate(lengths)]
    text = "\n".join(rows) + "\n"
    assert not JsonLines().claims(Path("results.jsonl"), text.encode())


def test_rows_of_workers_that_alternate_are_no_restarts() -> None:
    rows = [f'{{"episode": {n}, "reward": {w}.5}}' for n in range(9) for w in range(3)]
    late = '{"episode": 0, "eval": 1.0}'
    text = "\n".join([*rows, late]) + "\n"
    assert not [i for part in decode(text) for i in part.items if isinstance(i, Restart)]


@pytest.mark.parametrize("key", TIME_KEYS)
def test_plausible_times_are_wall_times(key: str) -> None:
    found = encode.points_of(decode(f'{{"step": 1, "{key}": 1780000000.5, "a": 1}}\n'))
    assert found == {"a": [(1, 1780000000.5, struct.pack("<d", 1.0))]}
    assert set(values(f'{{"step": 1, "{key}": 12.5, "a": 1}}\n')) == {key, "a"}


@cases(__file__, "odd_lines")
def test_odd_lines_never_raise(line: str, deep: int) -> None:
    found = values(line.encode("latin-1") + b"[" * deep + b'\n{"step": 5, "b": 1}\n')
    assert found == {"b": [(5, 1.0)]}


@cases(__file__, "claims")
def test_claims(head: str, claimed: bool) -> None:
    assert JsonLines().claims(Path("x.jsonl"), head.encode()) is claimed
    assert not JsonLines().claims(Path("x.json"), head.encode())


cells = st.dictionaries(
    st.text(max_size=6), st.one_of(st.floats(), st.integers(), st.none(), st.booleans()), max_size=5
)


@given(st.lists(st.tuples(st.integers(0, 1 << 62), cells), max_size=20), st.integers(1, 90))
def test_arbitrary_rows_in_arbitrary_pieces(
    plan: list[tuple[int, dict[str, object]]], piece: int
) -> None:
    """Also rows of the same keys one after the other, which are read a short way."""
    plan = [row for row in plan for _ in range(3)]
    data = "".join(json.dumps({"step": s, "data": d}) + "\n" for s, d in plan).encode()
    whole = encode.points_of(decode(data))
    assert encode.points_of(decode(data, piece=piece)) == whole
    expected: dict[str, list[tuple[int, float]]] = {}
    for step, row in plan:
        for key, value in row.items():
            number = math.nan if value is None else float(value)  # type: ignore[arg-type]
            expected.setdefault(clean_tag(key.encode("utf-8", "surrogatepass")), []).append(
                (step, number)
            )
    assert repr(sorted(encode.values_of(decode(data)).items())) == repr(sorted(expected.items()))


@cases(__file__, "durations")
def test_durations(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@cases(__file__, "wall_times")
def test_wall_times(value: object, wall: float | None) -> None:
    assert wall_of(value) == wall
