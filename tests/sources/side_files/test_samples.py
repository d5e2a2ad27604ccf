"""Samples beside the logs, as each trainer writes them."""

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from rltui.sources.side_files import sample_files
from rltui.sources.side_files.sample_files import (
    PART,
    SampleSet,
    find_samples,
    printed_in,
    samples_in,
)
from rltui.sources.side_files.trajectory import FAILED, GARBLED, TRUNCATED, row_of, sample_of
from tests.tables import cases, table

TABLE = table(__file__)
ASKED, TALK, ITEMS, TRAJECTORIES = map(TABLE.get, ("asked", "talk", "items", "trajectories"))
TRACE = TRAJECTORIES["prime-rl"]


def write(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


def verl_row(score: float, output: str = "an answer", **more: object) -> dict[str, object]:
    return {"input": "user: 1+1?", "output": output, "score": score, "step": 7, **more}


def only(root: Path) -> SampleSet:
    (found,) = find_samples(root)
    return found


def test_verl_writes_a_file_for_each_step(tmp_path: Path) -> None:
    for step in (10, 2):
        write(tmp_path / f"rollouts/{step}.jsonl", verl_row(0.5, gts="2", acc=True), verl_row(1.0))
    found = only(tmp_path)
    assert (found.name, found.steps) == ("rollouts", [2, 10])
    table = found.load(10)
    assert [(r.reward, r.length, r.preview) for r in table.rows] == [
        (0.5, 9, "an answer"),
        (1.0, 9, "an answer"),
    ]
    sample = found.read(10, table.rows[0])
    assert [n for n, _ in sample.texts] == ["input", "output"]
    assert dict(sample.figures) == {"gts": 2.0, "score": 0.5, "acc": 1.0}


def test_prime_rl_and_nemo_rl_and_validation_comes_last(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "hi"}]
    row = {"prompt": chat, "completion": [{"role": "assistant", "content": "ho"}], "reward": 1}
    write(tmp_path / "rollouts/step_3/train/all/traces.jsonl", row)
    write(tmp_path / "val_data_step3.jsonl", {"idx": 0, "content": "text", "rewards": 0.5})
    write(tmp_path / "train_data_step3.jsonl", {"idx": 0, "content": "text", "rewards": 0.5})
    sets = find_samples(tmp_path)
    names = ["rollouts/train/all", "train_data", "val_data"]
    assert [(s.name, s.steps) for s in sets] == [(name, [3]) for name in names]
    (traced,) = sets[0].load(3).rows
    texts = {"prompt": "user: hi", "completion": "assistant: ho"}
    assert dict(sets[0].read(3, traced).texts) == texts
    assert [r.reward for r in sets[1].load(3).rows] == [0.5]


def test_ms_swift_writes_columns_of_all_steps_into_one_file(tmp_path: Path) -> None:
    columns = TABLE["ms_swift"]
    write(tmp_path / "v0/completions.jsonl", *({"step": [str(n)] * 2, **columns} for n in (1, 2)))
    found = only(tmp_path)
    assert (found.name, found.steps) == ("v0/completions", [])
    rows = found.load(None).rows
    told = [(0, 1.0, "one"), (1, 1.5, "three")]
    assert [(r.step, r.item, r.reward, r.preview) for r in rows] == [
        (step, *row) for step in (1, 2) for row in told
    ]
    assert found.read(2, rows[3]).texts[:2] == (("prompt", "b"), ("completion", "three"))


def test_tables_of_wandb(tmp_path: Path) -> None:
    path = tmp_path / "files/media/table" / f"completions_12_{'0a' * 10}.table.json"
    path.parent.mkdir(parents=True)
    rows = [[12, "p", "c", 0.25], [12, "p", "d", 0.75]]
    columns = ["step", "prompt", "completion", "reward"]
    path.write_text(json.dumps({"columns": columns, "data": rows}), encoding="utf-8")
    found = only(tmp_path)
    assert (found.name, found.steps) == ("files/media/table/completions", [12])
    table = found.load(12)
    assert [r.reward for r in table.rows] == [0.25, 0.75]
    assert found.read(12, table.rows[1]).texts[1] == ("completion", "d")


def test_completions_of_trl(corpus: Path) -> None:
    pytest.importorskip("pyarrow")
    found = only(corpus / "trl" / "grpo_log_completions")
    assert (found.name, found.steps) == ("completions", [1, 2])
    table = found.load(2)
    assert len(table.rows) == 32
    assert table.note == ""
    worst = min(table.rows, key=lambda r: r.reward)
    sample = found.read(2, worst)
    assert [n for n, _ in sample.texts] == ["prompt", "completion"]
    assert math.isclose(worst.reward, sum(v for n, v in sample.figures if "reward" in n))


@cases(__file__, "printed")
def test_console_logs_print_samples(tmp_path: Path, log: str, samples: list[Any]) -> None:
    path = tmp_path / "train.log"
    path.write_text(log, encoding="utf-8")
    found = [(s, s.load(None).rows) for s in printed_in([path, tmp_path / "gone.log"], {})]
    read = [(r, s.read(None, r)) for s, rows in found for r in rows]
    assert [[r.step, *(text for _, text in s.texts[:2]), r.reward] for r, s in read] == samples


