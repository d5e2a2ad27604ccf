"""Which column of a table is the step, and tables that have none."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.formats.table import CsvTable
from tests.formats import encode

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
    assert set(found) == set(text.partition("\n")[0].split(","))
    assert all(steps(found, tag) == list(range(1, 61)) for tag in found)
    parts = encode.feed_all(CsvTable().decoder(None, Path("x.csv")), text.encode(), piece=100)
    assert parts[-1].steps_are_row_numbers


@pytest.mark.parametrize("text", [*TABLES.values(), RESUMED], ids=[*TABLES, "resumed"])
@pytest.mark.parametrize("piece", [1, 7, 64, 500])
def test_the_points_do_not_depend_on_the_pieces(text: str, piece: int) -> None:
    assert decoded(text, piece=piece) == decoded(text)


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


@pytest.mark.parametrize(
    ("header", "step"),
    [
        ("EpLenMean,EpRewMean,EpisodesSoFar,TimestepsSoFar,TimeElapsed", "TimestepsSoFar"),
        ("replay_buffer/size,trainer/QF Loss,evaluation/num steps total,"
         "exploration/num steps total,Epoch", "exploration/num steps total"),
        ("Evaluation/AverageReturn,Evaluation/Iteration,TotalEnvSteps", "TotalEnvSteps"),
        ("Diagnostics/CumSteps,ReturnAverage,lossAverage", "Diagnostics/CumSteps"),
        ("rollout/ep_rew_mean,time/total_timesteps,train/loss", "time/total_timesteps"),
        ("serial_timesteps,nupdates,total_timesteps,eprewmean", "total_timesteps"),
        ("steps\tepisodes\telapsed\tmean\tmedian", "steps"),
        ("Epoch\tAverageEpRet\tStdEpRet\tTotalEnvInteracts\tLossPi", "TotalEnvInteracts"),
        ("Gradient Ticks;loss", "Gradient Ticks"),
        ("epoch,loss,lr", "epoch"),
        ("actor_steps,walltime,episode_return", "actor_steps"),
        ("Epoch   Reward     Loss", "Epoch"),
        ('"Training step","mean, reward"', "Training step"),
    ],
)  # fmt: skip
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


def test_columns_lined_up_with_blanks() -> None:
    text = "  epoch    loss     acc\n" + "".join(
        f"{i:7d} {i / 8:7.3f}\t {0.5:.2f} \n" for i in range(9)
    )
    for piece in (None, 1, 11):
        found = decoded(text, "results.txt", piece)
        assert steps(found, "loss") == list(range(9))
        assert set(found) == {"loss", "acc"}


def test_a_download_of_tensorboard_is_named_by_its_file() -> None:
    text = "Wall time,Step,Value\n1.7e9,10,0.5\n1.7e9,20,0.25\n"
    assert set(decoded(text, "run-ppo_1-tag-rollout_ep_rew_mean.csv")) == {"rollout_ep_rew_mean"}
    assert set(decoded(text, "ppo.csv")) == {"Value"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("iris.csv", "sepal_length,sepal_width,species\n5.1,3.5,0\n4.9,3.0,0\n"),
        ("housing.csv", "longitude,latitude,age,price\n1.5,2.5,3,100\n1.6,2.6,4,200\n"),
        ("train.csv", "id,text,label\n1,good film,1\n2,bad film,0\n"),
        ("preds.csv", "id,prediction,loss\n1,0.5,0.1\n2,0.25,0.3\n"),
        ("stock.csv", "date,open,close,return\n2020-01-01,1,2,0.1\n2020-01-02,1,2,0.1\n"),
        ("xy.csv", "x,y\n0,1\n1,2\n2,3\n"),
        ("games.csv", "game,score\n3,1\n1,2\n2,3\n"),
        ("log.txt", "Using cpu device\nWrapping the env\n"),
        ("results.txt", "accuracy of all models\n0.5 0.25 0.75 0.1\n"),
        ("scores.txt", "loss reward\nnone yet\n"),
        ("train.log", "epoch loss\n"),
    ],
)  # fmt: skip
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
