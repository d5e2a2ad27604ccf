"""Tables: headers, separators, gaps, quotes, wall times, restarts, and what is no log."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.formats.base import Belonging, Decoded, Options
from rltui.formats.table import CsvTable
from tests import places
from tests.formats import encode
from tests.tables import cases

FIXTURES = places.FIXTURES / "csv"


def decode(data: bytes | str, name: str = "x.csv", *, piece: int | None = None) -> list[Decoded]:
    raw = data.encode() if isinstance(data, str) else data
    return encode.feed_all(CsvTable().decoder(None, Path(name)), raw, piece=piece)


def values(data: bytes | str, name: str = "x.csv") -> dict[str, list[tuple[int, float]]]:
    return encode.values_of(decode(data, name))


def notes(parts: Iterable[Decoded]) -> list[tuple[int, str]]:
    return [(n.offset, n.message) for p in parts for n in p.notes]


def expected(path: Path, step: str, without: tuple[str, ...] = ()) -> dict[str, list[float]]:
    """Step and value of every cell that is not blank, in turn, by Python's csv."""
    out: dict[str, list[float]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            for name, cell in row.items():
                if cell and name not in (step, *without):
                    out.setdefault(name, []).extend((float(row[step]), float(cell)))
    return out


@pytest.mark.parametrize(
    ("name", "step"),
    [("sb3_progress.csv", "time/total_timesteps"), ("lightning_metrics.csv", "step")],
)
def test_fixtures_equal_pythons_csv(name: str, step: str) -> None:
    found = values((FIXTURES / name).read_bytes())
    flat = {t: [x for point in points for x in point] for t, points in found.items()}
    assert flat == expected(FIXTURES / name, step)


def test_ray_progress_has_the_tags_of_its_event_file() -> None:
    path = FIXTURES / "ray_progress.csv"
    parts = decode(path.read_bytes(), "progress.csv")
    found = encode.values_of(parts)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [s for s, _ in found["ray/tune/env_runners/episode_return_mean"]] == [1, 2]
    assert found["ray/tune/learners/default_policy/entropy"] == [
        (n, float(r["learners/default_policy/entropy"])) for n, r in enumerate(rows, 1)
    ]
    walls = [w for _, w, _ in encode.points_of(parts)["ray/tune/done"]]
    assert walls == [float(r["timestamp"]) for r in rows]
    assert not [t for t in found if t.rpartition("/")[2] in ("trial_id", "pid", "date", "hostname")]


def test_monitor_sums_the_lengths_and_knows_the_time() -> None:
    path = FIXTURES / "0.monitor.csv"
    lines = path.read_text().splitlines()
    rows = [[float(c) for c in line.split(",")] for line in lines[2:]]
    found = encode.points_of(decode(path.read_bytes(), "0.monitor.csv"))
    steps = [int(sum(r[1] for r in rows[: n + 1])) for n in range(len(rows))]
    assert [s for s, _, _ in found["monitor/r"]] == steps
    assert set(found) == {"monitor/r", "monitor/l"}
    began = float(lines[0].split('"t_start": ')[1].split(",")[0])
    assert [w for _, w, _ in found["monitor/r"]] == pytest.approx([began + r[2] for r in rows])


def test_step_keys_of_the_user_come_first() -> None:
    form = CsvTable().decoder(Options(step_keys=("reward",)), None)
    assert encode.values_of([form.feed(b"step,reward\n1,70\n")]) == {"step": [(70, 1.0)]}


@pytest.mark.parametrize(
    ("name", "head", "claimed"),
    [
        ("x.csv", "prompt,step,score\n" + "word " * 100 + ",1,0.5\n", False),
        ("x.csv", "frame,x\n" + "".join(f"{i // 9},1\n" for i in range(50)), True),
        ("x.csv", "frame,x\n" + "".join(f"{i % 9},1\n" for i in range(50)), False),
        ("x.csv", "frame,loss\n" + "".join(f"{i % 9},1\n" for i in range(50)), True),
        ("x.csv", "frame,x\n" + "".join(f"{-i % 9},1\n" for i in range(50)), False),
    ],
)
def test_claims_of_many_rows(name: str, head: str, claimed: bool) -> None:
    assert CsvTable().claims(Path(name), head.encode()) is claimed


@cases(__file__, "claims")
def test_claims(name: str, head: str, claimed: bool) -> None:
    assert CsvTable().claims(Path(name), head.encode()) is claimed


@cases(__file__, "belonging")
def test_belonging(names: str, kind: str) -> None:
    assert {CsvTable().belonging(name) for name in names.split()} == {Belonging(kind)}


numbers = st.one_of(
    st.floats().map(repr), st.integers().map(str), st.sampled_from(["", "True", "null", "x", "1_0"])
)


@given(
    st.lists(st.lists(numbers, min_size=3, max_size=3), max_size=20),
    st.integers(1, 60),
    st.sampled_from(["\n", "\r\n"]),
)
def test_fast_and_careful_reading_agree(rows: list[list[str]], piece: int, end: str) -> None:
    """A quoted cell at the end sends the same rows the careful way."""
    lines = [",".join((str(i), *row)) for i, row in enumerate(rows)]
    data = end.join(("step,a,b,c", *lines, ""))
    whole = encode.points_of(decode(data))
    assert encode.points_of(decode(data, piece=piece)) == whole
    assert encode.points_of(decode(data + '"",,,' + end)) == whole


def test_zeros_in_a_line_mean_the_same_before_and_behind_a_quote() -> None:
    """Python's csv reader of 3.10 refuses them, and a line without quotes never gets there."""
    lines = "".join(f"{i},0.5,0.1\n" for i in range(9))
    text = f'step,loss,kl\n{lines}9,0.5,0.1\0\n10,"0.5",0.1\n11,0.5,0.1\0\n12,0.5,0.1\n'.encode()
    whole = encode.points_of([CsvTable().decoder().feed(text)])
    assert len(whole["loss"]) == 13
    for cut in range(len(text)):
        decoder = CsvTable().decoder()
        parts = [decoder.feed(text[:cut], more=True), decoder.feed(text[cut:])]
        assert encode.points_of(parts) == whole
