"""One run, healthy and with a reward that collapses, in the forms of JSON and of tables that people
write: rows and verdict are the same in all."""

import csv
import io
import json
import math
import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.builders import read_session

Row = dict[str, float]
Rows = list[Row]
Form = Callable[[Rows], "str | bytes"]

M = ("reward", "loss", "entropy", "kl")
FORMS: dict[str, tuple[str, Form]] = {}


def form(file_name: str) -> Callable[[Form], Form]:
    """Register a form, under the name of its file."""

    def register(write: Form) -> Form:
        FORMS[write.__name__] = file_name, write
        return write

    return register


def a_run(*, collapses: bool) -> Rows:
    noise = random.Random(7)
    rows = []
    for n in range(1, 121):
        reward = 0.2 + 0.6 * (1 - math.exp(-n / 40)) + noise.gauss(0, 0.03)
        if collapses and n > 70:
            reward = 0.08 + noise.gauss(0, 0.02)
        row: Row = {"step": n, "reward": round(reward, 5)}
        row["loss"] = round(1.2 * math.exp(-n / 60) + noise.gauss(0, 0.02), 5)
        row["entropy"] = round(1.5 * math.exp(-n / 200) + noise.gauss(0, 0.02), 5)
        row["kl"] = round(0.003 + 0.002 * n / 120 + abs(noise.gauss(0, 0.0005)), 6)
        rows.append(row)
    return rows


def clock(row: Row) -> str:
    """A time of day for each row."""
    minutes, seconds = divmod(int(row["step"]), 60)
    return f"2026-05-01 10:{minutes:02}:{seconds:02}"


