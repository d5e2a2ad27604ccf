"""Grammars of consoles: counters, headings, boxes, bars, and trainers with words of their own."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.formats.console import Console
from tests.formats import encode
from tests.formats.consoles import decode, goal, guessed, restarts, values

STEPS = range(1, 40)
SETTINGS = (
    "Namespace(algo='ppo', batch_size=256, clip_eps=0.2, epochs={n}, frames=1000000, lr=0.001)\n",
    "Config(step={n}, loss=0.5, lr=0.001)\n",
    "{{'epochs': {n}, 'lr': 0.001, 'loss_weight': 1.0}}\n",
    "{{ _: [], epochs: {n}, lr: 0.001, '$0': 'train.js' }}\n",
    "train.py --epochs {n} --lr 0.001 --seed=1\n",
    "train:\n  steps: {n}\n  batch_size: 32\n  lr: 0.001\n  gamma: 0.99\n  reward_scale: 0.5\n",
    '{{\n  "epochs": {n},\n  "lr": 0.001,\n  "loss_weight": 1.0\n}}\n',
    "epochs: {n}\nlr: 0.1\nalpha: 0.2\n",
)


def starter(step: int) -> str:
    return f"U {step} | F {step * 2048:06d} | FPS 0250 | rR:μσmM 0.{step:02d} 0.00 0.00 0.00\n"


# settings


@pytest.mark.parametrize("form", SETTINGS)
def test_settings_are_no_rows(form: str) -> None:
    assert values("".join(form.format(n=n) for n in (4, 4, 8, 100))) == {}


def test_settings_between_rows_change_nothing() -> None:
    rows = [starter(n) for n in STEPS]
    text = SETTINGS[0].format(n=4) + "".join(rows[:19]) + SETTINGS[0].format(n=4)
    found = values(text + "".join(rows[19:]))
    assert found["FPS"] == [(n * 2048, 250.0) for n in STEPS]
    assert found["rreturn_mean"] == [(n * 2048, pytest.approx(n / 100)) for n in STEPS]
    assert "lr" not in found


def test_a_line_of_another_loop_is_no_row_and_no_goal() -> None:
    text = "Loading checkpoint shards: 100%|##| 3/3 [00:01<00:00, 2.1it/s]\n"
    text += "Map: 100%|##| 500/500 [00:01<00:00, 2.1it/s]\nAdapter Epoch 4/5 loss: 0.0015\n"
    text += "step 10 loss=0.5\nstep 20 loss=0.4\n"
    assert values(text) == {"loss": [(10, 0.5), (20, 0.4)]}
    assert goal(text) is None


def test_a_counter_that_starts_again_below_a_finer_one_is_no_axis() -> None:
    text = "".join(
        f"Episode # {8 * n} | Current time step: {300 * n} | Reward: {n}.5 | Length: 5.0\n"
        + "".join(f"Episode # {e} | Win: {e} | Reward: {n}.25\n" for e in range(8))
        for n in (1, 2, 3)
    )
    assert values(text)["Reward"] == [(300, 1.5), (600, 2.5), (900, 3.5)]
    assert "Win" not in values(text)


# a counter anywhere in a line of pairs


@pytest.mark.parametrize(
    ("form", "steps"),
    [
        ("loss=0.5 | reward=1.2 | step={n}", (7, 8)),
        ("[train] avg_reward: 1.2, timesteps: {n}, loss: 0.5", (7, 8)),
        ("Episode : 1 \t\t Timestep : {n} \t\t Average Reward : 1.2", (7, 8)),
        ("Total T: {n} Episode Num: 3 Episode T: 87 Reward: 1.200", (7, 8)),
        ("Episode: {n}, Steps: 200, Reward: 1.2", (7, 8)),
        ("Updates 1, num timesteps {n}, FPS 1234", (7, 8)),
        (
            " [2024-01-01 10:00:00] iteration        {n}/    1000 | consumed samples:       160 |"
            " elapsed time per iteration (ms): 1234.5 | global batch size:    16 |"
            " lm loss: 3.1E+00 | loss scale: 1.0 | number of nan iterations:   0 |",
            (7, 8),
        ),
    ],
)
def test_the_finest_counter_of_a_line_is_its_step(form: str, steps: tuple[int, int]) -> None:
    found = values("hello\n" + "".join(form.format(n=n) + "\n" for n in steps))
    assert found
    assert all([s for s, _ in points] == list(steps) for points in found.values())


def test_names_between_bars_are_whole() -> None:
    text = "".join(
        f" iteration  {n}/ 90 | elapsed time per iteration (ms): 9.5 | lm loss: {n}.5E+00 |\n"
        for n in (1, 2)
    )
    assert values(text) == {
        "elapsed time per iteration (ms)": [(1, 9.5), (2, 9.5)],
        "lm loss": [(1, 1.5), (2, 2.5)],
    }
    assert goal(text) == 90


# headings


def test_pairs_below_a_heading_have_its_step() -> None:
    text = "".join(
        f"Epoch: {n}, global_step={n * 25600}\nEvaluated 400 steps in 0 episodes\n"
        "SPS: 1211, pg_loss=-0.0057, v_loss=0.0058\n"
        for n in STEPS
    )
    expected = {"SPS": 1211.0, "pg_loss": -0.0057, "v_loss": 0.0058}
    found = values(text)
    assert found.pop("Epoch") == [(n * 25600, float(n)) for n in STEPS]
    assert found == {tag: [(n * 25600, v) for n in STEPS] for tag, v in expected.items()}
    assert not guessed(text)


def test_two_columns_below_a_heading() -> None:
    text = "".join(
        f"[INFO 10:00:{n:02d}] my_main Recent Stats | t_env:     {n * 10000} | Episode: {n * 200}\n"
        f"battle_won_mean:           0.{n:02d}00\tep_length_mean:           31.5\n"
        f"return_mean:               {n / 2}\n"
        for n in STEPS
    )
    found = values(text)
    assert found["battle_won_mean"] == [(n * 10000, pytest.approx(n / 100)) for n in STEPS]
    assert found["ep_length_mean"] == [(n * 10000, 31.5) for n in STEPS]
    assert found["return_mean"] == [(n * 10000, n / 2) for n in STEPS]
    assert found["Episode"] == [(n * 10000, n * 200.0) for n in STEPS]


def test_the_prefixes_of_a_logger_are_no_part_of_names() -> None:
    head = "2025-08-28 21:17:26,780 - trainer.main - INFO - "
    text = "".join(
        f"{head}Epoch {n} complete:\n{head}  - Avg Reward: {n}.5\n{head}  Avg KL: 0.01\n"
        for n in (1, 2, 3)
    )
    assert values(text) == {
        "Avg Reward": [(1, 1.5), (2, 2.5), (3, 3.5)],
        "Avg KL": [(1, 0.01), (2, 0.01), (3, 0.01)],
    }


def test_pairs_right_below_a_row_are_a_guess() -> None:
    text = "".join(
        f"Updates {n}, num timesteps {n * 100}, FPS 12 \n"
        f" Last 10 training episodes: mean/median reward {n}.5/11.1, min/max reward 1.0/2.0\n"
        for n in (1, 2, 3)
    )
    assert values(text)["mean reward"] == [(100, 1.5), (200, 2.5), (300, 3.5)]
    assert guessed(text) == {"mean reward", "median reward", "min reward", "max reward"}


def test_pairs_below_a_heading_may_come_late() -> None:
    text = "".join(f"Epoch {n}/99\n" for n in range(60))
    text += "".join(f"Epoch {n}/99\nhello\nval loss: 0.{n}\n" for n in range(60, 99))
    assert [step for step, _ in values(text)["val loss"]] == list(range(60, 99))


def test_a_heading_below_many_others_is_read_from_the_second_time() -> None:
    text = "".join(f"moved {'x' * n} of epoch {n % 7}\n\n\n" for n in range(200))
    text += "".join(f"Epoch {n} complete:\n  val loss: {n}.5\n" for n in range(1, 9))
    assert [step for step, _ in values(text)["val loss"]] == list(range(2, 9))


def test_a_name_that_comes_often_below_a_heading_is_not_read() -> None:
    text = "".join(
        f"Epoch {n}/3\n" + "batch loss: 0.5\n" * 5 + "val loss: 0.4\n" for n in (1, 2, 3)
    )
    assert list(values(text)) == ["val loss"]


# sections between rules


@pytest.mark.parametrize("rule", ["----------", "==========", "**********", "##########"])
def test_the_counter_of_a_section_may_come_anywhere(rule: str) -> None:
    text = "".join(
        f"{rule}\nmean reward: {n}.5\nloss: 0.5\ntimesteps: {n * 2048}\nkl: 0.01\n" for n in STEPS
    )
    found = values(text + rule + "\n")
    assert found["mean reward"] == [(n * 2048, n + 0.5) for n in STEPS]
    assert [s for s, _ in found["kl"]] == [n * 2048 for n in STEPS]


def test_rules_around_a_heading() -> None:
    text = "".join(f"{'=' * 20}\nStep {n}\n{'=' * 20}\nloss: {n}.5\nreward = 1\n\n" for n in STEPS)
    assert values(text)["loss"] == [(n, n + 0.5) for n in STEPS]


# boxes


def test_columns_between_dashes() -> None:
    dashes = f"{'-' * 29}  {'-' * 10}\n"
    text = "".join(
        f"2024-01-01 10:00:00 | [trpo] Saved\n{dashes}Evaluation/AverageReturn       {-n * 3.5}\n"
        f"TotalEnvSteps                  {n * 4000}\n{dashes}"
        for n in STEPS
    )
    assert values(text) == {"Evaluation/AverageReturn": [(n * 4000, -n * 3.5) for n in STEPS]}


@pytest.mark.parametrize(
    ("top", "side", "bottom"),
    [("+------+-----+", "|", "+------+-----+"), ("┏━━━┳━━━┓", "┃", "┗━━━┻━━━┛")],
)
def test_boxes_of_other_characters(top: str, side: str, bottom: str) -> None:
    rows = (("key", "value"), ("step", "{n}"), ("loss", "0.5"), ("kl", "{n}.5"))
    body = "".join(f"{side} {key} {side} {value} {side}\n" for key, value in rows)
    text = "".join(f"{top}\n{body.format(n=n)}{bottom}\n" for n in STEPS)
    assert values(text) == {
        "loss": [(n, 0.5) for n in STEPS],
        "kl": [(n, n + 0.5) for n in STEPS],
    }


def test_several_pairs_in_a_line_of_a_box_below_its_step() -> None:
    text = "".join(
        f"Epoch 1/9 Step {n}/937 Train step {n}/8433 done.\n╒════╤════╤════╤════╕\n"
        f"│ ppo_actor/loss/avg │ 1.0{n:02d}0e+00 │ reward/avg │ 5.0000e-01 │\n"
        "├────┼────┼────┼────┤\n│ lr │ 1.0000e-05 │ │ │\n╘════╧════╧════╧════╛\n"
        for n in STEPS
    )
    found = values(text)
    assert [s for s, _ in found["ppo_actor/loss/avg"]] == list(STEPS)
    assert found["reward/avg"] == [(n, 0.5) for n in STEPS]
    assert found["lr"] == [(n, 1e-05) for n in STEPS]


def test_names_of_a_category_in_a_panel_that_wraps() -> None:
    text = "".join(
        f"╭──────────────── Metrics ────────────────╮\n"
        f"│  objective  kl_avg: 0.{n:02d} | entropy: 1.20 | │\n"
        f"│             scores: 0.5                 │\n"
        f"│  other      training_step: {n} | lr: 1e-6     │\n"
        f"╰─────────────────────────────────────────╯\n"
        for n in STEPS
    )
    found = values(text)
    assert found["objective/kl_avg"] == [(n, pytest.approx(n / 100)) for n in STEPS]
    assert found["objective/scores"] == [(n, 0.5) for n in STEPS]
    assert found["lr"] == [(n, 1e-06) for n in STEPS]


def test_one_box_with_a_framework_s_step_is_enough() -> None:
    dashes = "-" * 38 + "\n"
    text = f"{dashes}| rollout/return   | -110     |\n| total/steps      | 2000     |\n{dashes}"
    assert values(text) == {"rollout/return": [(2000, -110.0)]}


# tables with a header


@pytest.mark.parametrize(
    "text",
    [
        "Iter     Loss     Reward\n1        0.5      1.5\n2        0.25     2.5\n",
        "| Iter | Loss | Reward |\n|----|----|----|\n| 1 | 0.5 | 1.5 |\n| 2 | 0.25 | 2.5 |\n",
        "step\tLoss\tReward\n1\t0.5\t1.5\nhello\n2\t0.25\t2.5\n",
    ],
)
def test_tables_with_a_header(text: str) -> None:
    assert values(text) == {"Loss": [(1, 0.5), (2, 0.25)], "Reward": [(1, 1.5), (2, 2.5)]}


# bars


def sac(done: int) -> str:
    rate = f"[05:05<03:09, 29.77step/s, act_loss=-{done / 200:.3f}, crit_loss=1.997]"
    return f"   Training SAC:  {done // 200}%|{'#' * (done // 800)}| {done}/20000 {rate}"


def test_bars_redrawn_with_carriage_returns() -> None:
    done = range(0, 20001, 40)
    text = "\r".join(map(sac, done)) + "\nAdapter Epoch 4/5 loss: 0.0015\n"
    found = values(text)
    assert found["act_loss"] == [(n, pytest.approx(-n / 200)) for n in done]
    assert found["crit_loss"] == [(n, 1.997) for n in done]
    assert "loss" not in found
    assert goal(text) == 20000


def test_a_redraw_with_the_old_values_is_no_row() -> None:
    text = "\r".join(sac(n) for n in (0, 40, 40, 80)) + "\r"
    assert len(values(text)["act_loss"]) == 3


def test_bars_that_start_again_in_each_epoch_are_counted_on() -> None:
    text = "".join(
        f"Epoch {e}:  50%|#  | {n}/4 [00:02<00:03,  1.9it/s, v_num=0, loss={e * 4 + n}.5]\r"
        for e in range(3)
        for n in (1, 2, 3, 4)
    )
    assert values(text) == {"loss": [(n, n + 0.5) for n in range(1, 13)]}


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


def test_thousands_may_be_grouped() -> None:
    text = "".join(f"Step {300 * n:,}: reward={100 * n:,}.50 loss=0.5\n" for n in STEPS)
    assert values(text)["reward"] == [(300 * n, 100 * n + 0.5) for n in STEPS]
    text = "".join(f"timesteps={300 * n:_} reward={n}.5 sizes=[1,200,300]\n" for n in STEPS)
    assert values(text) == {"reward": [(300 * n, n + 0.5) for n in STEPS]}
    rows = "".join(f"| {100 * n:,} | 0.5 | {n} |\n" for n in STEPS)
    assert values("| step | loss | reward |\n|---|---|---|\n" + rows)["loss"] == [
        (100 * n, 0.5) for n in STEPS
    ]


def test_a_missing_cell_is_no_restart() -> None:
    rows = "".join(f"  {n}  {'-' if n % 10 == 0 else n}  0.{n}\n" for n in range(1, 40))
    text = "  iter  ep_ret  loss\n" + rows
    assert [step for step, _ in sorted(values(text)["loss"])] == list(range(1, 40))
    assert not restarts(text)


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


def test_bars_of_an_evaluation_have_the_step_of_the_training() -> None:
    text = "".join(
        f"Train:  10%|#| {n}/90 [00:02<00:03,  1.9it/s, loss={n}.5]\r"
        f"Validation: 100%|#| 5/5 [00:02<00:00,  1.9it/s, loss={n}.75]\n"
        for n in (10, 20, 30)
    )
    assert values(text) == {
        "loss": [(10, 10.5), (20, 20.5), (30, 30.5)],
        "eval/loss": [(10, 10.75), (20, 20.75), (30, 30.75)],
    }


# trainers


def test_sample_factory_has_a_row_in_two_lines() -> None:
    head = "[2026-01-01 10:00:00,206][100] "
    text = "".join(
        f"{head}Fps is (10 sec: nan, 60 sec: 4000.0). Total num frames: {n * 40960}."
        f" Throughput: 0: 254.2. Samples: {n * 400}."
        " Policy #0 lag: (min: 0.0, avg: 1.2, max: 3.0)\n"
        f"{head}Avg episode reward: [(0, '{n / 8}'), (1, '0.5')]\n"
        for n in STEPS
    )
    found = values(text)
    assert math.isnan(found["Fps (10 sec)"][0][1])
    assert found["Fps (60 sec)"] == [(n * 40960, 4000.0) for n in STEPS]
    assert found["Avg episode reward"] == [(n * 40960, n / 8) for n in STEPS]
    assert found["Avg episode reward #1"][0] == (40960, 0.5)
    assert found["Policy #0 lag avg"][0] == (40960, 1.2)
    assert found["Samples"][-1] == (39 * 40960, 39 * 400.0)


def test_ml_agents() -> None:
    text = "".join(
        f"[INFO] {name}. Step: {n * 10000}. Time Elapsed: {n}.600 s. Mean Reward: 0.{n:02d}0."
        " Std of Reward: 0.000. Training.\n"
        for n in STEPS
        for name in ("MoveToGoal", "Other")
    )
    found = values(text)
    assert found["Mean Reward"] == [(n * 10000, pytest.approx(n / 100)) for n in STEPS]
    assert found["Std of Reward"] == [(n * 10000, 0.0) for n in STEPS]
    assert found["Time Elapsed"][0] == (10000, 1.6)
    assert "Other/Mean Reward" in found


def test_keras_counts_the_last_redraw_of_an_epoch() -> None:
    text = "".join(
        f"Epoch {n}/9\n\r  1/469 [>.......] - ETA: 5s - loss: 9.5\x08\x08\x08"
        f"\r469/469 [========] - 3s 6ms/step - loss: {n}.5 - val_loss: 0.25\n"
        for n in (1, 2, 3)
    )
    assert values(text) == {
        "loss": [(1, 1.5), (2, 2.5), (3, 3.5)],
        "val_loss": [(1, 0.25), (2, 0.25), (3, 0.25)],
    }
    assert goal(text) == 9


def test_keras_rl() -> None:
    episodes = "".join(
        f"   {n * 200}/50000: episode: {n}, duration: 0.5s, episode steps: 200,"
        f" episode reward: -{n}.0, mean action: 0.9 [0.0, 2.0],  loss: 1.25, mean_q: --\n"
        for n in STEPS
    )
    found = values(episodes)
    assert found["episode reward"] == [(n * 200, -float(n)) for n in STEPS]
    assert found["mean action"][0] == (200, 0.9)
    assert "mean_q" not in found
    intervals = "".join(
        f"Interval {n + 1} ({n * 10000} steps performed)\n"
        "10000/10000 [==========] - 43s 4ms/step - reward: -0.5\n"
        f"33 episodes - episode_reward: -{n}.000 [-21.000, -19.000] - loss: 0.25\n\n"
        for n in range(3)
    )
    assert values(intervals)["episode_reward"] == [(n * 10000 + 10000, -float(n)) for n in range(3)]


def test_speeds_before_the_first_episode_are_kept_and_marked() -> None:
    text = "SPS: 5\nSPS: 6\nglobal_step=7, episodic_return=1.0\nSPS: 8\n"
    assert values(text)["charts/SPS"] == [(7, 5.0), (7, 6.0), (7, 8.0)]
    assert guessed(text) == {"charts/SPS"}
    assert restarts(text) == []


# any bytes

TEXTS = (
    "".join(starter(n) for n in range(1, 4)) + SETTINGS[0].format(n=4),
    "".join(sac(n) + "\r" for n in (0, 40, 80)),
    "".join(
        f"Step {n}\n-----\nloss: {n}.5\tkl: 1\n=====\nx: 1\ntimesteps: {n}\n" for n in range(4)
    ),
    "".join(f"╭──╮\n│ a  loss: {n} | step: {n} │\n╰──╯\n" for n in range(4)),
    "Iter  Loss  Kl\n" + "".join(f"{n}  0.5  1\n" for n in range(4)),
    "".join(f"Epoch #{n}: 9it [00:05, 1.5it/s, env_step={n}, rew={n}]\n" for n in range(4)),
    "".join(f"Fps is (10 sec: 1.0). Total num frames: {n}.\n" for n in range(4)),
    "Interval 1 (0 steps performed)\n9/9 [===] - loss: 1\n3 episodes - episode_reward: 1\n",
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_bytes_are_read_alike_in_any_pieces(draws: st.DataObject) -> None:
    data = bytearray("".join(draws.draw(st.permutations(TEXTS))[:3]).encode())
    for _ in range(draws.draw(st.integers(0, 12))):
        at = draws.draw(st.integers(0, len(data) - 1))
        junk = draws.draw(
            st.one_of(
                st.binary(max_size=12),
                st.sampled_from(
                    [b"\r", b"\n", b"step: 9", b" | ", b"-----\n", b"1e999", b"9" * 30]
                ),
            )
        )
        data[at : at + draws.draw(st.integers(0, 40))] = junk
    whole = decode(bytes(data))
    for piece in (1, 13, 101):
        parts = decode(bytes(data), piece)
        assert encode.points_of(parts) == encode.points_of(whole)
        assert parts[-1].guessed == whole[-1].guessed


@pytest.mark.parametrize("text", [*TEXTS[:2], *TEXTS[3:7]])
def test_logs_of_these_grammars_are_claimed(text: str) -> None:
    assert Console().claims(Path("x.log"), text.encode())


def test_many_forms_by_turns() -> None:
    text = "".join(
        f"step {n} loss/task_{k}={n}.5 acc=0.{k + 1}\n" for n in STEPS for k in range(300)
    )
    assert len(values(text)["loss/task_299"]) == len(STEPS)


def test_a_frame_below_a_box_of_dashes_is_no_box_however_the_log_is_split() -> None:
    box = "-----------------\n| time/total_timesteps | 35 |\n| rollout/ep_rew_mean | 3.5 |\n"
    frame = "Step {n}\n╭───┬───╮\n│ loss │ 0.{n} │\n╰───┴───╯\n"
    text = (box + "-----------------\n" + frame.format(n=36) + frame.format(n=38)).encode()
    whole = encode.points_of(encode.feed_all(Console().decoder(), text))
    assert whole == encode.points_of(encode.feed_all(Console().decoder(), text, piece=1))