def test_a_small_file_that_unpacks_to_gigabytes_is_read_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts = pyarrow.array(["x" * 1000] * 64)
    steps = pyarrow.array(range(64))
    path = tmp_path / "completions_00001.parquet"
    parquet.write_table(pyarrow.table({"completion": texts, "step": steps}), path)
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(sample_files, "MOST_BYTES", 20_000)
    table = only(tmp_path).load(1)
    assert 8 <= len(table.rows) < 32
    assert table.note == "the rest unpacks to more than can be shown"
    assert sample_files.record_at(path, 63)["step"] == 63


def test_a_file_that_goes_is_an_error_that_is_caught(tmp_path: Path) -> None:
    path = write(tmp_path / "1.jsonl", verl_row(1))
    found = only(tmp_path)
    (row,) = found.load(1).rows
    path.write_text("[]\n", encoding="utf-8")
    with pytest.raises(ValueError, match="rewritten"):
        found.read(1, row)
    path.unlink()
    with pytest.raises(OSError, match="No such file"):
        found.read(1, row)
    assert "No such file" in found.load(1).note


def test_only_the_newest_samples_of_a_large_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_files, "_MAX_ROWS", 3)
    path = write(tmp_path / "completions.jsonl", *(verl_row(n, f"text {n}") for n in range(9)))
    table = only(tmp_path).load(None)
    assert [r.reward for r in table.rows] == [6, 7, 8]
    assert table.note == "the last 3 of 9 samples"
    monkeypatch.setattr(sample_files, "MOST_BYTES", path.stat().st_size // 2)
    rows = only(tmp_path).load(None).rows
    assert only(tmp_path).read(None, rows[-1]).texts[1] == ("output", "text 8")


def test_logs_checkpoints_pipes_and_other_files_are_left_alone(tmp_path: Path) -> None:
    log = write(tmp_path / "rollout_metrics.jsonl", {"step": 1, "loss": 2})
    write(tmp_path / "checkpoint-5/completions.jsonl", verl_row(1))
    write(tmp_path / "metrics.jsonl", verl_row(1))
    os.mkfifo(tmp_path / "completions.jsonl")
    assert find_samples(tmp_path, frozenset({log})) == []
    assert find_samples(tmp_path / "nowhere") == []


def test_no_text_of_a_sample_reaches_a_terminal_as_it_is() -> None:
    record = {"pro\x1bmpt": "\x1b]0;x\x07", "completion": "a\x1b[2J\nb\r\u202e", "reward": 1}
    row = row_of(record, 0, 0)
    assert row.preview.isprintable()
    for name, text in sample_of(record).texts:
        assert name.isprintable()
        assert text.replace("\n", "").isprintable()


def test_vectors_are_no_texts_and_long_texts_are_cut() -> None:
    record = {"completion": "x" * 300_000, "token_ids": [1] * 9, "logprobs": [0.5], "reward": "NaN"}
    (text,) = sample_of(record).texts
    assert text[1].endswith("… 100,000 more characters")
    row = row_of(record, 0, 0)
    assert row.length == 300_000
    assert math.isnan(row.reward)
    assert row_of({"token_ids": [1, 2], "step": 3}, 0, 0) is None


@cases(__file__, "rewards")
def test_the_reward_of_a_sample(record: dict[str, object], reward: float) -> None:
    row = row_of(record, 0, 0)
    assert row.reward == pytest.approx(reward, nan_ok=True)


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_the_turns_of_a_trajectory(name: str) -> None:
    (record,) = samples_in(TRAJECTORIES[name])
    row = row_of(record, 0, 0)
    assert row.reward == pytest.approx(0.2)
    assert row.turns == 3
    assert row.preview == "<answer>3</answer>"
    assert row.right is (None if name == "messages" else False)
    assert FAILED in row.marks
    assert (TRUNCATED in row.marks) is (name in ("skyrl", "verifiers", "prime-rl"))
    assert row.seconds == 21.0 or name not in ("verifiers", "prime-rl")
    sample = sample_of(record)
    spoken = [t for t in sample.turns if t.role not in ("system", "user")]
    assert [(t.role, t.name) for t in spoken if t.text or t.role != "assistant"] == [
        ("call", "search"), ("tool", ""), ("call", "search"), ("tool", ""), ("assistant", "")
    ]  # fmt: skip
    assert [t.failed for t in sample.turns if t.role == "tool"] == [True, False]
    assert {t.text for t in sample.turns if t.role == "call"} == {'{"q": "red"}'}


def test_times_and_rewards_of_single_turns() -> None:
    (trace,) = samples_in(TRACE)
    said = [t for t in sample_of(trace).turns if t.role == "assistant"]
    assert [t.seconds for t in (said[0], said[-1])] == [1.5, 0.5]
    (steps,) = samples_in(TRAJECTORIES["verifiers"])
    rewards = [t.reward for t in sample_of(steps).turns if t.role == "assistant"]
    assert rewards == pytest.approx([0.0, math.nan, 0.2], nan_ok=True)


def test_texts_of_nemo_rl_alternate_and_items_of_responses_are_turns() -> None:
    (record,) = samples_in({"content": [["Go.", "look", "a door", "open"]], "rewards": [0.5]})
    assert [t.role for t in sample_of(record).turns] == ["user", "assistant"] * 2
    row = row_of(record, 0, 0)
    assert (row.turns, row.preview, row.reward) == (2, "open", 0.5)
    sample = sample_of({"response": ITEMS, "reward": 1})
    assert [(t.role, t.name, t.text, t.failed) for t in sample.turns] == [
        ("call", "search", '{"q": "red"}', False),
        ("tool", "", "Error: boom", True),
        ("assistant", "", "3", False),
    ]


def test_answers_to_one_prompt_have_one_number_in_every_form() -> None:
    def number(record: dict[str, object]) -> int:
        row = row_of(next(iter(samples_in(record))), 0, 0)
        return row.prompt

    again = {**TRAJECTORIES["messages"], "messages": [*ASKED, TALK[-1]]}
    assert number(TRAJECTORIES["messages"]) == number(again) == number(TRACE) != 0
    assert number({"messages": TALK}) == 0
    assert number({"prompt": "a", "completion": "x"}) != number({"prompt": "b", "completion": "x"})


@pytest.mark.parametrize(
    ("text", "garbled"),
    [
        ("I think so. " * 3, False),
        ("I think so. " * 80, True),
        ("\ufffd\ufffd a \ufffd\ufffd", True),
        ("x = 1\n" * 3 + "y" * 10, False),
        ("\n" * 300, False),
    ],
)
def test_an_answer_that_repeats_itself_or_is_broken(text: str, garbled: bool) -> None:
    row = row_of({"prompt": "a", "completion": text}, 0, 0)
    assert (GARBLED in row.marks) is garbled


def test_hostile_trajectories_stay_bounded_and_inert() -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    calls = [{"name": "\x1b]0;x\x07", "arguments": {"\u202e": "\x1b[2J"}}, 3, None, "{", ["a"]]
    many = [{"role": "\x1b[31m" * 9, "content": "y" * 1_000, "tool_calls": calls}] * 3_000
    sample = sample_of({"prompt": deep, "completion": many})
    shown = "".join(f"{t.role}{t.name}{t.text}" for t in sample.turns)
    assert shown.replace("\n", "").isprintable()
    assert len(shown) < 300_000
    assert sample.turns[-1].text == "further turns are not shown"
    open_tags = "<search>" * 50_000
    assert len(sample_of({"prompt": "a", "completion": open_tags + "</"}).turns) < 1_002


def test_one_broken_trace_does_not_hide_the_others(tmp_path: Path) -> None:
    bad = {"nodes": [1], "calls": [{"time": 3}], "rewards": {}}
    write(tmp_path / "rollouts/step_3/traces.jsonl", bad, TRACE, {"nodes": [{}]})
    table = only(tmp_path).load(3)
    assert [r.turns for r in table.rows] == [3]
    assert table.note == "lines that cannot be read: 2"


def test_a_large_file_is_shown_in_part_first_and_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def counted(record: Any, position: int, item: int) -> Any:
        read.append(position)
        return row_of(record, position, item)

    monkeypatch.setattr(sample_files, "row_of", counted)
    write(tmp_path / "1.jsonl", *(verl_row(n) for n in range(600)))
    part = only(tmp_path).load(1, 0.0)
    assert (len(part.rows), part.note) == (256, PART)
    whole = next(part.rest)
    assert (len(whole.rows), whole.note) == (600, "")
    assert len(read) == len(set(read)) == 600


@cases(__file__, "tokens")
def test_tokens_are_those_that_the_log_has(record: dict[str, object], tokens: int) -> None:
    row = row_of({"prompt": "a", "completion": "words", **record}, 0, 0)
    assert (row.tokens, row.length) == (tokens, 5)


def test_tokens_of_a_trace_are_those_of_its_calls() -> None:
    calls = [{"node": n, "usage": {"completion_tokens": 10 * n}} for n in (2, 4)]
    (record,) = samples_in({**TRACE, "calls": [*calls, None, {"node": 6, "usage": None}]})
    row = row_of(record, 0, 0)
    assert row.tokens == 60


def test_files_of_one_name_are_sets_of_their_own(tmp_path: Path) -> None:
    files, named = TABLE["of_one_name"]["files"], TABLE["of_one_name"]["sets"]
    for name in files:
        write(tmp_path / name, verl_row(1.0, name))
    sets = find_samples(tmp_path)
    assert {s.name: s.steps for s in sets} == named
    assert len({s.key for s in sets}) == 4
    for found in sets:
        (row,) = found.load(found.steps[0] if found.steps else None).rows
        assert found.name.split("*")[0] in row.preview
