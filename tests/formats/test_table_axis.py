"""Which column of a table is the step, and tables that have none.

One CSV file without a header for each metric.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.formats.base import Decoded
from rltui.formats.series_csv import SeriesCsv
from rltui.formats.table import CsvTable
from rltui.sources import Reader
from tests.formats import encode
from tests.tables import cases

NO_STEP = "EpLenMean,EpRewMean,KL\n" + "".join(f"100.0,{i - 60.0},0.004\n" for i in range(60))
CYCLES = "Episode,Win,Speed\n" + "".join(f"{i % 8},{i / 60},12.5\n" for i in range(60))
RESUMED = "step,loss\n" + "".join(
    ("step,loss\n" if i == 30 else "") + f"{i if i < 30 else i - 10},{i / 4}\n" for i in range(60)
)
EPOCHS = "loss,epoch\n" + "".join(f"{i / 4},{(i + 1) / 32}\n" for i in range(60))
CONSTANT = "iteration,reward\n" + "".join(f"7,{i}\n" for i in range(60))
TABLES = {"no step": NO_STEP, "cycles": CYCLES, "epochs": EPOCHS, "constant": CONSTANT}


def decoded(text: str, name: str = "progress.csv", piece: int | None = None) -> encode.Points:
    assert CsvTable().claims(Path(name), text.encode())
    decoder = CsvTable().decoder(None, Path(name))
    return encode.points_of(encode.feed_all(decoder, text.encode(), piece=piece))


def steps(points: encode.Points, tag: str) -> list[int]:
    return [p[0] for p in points[tag]]


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_rows_are_counted_where_no_column_is_a_step(text: str) -> None:
    found = decoded(text)
    assert all(decoded(text, piece=piece) == found for piece in (1, 64))
    assert set(found) == set(text.partition("\n")[0].split(","))
    assert all(steps(found, tag) == list(range(1, 61)) for tag in found)
    parts = encode.feed_all(CsvTable().decoder(None, Path("x.csv")), text.encode(), piece=100)
    assert parts[-1].steps_are_row_numbers


def test_a_repeated_header_is_a_resume_and_not_a_cycle() -> None:
    found = decoded(RESUMED)
    assert steps(found, "loss") == [*range(30), *range(20, 50)]
    often = "update,frames,loss\n".join(["", *(f"{i},{i * 2048},0.5\n" for i in range(10))])
    assert steps(decoded(often, "log.csv"), "loss") == [i * 2048 for i in range(10)]


@pytest.mark.parametrize("piece", [None, 1, 64])
def test_a_header_with_another_column_keeps_the_choice(piece: int | None) -> None:
    rows = "".join(f"{i % 8},{i / 2}\n" for i in range(24))
    more = "".join(f"{i % 8},{i / 2},0.5\n" for i in range(24, 40))
    found = decoded(f"episode,reward\n{rows}episode,reward,loss\n{more}", piece=piece)
    assert steps(found, "reward") == list(range(1, 41))
    assert steps(found, "episode") == list(range(1, 41))
    assert steps(found, "loss") == list(range(25, 41))
    ticks = "".join(f"{i % 5},{i * 10},0.5\n" for i in range(40))
    more = "".join(f"{i % 5},{i * 10},0.5,1\n" for i in range(40, 60))
    header = "Episode,Total env ticks,loss"
    found = decoded(f"{header}\n{ticks}{header},kl\n{more}", piece=piece)
    assert steps(found, "loss") == [i * 10 for i in range(60)]


@cases(__file__, "step_columns_of_frameworks")
def test_step_columns_of_frameworks(header: str, step: str) -> None:
    delimiter = next((d for d in ("\t", ";", ",", " ") if d in header), ",")
    names = (
        [step, "mean, reward"]
        if '"' in header
        else header.split(None if delimiter == " " else delimiter)
    )
    rows = [delimiter.join(str(100 * i + n) for n in range(len(names))) for i in range(1, 5)]
    found = decoded("\n".join([header, *rows, ""]), "progress.txt")
    at = names.index(step)
    assert set(found) == set(names) - {step}
    assert all(steps(found, t) == [100 * i + at for i in range(1, 5)] for t in found)


@cases(__file__, "data_is_no_log")
def test_data_is_no_log(name: str, text: str) -> None:
    assert not CsvTable().claims(Path(name), text.encode())


@given(
    st.lists(st.integers(-3, 12), min_size=1, max_size=260),
    st.lists(st.integers(0, 3000), max_size=6),
)
def test_any_steps_in_any_pieces(column: list[int], cuts: list[int]) -> None:
    text = "Episode,env ticks,loss\n" + "".join(f"{v},{i},{i}\n" for i, v in enumerate(column))
    data = text.encode()
    places = sorted({0, len(data), *(c for c in cuts if c < len(data))})
    decoder = CsvTable().decoder(None, Path("x.csv"))
    parts = [decoder.feed(data[a:b]) for a, b in pairwise(places)]
    whole = encode.points_of([CsvTable().decoder(None, Path("x.csv")).feed(data)])
    assert encode.points_of(parts) == whole
    assert len(whole["loss"]) == len(column)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def read(logdir: Path) -> dict[str, dict[str, list[int]]]:
    runs: dict[str, list[Decoded]] = {}
    for batch in Reader([logdir]).read_all():
        runs.setdefault(batch.run.name, []).append(Decoded(batch.items))
    return {
        name: {t: [p[0] for p in points] for t, points in encode.points_of(parts).items()}
        for name, parts in runs.items()
    }


def test_all_files_of_a_d3rlpy_directory_are_one_run(tmp_path: Path) -> None:
    for seed in (1, 2):
        run = tmp_path / f"CQL_2024013112345{seed}"
        for name in ("critic_loss", "actor_loss", "time_step"):
            write(run / f"{name}.csv", "1,1000,0.5\n2,2000,0.25\n3,3000,nan\n")
        write(run / "params.json", '{"batch_size": 256, "quantiles": [0.1, 0.9]}')
    found = read(tmp_path)
    assert set(found) == {"CQL_20240131123451", "CQL_20240131123452"}
    names = {n: [1000, 2000, 3000] for n in ("critic_loss", "actor_loss", "time_step")}
    assert all(tags == names for tags in found.values())


def test_all_files_below_scalars_are_one_run(tmp_path: Path) -> None:
    write(tmp_path / "exp/a/scalars/train/reward.csv", "0,1.5\n100,2.5\n")
    write(tmp_path / "exp/a/scalars/eval/deep/reward.csv", "100,2.5\n")
    write(tmp_path / "exp/a/scalars/loss.csv", "0,inf\n100,2.5\n")
    names = {"train/reward": [0, 100], "eval/deep/reward": [100], "loss": [0, 100]}
    assert read(tmp_path) == {"exp/a": names}
    assert read(tmp_path / "exp/a/scalars") == {".": names}


def test_one_number_a_line_is_counted(tmp_path: Path) -> None:
    write(tmp_path / "dqn/rewards.txt", "".join(f"{i / 4}\n" for i in range(9)) + "2.5")
    write(tmp_path / "dqn/losses.csv", "0.5\n" * 8)
    assert read(tmp_path) == {"dqn": {"losses": list(range(1, 9)), "rewards": list(range(1, 11))}}


@cases(__file__, "claims")
def test_claims(path: str, text: str, claimed: bool) -> None:
    assert SeriesCsv().claims(Path(path), text.encode()) is claimed


@pytest.mark.parametrize("text", ["1,-0.0\n\n", "1," + "0" * 5000 + "\n2,1\n"])
def test_points_do_not_depend_on_the_pieces(text: str) -> None:
    path = Path("run/scalars/loss.csv")
    whole = [SeriesCsv().decoder(path=path).feed(text.encode())]
    decoder = SeriesCsv().decoder(path=path)
    parts = [decoder.feed(text[at : at + 5].encode()) for at in range(0, len(text), 5)]
    assert encode.points_of(whole) == encode.points_of(parts)
