"""JSON lines of frameworks with words of their own, and samples that are no metrics."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from rltui.formats.base import Belonging, Decoded
from rltui.formats.jsonl import JsonLines
from tests import places
from tests.formats import encode

FIXTURES = places.FIXTURES / "jsonl"


def decode(rows: Sequence[object] | bytes, *, piece: int | None = None) -> list[Decoded]:
    raw = rows if isinstance(rows, bytes) else lines(*rows)
    return encode.feed_all(JsonLines().decoder(), raw, piece=piece)


def lines(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def hparams(parts: Sequence[Decoded]) -> dict[str, object]:
    out: dict[str, object] = {}
    for part in parts:
        out.update(part.hparams)
    return out


def test_ray_has_the_tags_of_its_event_file_and_its_config_as_settings() -> None:
    data = (FIXTURES / "ray_result.json").read_bytes()
    rows = [json.loads(line) for line in data.splitlines()]
    parts = decode(data, piece=5000)
    found = encode.values_of(parts)
    entropy = [r["learners"]["default_policy"]["entropy"] for r in rows]
    assert found["ray/tune/learners/default_policy/entropy"] == list(
        zip((1, 2), entropy, strict=True)
    )
    assert not [t for t in found if "config" in t or t.endswith(("/pid", "/timestamp"))]
    assert [w for _, w, _ in encode.points_of(parts)["ray/tune/done"]] == [
        float(r["timestamp"]) for r in rows
    ]
    settings = hparams(parts)
    assert settings["lr"] == 0.0003
    assert settings["tf_session_args/device_count/CPU"] == 1
    assert all(v is None or isinstance(v, (str, int, float)) for v in settings.values())


def test_ray_nan_is_a_fact_of_the_learner_only() -> None:
    row = {
        "training_iteration": 3,
        "timesteps_total": 4000,
        "time_total_s": 1.0,
        "episode_reward_mean": None,
        "episode_len_mean": "null",
        "info": {"learner": {"loss": "null", "kl": math.nan, "num_steps": math.nan}},
        "a (b)": 1,
    }
    found = encode.values_of(decode([row]))
    assert {t: s for t, ((s, _),) in found.items()} == dict.fromkeys(
        (
            *("ray/tune/training_iteration", "ray/tune/timesteps_total", "ray/tune/time_total_s"),
            *("ray/tune/info/learner/loss", "ray/tune/info/learner/kl", "ray/tune/a__b_"),
        ),
        4000,
    )
    assert math.isnan(found["ray/tune/info/learner/loss"][0][1])
    assert math.isnan(found["ray/tune/info/learner/kl"][0][1])


def test_llama_factory_has_the_tags_of_transformers() -> None:
    row = {
        "current_steps": 10,
        "total_steps": 200,
        "loss": 0.9,
        "lr": 4e-05,
        "accuracy": 0.75,
        "epoch": 0.5,
        "percentage": 5.0,
        "elapsed_time": "0:00:31",
        "remaining_time": "3 days, 17:51:32",
    }
    late = {"current_steps": 20, "total_steps": 200, "eval_loss": 0.5, "epoch": 1.0}
    parts = decode([row, late])
    assert encode.values_of(parts) == {
        "train/total_steps": [(10, 200.0), (20, 200.0)],
        "train/loss": [(10, 0.9)],
        "train/learning_rate": [(10, 4e-05)],
        "train/rewards/accuracies": [(10, 0.75)],
        "train/epoch": [(10, 0.5), (20, 1.0)],
        "train/percentage": [(10, 5.0)],
        "train/elapsed_time": [(10, 31.0)],
        "train/remaining_time": [(10, 323492.0)],
        "eval/loss": [(20, 0.5)],
    }
    assert hparams(parts) == {"max_steps": 200}


@pytest.mark.parametrize("key", ["global_step/max_steps", "iteration"])
def test_ms_swift_logs_steps_as_fractions(key: str) -> None:
    row = {
        "loss": 0.7,
        "eval_loss": 0.6,
        "test_loss": 0.5,
        key: "5/200",
        "percentage": "2.50%",
        "elapsed_time": "1m 2s",
        "memory(GiB)": 20.1,
        "train_speed(s/it)": 2.4,
        "epoch": None,
    }
    summary = {"last_model_checkpoint": "/x", "global_step": 5, "log_history": [{"loss": 1}]}
    parts = decode([row, summary])
    assert encode.values_of(parts) == {
        "train/loss": [(5, 0.7)],
        "eval/loss": [(5, 0.6)],
        "test/loss": [(5, 0.5)],
        "train/percentage": [(5, 2.5)],
        "train/elapsed_time": [(5, 62.0)],
        "train/memory(GiB)": [(5, 20.1)],
        "train/train_speed(s/it)": [(5, 2.4)],
    }
    assert hparams(parts) == {"max_steps": 200}
    assert [n for p in parts for n in p.notes] == []


def test_rows_with_an_epoch_only_stand_where_the_row_before_stands() -> None:
    rows = [
        {"epoch": 0, "val_loss": 9},
        {"step": 100, "epoch": 1, "loss": 1},
        {"epoch": 1, "val_loss": 2},
        {"step": 200, "epoch": 2, "loss": 1},
        {"epoch": 2, "val_loss": 3},
    ]
    for piece in (None, 1, 50):
        found = encode.values_of(decode(lines(*rows), piece=piece))
        assert found["val_loss"] == [(0, 9.0), (100, 2.0), (200, 3.0)]
        assert found["epoch"] == [(100, 1.0), (100, 1.0), (200, 2.0), (200, 2.0)]


def test_words_of_numbers_and_other_texts() -> None:
    found = encode.values_of(
        decode([{"step": 1, "a": "NaN", "b": "-Infinity", "c": "0.5", "d": "x"}])
    )
    assert math.isnan(found["a"][0][1])
    assert found["b"] == [(1, -math.inf)]
    assert found["c"] == [(1, 0.5)]
    assert set(found) == {"a", "b", "c"}


def test_settings_in_a_line_of_their_own() -> None:
    parts = decode(
        [{"config": {"lr": 1e-5, "model": {"name": "m"}, "list": [1]}}, {"step": 1, "a": 1}]
    )
    assert hparams(parts) == {"lr": 1e-5, "model/name": "m", "list": "[1]"}
    assert [n for p in parts for n in p.notes] == []


_SAMPLE = {"step": 5, "score": 1.0, "acc": 1, "reward": 0.5, "len": 3}


@pytest.mark.parametrize(
    ("name", "rows", "claimed"),
    [
        ("5.jsonl", [{**_SAMPLE, "input": "q", "output": "a", "gts": "4"}], False),
        ("x.jsonl", [{**_SAMPLE, "note": "word " * 60}], False),
        ("x.jsonl", [{**_SAMPLE, "messages": [{"role": "user"}]}], False),
        ("x.jsonl", [{**_SAMPLE, "completion": ["a", "b"]}], False),
        ("x.jsonl", [_SAMPLE] * 20, False),
        ("x.jsonl", [_SAMPLE] * 3, True),
        ("x.jsonl", [{**_SAMPLE, "step": i} for i in range(20)], True),
        ("x.jsonl", [{"step": 1, "phase": "train", "loss": 0.5, "device": "cuda"}], True),
        ("x.jsonl", [{"step": 1, "values": [1.0, 2.0], "loss": 0.5}], True),
        ("x.jsonl", [{"step": 1, "name": "a", "b": "b", "c": "c", "d": "d", "e": "e"}], False),
        ("x.jsonl", [{"config": {"lr": 1}}], True),
        ("x.jsonl", [{"config": {"lr": 1}}, {"step": 1, "loss": 2}], True),
        ("x.jsonl", [{"idx": 1, "reward": 0.5}], False),
        ("train_data_step5.jsonl", [{"step": 1, "loss": 2}], False),
        ("traces.jsonl", [{"step": 1, "loss": 2}], False),
        ("progress.json", [{"time/total_timesteps": 8, "time/fps": 1}], True),
        ("progress_1.json", [{"time/total_timesteps": 8, "time/fps": 1}], True),
        ("result.json", [{"training_iteration": 1, "time_total_s": 1, "loss": 2}], True),
        ("metrics.json", [{"iteration": 19, "total_loss": 1.5}], True),
        ("package.json", [{"step": 1, "loss": 2}], False),
        ("trainer_log.jsonl", [{"current_steps": 1, "total_steps": 9, "loss": 1}], True),
        ("logging.jsonl", [{"loss": 1, "global_step/max_steps": "1/9", "epoch": 0.1}], True),
    ],
)
def test_claims(name: str, rows: list[object], claimed: bool) -> None:
    assert JsonLines().claims(Path(name), lines(*rows)) is claimed


def test_a_first_row_longer_than_the_head() -> None:
    long = '{"training_iteration": 1, "a": {' + '"b": 1, ' * 20_000
    assert JsonLines().claims(Path("result.json"), long.encode()[: 1 << 16])
    sample = '{"step": 1, "input": "' + "x" * 100_000
    assert not JsonLines().claims(Path("1.jsonl"), sample.encode()[: 1 << 16])


def test_belonging() -> None:
    fixed = ("metrics.jsonl", "progress.json", "result.json", "trainer_log.jsonl", "logging.jsonl")
    torchtune = ("log_1700000000.jsonl",)
    assert {JsonLines().belonging(n) for n in fixed + torchtune} == {Belonging.DIRECTORY}
    assert {JsonLines().belonging(n) for n in ("exp1.jsonl", "grpo_healthy.jsonl", "5.jsonl")} == {
        Belonging.NAME
    }


@pytest.mark.parametrize("piece", [None, 100, 7])
def test_the_last_result_of_ray_is_an_end_until_another_one_follows(piece: int | None) -> None:
    rows = [
        {"training_iteration": i, "time_total_s": i, "trial_id": "x", "done": i in (2, 4)}
        for i in (1, 2, 3, 4)
    ]
    ends = [p.exit_code for p in decode(lines(*rows), piece=piece)]
    assert ends[-1] == 0 or (piece and 0 in ends[-3:])
    assert not any(p.exit_code == 0 for p in decode(lines(*rows[:1], rows[2])))
    other = [{"step": i, "loss": 1.0, "done": True} for i in (1, 2)]
    assert not any(p.exit_code == 0 for p in decode(lines(*other))), "the end of an episode"


def counted(rows: Sequence[object], name: str = "x.jsonl") -> dict[str, list[tuple[int, float]]]:
    """The points of rows that are claimed and counted, whatever pieces they come in."""
    assert JsonLines().claims(Path(name), lines(*rows))
    whole = decode(rows)
    for piece in (1, 7, 64):
        parts = decode(rows, piece=piece)
        assert encode.values_of(parts) == encode.values_of(whole)
        assert parts[-1].steps_are_row_numbers
    return encode.values_of(whole)


def test_rows_without_a_step_are_counted() -> None:
    rows = [{"loss": 1 / n, "reward": n} for n in (1, 2, 4)]
    assert counted(rows)["loss"] == [(1, 1.0), (2, 0.5), (3, 0.25)]


@pytest.mark.parametrize("counter", ["batch_index", "update_no", "batch", "training_round_idx"])
def test_rows_with_a_counter_of_another_name_are_counted(counter: str) -> None:
    rows = [{counter: 10 * n, "policy_loss": n, "zeta": 1, "eta": 2} for n in range(3)]
    found = counted(rows)
    assert found["policy_loss"] == [(1, 0.0), (2, 1.0), (3, 2.0)]
    assert found[counter] == [(1, 0.0), (2, 10.0), (3, 20.0)]


def test_batches_of_an_epoch_are_counted_over_all_epochs() -> None:
    rows = [{"epoch": n // 20, "batch": n % 20, "loss": n} for n in range(60)]
    rows.append({"epoch": 3, "val_loss": 0.5})
    found = counted(rows)
    assert [step for step, _ in found["loss"]] == list(range(1, 61))
    assert found["val_loss"] == [(60, 0.5)]


def test_rows_whose_epoch_stands_still_are_counted() -> None:
    rows = [{"epoch": n // 30, "loss": n} for n in range(60)]
    found = counted(rows)
    assert found["loss"] == [(n + 1, float(n)) for n in range(60)]
    assert found["epoch"] == [(n + 1, float(n // 30)) for n in range(60)]


def test_epochs_stay_the_step_of_what_is_logged_once_in_each() -> None:
    rows: list[object] = [{"epoch": n, "loss": n} for n in range(3)]
    parts = decode([*rows, {"final_reward": 4}])
    assert encode.values_of(parts) == {"loss": [(0, 0.0), (1, 1.0), (2, 2.0)]}
    assert [n.message for p in parts for n in p.notes] == ["line without a step"]


def test_a_step_that_comes_later_takes_the_place_of_counted_rows() -> None:
    rows: list[object] = [{"eval_reward": 0.5}, *({"step": n, "reward": n} for n in (10, 20))]
    for piece in (None, 1, 30):
        parts = decode(rows, piece=piece)
        assert encode.values_of(parts) == {"reward": [(10, 10.0), (20, 20.0)]}
        assert not parts[-1].steps_are_row_numbers
        assert [n.offset for p in parts for n in p.notes] == [0]


@pytest.mark.parametrize(
    "row",
    [
        {"idx": 1, "reward": 0.5},
        {"task": "gsm8k", "accuracy": 0.5},
        {"model": "base", "loss": 0.5},
        {"question": "why", "reward": 1},
        {"level": 3, "money": 7},
    ],
    ids="-".join,
)
def test_figures_of_questions_and_models_are_not_counted(row: dict[str, object]) -> None:
    assert not JsonLines().claims(Path("results.jsonl"), lines(*[row] * 5))


@pytest.mark.parametrize("key", ["train_speed(iter/s)", "train_speed(s/it)"])
def test_swift_rows_with_a_step_of_another_name(key: str) -> None:
    rows = [{"step": n, "loss": n, key: 0.5} for n in (5, 10)]
    assert JsonLines().claims(Path("logging.jsonl"), lines(*rows))
    assert encode.values_of(decode(rows))["train/loss"] == [(5, 5.0), (10, 10.0)]
    stepless = [{"loss": n, key: 0.5} for n in (5, 10)]
    assert counted(stepless, "logging.jsonl")["loss"] == [(1, 5.0), (2, 10.0)]


def test_a_banner_before_the_rows_hides_nothing() -> None:
    data = b"starting\n" + lines({"step": 1, "loss": 2}, {"step": 2, "loss": 1})
    assert JsonLines().claims(Path("x.jsonl"), data)
    assert encode.values_of(decode(data)) == {"loss": [(1, 2.0), (2, 1.0)]}
