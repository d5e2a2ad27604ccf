"""One CSV file without a header for each metric."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.formats import Decoded
from rltui.formats.series_csv import SeriesCsv
from rltui.sources import Reader
from tests.formats import encode


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


@pytest.mark.parametrize(
    ("path", "text", "claimed"),
    [
        ("loss.csv", "1,1000,0.5\n2,2000,0.25\n", True),
        ("loss.csv", "1,1000,0.5\n", False),
        ("d3rlpy_logs/x/loss.csv", "1,1000,0.5\n", True),
        ("ratings.csv", "1,31,2.5\n1,1029,3.0\n1,1061,3.0\n2,10,4.0\n", False),
        ("xyz.csv", "0.5,1,2\n1.5,2,3\n", False),
        ("grid.csv", "0,0,1\n0,1,1\n1,0,1\n", False),
        ("xy.csv", "1,2\n2,3\n", False),
        ("scalars/loss.csv", "5,2\n3,3\n", False),
        ("scalars/loss.csv", "step,loss\n3,3\n", False),
        ("scalars/loss.csv", "", False),
        ("episode_rewards.txt", "0.5\n" * 9, True),
        ("scores.csv", " -0.5\r\n" * 9, True),
        ("scores.csv", "-0.5\n" * 3, False),
        ("vector.csv", "0.5\n" * 9, False),
        ("rewards.txt", "0.5\n" * 9 + "done\n", False),
        ("rewards.txt", "1,2\n" * 9, False),
        ("four.csv", "1,10,2,3\n2,20,3,4\n", False),
    ],
)
def test_claims(path: str, text: str, claimed: bool) -> None:
    assert SeriesCsv().claims(Path(path), text.encode()) is claimed


@pytest.mark.parametrize("text", ["1,-0.0\n\n", "1," + "0" * 5000 + "\n2,1\n"])
def test_points_do_not_depend_on_the_pieces(text: str) -> None:
    path = Path("run/scalars/loss.csv")
    whole = [SeriesCsv().decoder(path=path).feed(text.encode())]
    decoder = SeriesCsv().decoder(path=path)
    parts = [decoder.feed(text[at : at + 5].encode()) for at in range(0, len(text), 5)]
    assert encode.points_of(whole) == encode.points_of(parts)
