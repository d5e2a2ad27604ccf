"""Grammars of consoles: counters, headings, boxes, bars, and trainers with words of their own.

A bar is an axis only where it moves with the rows; a wrapped row is one row.
Nothing is dropped in silence: lines that look like metrics and became no rows are named.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.cli.program import run
from rltui.formats.console import Console
from rltui.formats.line_decoder import figure_lines
from tests.formats import encode
from tests.formats.consoles import goal, values
from tests.tables import cases

STEPS, FIRST = range(1, 40), (1, 2, 3)


# headings


def test_a_heading_below_many_others_is_read_from_the_second_time() -> None:
    text = "".join(f"moved {'x' * n} of epoch {n % 7}\n\n\n" for n in range(200))
    text += "".join(f"Epoch {n} complete:\n  val loss: {n}.5\n" for n in range(1, 9))
    assert [step for step, _ in values(text)["val loss"]] == list(range(2, 9))


# tables with a header


# bars


def test_bars_without_a_position_have_the_step_of_the_message() -> None:
    bar = "\rEpoch {e}: : 0it [{e}:20, ?it/s, loss=1.5, v_num=0, avg_ep_reward=-.0{n}]"
    text = "".join(
        bar.format(e=e, n=e + 9)
        + bar.format(e=e, n=e + 10)
        + f"Epoch {e}, global step {8 * e + 8}: 'avg_ep_reward' was not in top 1\n"
        for e in range(9)
    )
    found = values(text)["avg_ep_reward"]
    assert [s for s, _ in found] == [8 * e + 8 for e in range(9)]
    assert [v for _, v in found] == [pytest.approx(-float(f".0{e + 10}")) for e in range(9)]


def test_tianshou_prints_each_epoch_twice() -> None:
    bar = (
        "Epoch #{n}: 100%|##########| 2048/2048 [00:04<00:00, 491.23it/s, env_step={s},"
        " len=75, n_ep=24, rew=-{n}.97]"
    )
    text = "".join(
        "\n\r{b}\x1b[A\r{b}\nEpoch #{n}: test_reward: {n}.5 ± 0.25, "
        "best_reward: 9.5 ± 0.1 in #1\n".format(b=bar.format(n=n, s=n * 2048), n=n)
        for n in STEPS
    )
    found = values(text)
    assert found["rew"] == [(n * 2048, pytest.approx(-n - 0.97)) for n in STEPS]
    assert found["test_reward"] == [(n * 2048, n + 0.5) for n in STEPS]
    assert goal(text) is None


def test_the_end_of_a_bar_that_begins_again_is_no_goal() -> None:
    text = "".join(
        f"\r{12 * (n % 8)}%|##| {n % 8}/8 [00:01<00:02, 1.2it/s, loss={n}.5]" for n in range(1, 25)
    )
    assert goal(text + "\n") == 0
    assert [step for step, _ in values(text + "\n")["loss"]] == list(range(1, 25))


@pytest.mark.parametrize(
    "line",
    [
        "1/1 " + "━" * 33_000 + "=]",
        "Avg episode reward: [(" * 5_000,
        "global_step=1, " * 7_000 + " episodic_return=",
        "step 1 loss: " + "1" * 1_880 + "!",
        "loaded checkpoint step 12 sha: " + "1234567890" * 180 + " x y",
        "A. Step: 1. " + "Mean Reward: 1. " * 60_000,
        "Avg episode reward: [(" + "1" * 5_000 + ", '1')]",
        "-----------------\n| step | " + "1" * 5_000 + " |\n-----------------",
    ],
    ids=["bar", "list", "steps", "digits", "hash", "fields", "policy", "box"],
)
def test_hostile_lines_are_passed_over(line: str) -> None:
    begun = "Fps is (10 sec: 1.0). Total num frames: 1.\n"
    assert "loss" not in values(begun + (line + "\n") * 3)


# trainers


# forms of rows: short words, large numbers, panels, evaluations


@pytest.mark.parametrize(
    ("head", "scale"),
    [
        ("[{n}.5K steps]", 1000),
        ("[{n}.5M env steps]", 10**6),
        ("[{n}.5K frames]", 1000),
        ("[{n}.5k timesteps]", 1000),
    ],
)
@pytest.mark.parametrize("pairs", ["reward: 2.5, loss=0.5", "reward 2.5 | loss 0.5"])
def test_a_counter_before_its_name(head: str, scale: int, pairs: str) -> None:
    text = "".join(f"{head.format(n=n)} {pairs}\n" for n in FIRST)
    steps = [n * scale + scale // 2 for n in FIRST]
    assert values(text) == {
        "reward": [(step, 2.5) for step in steps],
        "loss": [(step, 0.5) for step in steps],
    }


_SB3 = b"""\
------------------------------
| time/              |       |
|    total_timesteps | %d |
| rollout/           |       |
|    ep_rew_mean     | 20    |
------------------------------
"""


@cases(__file__, "test_the_bar_of_rich_has_the_planned_steps_where_it_counts_those_of_the_rows")
def test_the_bar_of_rich_has_the_planned_steps_where_it_counts_those_of_the_rows(
    bar: str, total: int | None
) -> None:
    log = b"".join(_SB3 % step for step in (2048, 4096, 6144)) + bar.encode() + b"\n"
    found: dict[str, object] = {}
    for part in encode.feed_all(Console().decoder(), log):
        found.update(part.hparams)
    assert found.get("total_steps") == total


BEGIN = "  0%|          | 0/200 [00:00<?, ?it/s]\n"
END = "100%|##########| 200/200 [10:00<00:00,  3.00s/it]\n"
SUMMARY = (
    "{'train_runtime': 600.0, 'train_steps_per_second': 0.33, 'train_loss': 1, 'epoch': 1.0}\n"
)


def row(n: int) -> str:
    return (
        f"{{'loss': {2 - n / 200:.3f}, 'grad_norm': 1.2, 'learning_rate': 1e-05, "
        f"'epoch': {n / 200:.3f}}}\n"
    )


def rows(count: int, every: int = 1) -> str:
    return "".join(row(n * every) for n in range(1, count + 1))


def steps(text: str) -> list[int]:
    return [step for step, _ in values(text)["train/loss"]]


@pytest.mark.parametrize("end", ["", END, END + SUMMARY])
@pytest.mark.parametrize("count", [2, 50, 200])
def test_rows_behind_a_bar_that_stands_still_are_counted(count: int, end: str) -> None:
    assert steps(BEGIN + rows(count) + end) == list(range(1, count + 1))


def test_the_end_of_the_bar_is_no_plan_for_rows_that_were_counted() -> None:
    assert goal(BEGIN + rows(20, every=10) + END) is None
    assert goal(BEGIN + rows(200) + END) == 200


def test_a_bar_that_moves_is_the_axis() -> None:
    text = BEGIN + "".join(
        f"{row(n * 10)} {n * 5}%|#  | {n * 10}/200 [00:{n:02}<01:00,  1.00s/it]\n"
        for n in range(1, 11)
    )
    assert steps(text) == list(range(10, 101, 10))
    assert goal(text) == 200


def test_a_resumed_bar_that_stands_still() -> None:
    text = " 50%|#####     | 100/200 [00:00<?, ?it/s]\n" + rows(20)
    assert steps(text) == list(range(101, 121))


@given(st.integers(12, 90), st.integers(1, 30))
def test_a_wrapped_row_is_one_row(width: int, count: int) -> None:
    text = "".join(
        "".join(f"{line[i : i + width]}\n" for i in range(0, len(line), width))
        for line in rows(count).splitlines()
    )
    assert values(text) == values(rows(count))


_ROWS = range(100)
_KNOWN = "".join(f"step {i}: loss 0.{i:02d}\n" for i in range(5))
_SENTENCES = "".join(f"[{i}] begins\nthe reward was {i / 10:.3f}\n" for i in _ROWS)
_ARROWS = "".join(f"done; reward -> {i / 10:.3f}; kl -> {1 / (i + 1):.4f}\n" for i in _ROWS)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("train.log", _SENTENCES, "100 lines look like metrics and became no rows"),
        ("train.log", _SENTENCES, "first line 2: the reward was 0.000"),
        ("train.log", _KNOWN + _ARROWS, "100 lines look like metrics and became no rows"),
        (
            "progress.csv",
            "step,reward,loss\n" + "".join(f"{i},{i / 10}\n" for i in _ROWS),
            "line 2 has 2 cells, the header 3 names",
        ),
        (
            "metrics.jsonl",
            "".join(json.dumps({"step": i, "loss": 0.1}) + "\n" for i in range(5))
            + "".join(json.dumps({"reward": i, "loss": 0.1}) + "\n" for i in _ROWS),
            "rows so far have figures and no step",
        ),
    ],
)
@pytest.mark.parametrize("verb", ["check", "doctor"])
def test_lines_that_became_no_rows_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    beside = tmp_path / "well" / "metrics.jsonl"
    beside.parent.mkdir()
    beside.write_text("".join(json.dumps({"step": i, "loss": 0.1}) + "\n" for i in range(9)))
    run([verb, str(tmp_path)])
    captured = capsys.readouterr()
    whole = " ".join((captured.out + captured.err).split())
    assert said in whole


@cases(__file__, "lines_whose_names_have_rows_are_none")
def test_lines_whose_names_have_rows_are_none(text: str, times: int) -> None:
    assert figure_lines((text * times).encode(), ["actor/kl", "reward"]) is None


@given(st.binary(max_size=400))
def test_any_bytes(text: bytes) -> None:
    found = figure_lines(text * 3)
    assert found is None or (found.lines > 0 and found.text.isprintable())