def jl(rows: Iterable[object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def cs(rows: Rows, *, sep: str = ",", dec: str = ".", quote: bool = False, end: str = "\n") -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=sep, lineterminator=end)
    if quote:
        writer = csv.writer(out, delimiter=sep, quoting=csv.QUOTE_ALL, lineterminator=end)
    writer.writerow(("step", *M))
    for row in rows:
        writer.writerow([str(row[name]).replace(".", dec) for name in ("step", *M)])
    return out.getvalue()


def cells(rows: Rows, head: str, line: Callable[[Row], str]) -> str:
    return head + "\n" + "".join(line(row) + "\n" for row in rows)


def evaluation(row: Row, at: int, gap: object) -> object:
    """A score in every tenth row."""
    return 0.5 + row["step"] / 1000 if row["step"] % 10 == at else gap


# --- JSON


#: By the name of the file: forms that one expression writes.
_PLAIN: dict[str, dict[str, Form]] = {
    "metrics.jsonl": {
        "flat": jl,
        "numbers_as_texts": lambda rows: jl(
            {k: (v if k == "step" else str(v)) for k, v in r.items()} for r in rows
        ),
        "step_as_text": lambda rows: jl({k: str(v) for k, v in r.items()} for r in rows),
        "nested": lambda rows: jl({"step": r["step"], "train": {k: r[k] for k in M}} for r in rows),
        "nested_data": lambda rows: jl(
            {"step": r["step"], "data": {k: r[k] for k in M}} for r in rows
        ),
        "nested_metrics": lambda rows: jl(
            {"global_step": r["step"], "metrics": {k: r[k] for k in M}, "time": 1.8e9 + r["step"]}
            for r in rows
        ),
        "nested_step": lambda rows: jl(
            {"progress": {"step": r["step"]}, "metrics": {k: r[k] for k in M}} for r in rows
        ),
        "long_jsonl": lambda rows: jl(
            {"step": r["step"], "name": k, "value": r[k]} for r in rows for k in M
        ),
        "long_key": lambda rows: jl(
            {"step": r["step"], "metric": k, "value": r[k]} for r in rows for k in M
        ),
        "long_tag_text": lambda rows: jl(
            {"step": r["step"], "tag": k, "value": str(r[k]), "time": 1.8e9 + r["step"]}
            for r in rows
            for k in M
        ),
        "with_level": lambda rows: jl(
            {"level": "INFO", "msg": "train", "ts": f"{clock(r)}Z", **r} for r in rows
        ),
        "arrays_of_episodes": lambda rows: jl(
            {**r, "reward": [r["reward"] - 0.1, r["reward"] + 0.1, r["reward"]]} for r in rows
        ),
        "spaced": lambda rows: "".join("  " + json.dumps(r) + "  \n\n" for r in rows),
        "crlf": lambda rows: jl(rows).replace("\n", "\r\n"),
        "bom": lambda rows: "\ufeff" + jl(rows),
        "utf16": lambda rows: jl(rows).encode("utf-16"),
        "prefixed": lambda rows: "".join(f"{clock(r)} INFO {json.dumps(r)}\n" for r in rows),
        "pretty_in_jsonl": lambda rows: "\n".join(json.dumps(r, indent=2) for r in rows) + "\n",
        "array_in_jsonl": lambda rows: "[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n",
        "concatenated": lambda rows: "".join(json.dumps(r) for r in rows),
        "json_seq": lambda rows: "".join("\x1e" + json.dumps(r) + "\n" for r in rows),
        "sparse_rows": lambda rows: "".join(
            json.dumps({"step": r["step"], k: r[k]}) + "\n" for r in rows for k in M
        ),
        "gaps_null": lambda rows: jl({**r, "eval_score": evaluation(r, 0, None)} for r in rows),
        "gaps_null_first": lambda rows: jl(
            {**r, "eval_score": evaluation(r, 1, None)} for r in rows
        ),
        "gaps_nan": lambda rows: jl({**r, "eval_score": evaluation(r, 1, math.nan)} for r in rows),
        "gaps_nan_text": lambda rows: jl(
            {**r, "eval_score": evaluation(r, 1, "nan")} for r in rows
        ),
        "gaps_nested": lambda rows: jl(
            {
                "step": r["step"],
                "data": {**{k: r[k] for k in M}, "eval_score": evaluation(r, 1, None)},
            }
            for r in rows
        ),
        "gaps_eval_loss": lambda rows: jl(
            {**r, "eval_loss": 0.5 - r["step"] / 1000 if r["step"] % 10 == 1 else math.nan}
            for r in rows
        ),
    },
    "train.log": {
        "prefixed_log": lambda rows: "".join(
            f"{clock(r)},123 - trainer - INFO - {json.dumps(r)}\n" for r in rows
        ),
        "json_in_log": jl,
    },
    "out.txt": {"json_in_txt": jl},
    "training_log_v2.json": {"lines_in_json": jl},
    "exp_7.json": {
        "lines_in_any_json": jl,
        "array": json.dumps,
        "array_pretty": lambda rows: json.dumps(rows, indent=2),
        "array_texts": lambda rows: json.dumps(
            [{k: (v if k == "step" else str(v)) for k, v in r.items()} for r in rows]
        ),
    },
    "history.json": {
        "parallel": lambda rows: json.dumps({k: [r[k] for r in rows] for k in ("step", *M)}),
        "parallel_no_step": lambda rows: json.dumps({k: [r[k] for r in rows] for k in M}),
        "by_step": lambda rows: json.dumps({str(r["step"]): {k: r[k] for k in M} for r in rows}),
        "metric_by_step": lambda rows: json.dumps(
            {k: {str(r["step"]): r[k] for r in rows} for k in M}
        ),
        "metric_pairs": lambda rows: json.dumps({k: [[r["step"], r[k]] for r in rows] for k in M}),
        "metric_objects": lambda rows: json.dumps(
            {k: [{"step": r["step"], "value": r[k]} for r in rows] for k in M}
        ),
    },
    "exp.json": {
        "wrapped": lambda rows: json.dumps({"config": {"lr": 1e-4, "seed": 3}, "history": rows})
    },
    "results.json": {
        "wrapped_pretty": lambda rows: json.dumps(
            {"config": {"lr": 1e-4, "seed": 3}, "history": rows}, indent=4
        )
    },
    "metrics.json": {
        "pretty_one_after_other": lambda rows: (
            "\n".join(json.dumps(r, indent=2) for r in rows) + "\n"
        ),
        "open_array": lambda rows: "[\n" + ",\n".join(json.dumps(r) for r in rows) + ",\n",
    },
    "log.tsv": {
        "tsv": lambda rows: cs(rows, sep="\t"),
        "tsv_tidy": lambda rows: (
            "epoch\ttag\tvalue\n" + "".join(f"{r['step']}\t{k}\t{r[k]}\n" for r in rows for k in M)
        ),
    },
}
FORMS |= {name: (file, write) for file, forms in _PLAIN.items() for name, write in forms.items()}


@form("log.csv")
def csv_index(rows: Rows) -> str:
    head, *lines = cs(rows).splitlines()
    return f",{head}\n" + "".join(f"{n},{line}\n" for n, line in enumerate(lines))


@form("log.csv")
def csv_scientific(rows: Rows) -> str:
    values = "{step:.0f},{reward:.5e},{loss:.5e},{entropy:.5e},{kl:.6e}"
    return cells(rows, "step,reward,loss,entropy,kl", lambda r: values.format(**r))


@form("log.csv")
def csv_step_float(rows: Rows) -> str:
    values = "{step:.1f},{reward},{loss},{entropy},{kl}"
    return cells(rows, "step,reward,loss,entropy,kl", lambda r: values.format(**r))


@form("log.csv")
def csv_units(rows: Rows) -> str:
    values = "{step},{reward},{loss},{entropy},{kl}"
    return cells(rows, "Step,Reward,Loss (train),Entropy [nats],KL", lambda r: values.format(**r))


@form("log.txt")
def lined_up(rows: Rows) -> str:
    values = "{step:>6} {reward:>10} {loss:>10} {entropy:>10} {kl:>10}"
    return cells(rows, "step reward loss entropy kl", lambda r: values.format(**r))


# --- what is read


@pytest.mark.parametrize("collapses", [False, True], ids=["healthy", "collapses"])
@pytest.mark.parametrize("name", FORMS)
def test_rows_and_verdict(name: str, collapses: bool, tmp_path: Path) -> None:
    file_name, write = FORMS[name]
    rows = a_run(collapses=collapses)
    written = write(rows)
    logdir = tmp_path / "exp7"
    logdir.mkdir()
    (logdir / file_name).write_bytes(written if isinstance(written, bytes) else written.encode())
    session = read_session([logdir])

    (run,) = session.runs()
    tags = {tag.rpartition("/")[2].lower().partition(" ")[0]: tag for tag in run.data.tags}
    for metric in M:
        series = run.data.series(tags[metric])
        assert series.steps.tolist() == list(range(1, 121))
        assert series.values.tolist() == pytest.approx([row[metric] for row in rows], abs=2e-5)
    assert not [note for note in session.troubles() if note.offset is not None]
    found = {finding.rule for finding in run.report.firing()}
    assert ("reward_drop" in found) if collapses else not found


@pytest.mark.parametrize(("at", "gap"), [(1, math.nan), (1, "nan"), (0, None), (5, None)])
def test_an_evaluation_now_and_then_never_alarms_while_the_log_grows(
    at: int, gap: object, tmp_path: Path
) -> None:
    rows = [{**r, "eval_loss": evaluation(r, at, gap)} for r in a_run(collapses=False)]
    for count in (*range(5, 17), 20, 21, 34, 120):
        (tmp_path / "metrics.jsonl").write_text(jl(rows[:count]), "utf-8")
        session = read_session([tmp_path])
        (run,) = session.runs()
        assert "nan" not in {finding.rule for finding in run.report.firing()}
