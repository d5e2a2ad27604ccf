"""Forms of rows in consoles: short words, large numbers, panels, evaluations."""

from __future__ import annotations

import pytest

from rltui.formats.console import Console
from tests.formats import encode
from tests.formats.consoles import guessed, values

STEPS = (1, 2, 3)


@pytest.mark.parametrize(
    "line",
    [
        "step: {step}, loss: {loss}",
        "loss: {loss} | step: {step}",
        "------\n| step | {step} |\n| loss | {loss} |\n------",
    ],
)
def test_steps_and_values_in_thousands(line: str) -> None:
    steps = {"900": 900, "1.2K": 1200, "2.37K": 2370, "1.5M": 1500000}
    text = "".join(line.format(step=step, loss="12.3k") + "\n" for step in steps)
    assert values(text) == {"loss": [(n, 12300.0) for n in steps.values()]}


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
    text = "".join(f"{head.format(n=n)} {pairs}\n" for n in STEPS)
    steps = [n * scale + scale // 2 for n in STEPS]
    assert values(text) == {
        "reward": [(step, 2.5) for step in steps],
        "loss": [(step, 0.5) for step in steps],
    }


@pytest.mark.parametrize(
    ("rest", "names"),
    [
        (": mean {n}.5 std 0.25", {"eval/mean": None, "eval/std": 0.25}),
        (": mean {n}.5, std 0.25, max 9", {"eval/mean": None, "eval/std": 0.25, "eval/max": 9.0}),
        (" - mean reward = {n}.5 +/- 0.1", {"eval/mean reward": None}),
        (": {n}.5", {"Evaluation over 10 episodes": None}),
    ],
)
def test_an_evaluation_has_the_step_of_the_row_above(
    rest: str, names: dict[str, float | None]
) -> None:
    text = "".join(
        f"step {n} loss: 0.5\nEvaluation over 10 episodes{rest.format(n=n)}\n" for n in STEPS
    )
    expected = {
        name: [(n, n + 0.5 if value is None else value) for n in STEPS]
        for name, value in names.items()
    }
    assert values(text) == {"loss": [(n, 0.5) for n in STEPS], **expected}
    assert guessed(text) == set(names)


def test_pairs_around_a_row_in_a_section_have_its_step() -> None:
    rule = "-" * 60 + "\n"
    text = rule + "".join(
        f"|E2E latency=4.7s |Generate time=1.7s\n"
        f"Epoch: 0 | Step: {n} | Actor Loss: 0.{n} | Critic Loss: 0.5\n"
        f"Training => Latency: 0.8s, TFLOPs: 8.9\n"
        f"Average reward score: -0.{n}\n{rule}"
        for n in (*STEPS, 4)
    )
    found = values(text)
    assert found["Average reward score"][-3:] == [(n, -n / 10) for n in (2, 3, 4)]
    assert found["Generate time"][-3:] == [(n, 1.7) for n in (2, 3, 4)]


_SB3 = b"""\
------------------------------
| time/              |       |
|    total_timesteps | %d |
| rollout/           |       |
|    ep_rew_mean     | 20    |
------------------------------
"""


@pytest.mark.parametrize(
    ("bar", "total"),
    [
        (" 100% ━━━━━━━━━━━━ 6,144/6,000  [ 0:00:07 < 0:00:00 , 796 it/s ]", 6000),
        ("  77% ━━━━━━━━━╸   6,144/8,000  [ 0:00:07 < 0:00:02 , 796 it/s ]", 8000),
        ("  77% ━━━━━━━━━╺━  6,300/8,000  [ 0:00:07 < -:--:-- , 796 it/s ]", 8000),
        (" 100% ━━━━━━━━━━━━ 100/100  [ 0:00:07 < 0:00:00 , 796 it/s ]", None),
        (" 100% ━━━━━━━━━━━━ 900,000/900,000  [ 0:00:07 < 0:00:00 , 796 it/s ]", None),
        ("Downloading ━━━━━━━━━━━━ 6,144/8,000 MB 0:00:03", None),
    ],
)
def test_the_bar_of_rich_has_the_planned_steps_where_it_counts_those_of_the_rows(
    bar: str, total: int | None
) -> None:
    log = b"".join(_SB3 % step for step in (2048, 4096, 6144)) + bar.encode() + b"\n"
    found: dict[str, object] = {}
    for part in encode.feed_all(Console().decoder(), log):
        found.update(part.hparams)
    assert found.get("total_steps") == total
