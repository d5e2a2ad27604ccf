"""JSON lines of frameworks with words of their own, and samples that are no metrics."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from rltui.formats.base import Belonging, Decoded
from rltui.formats.jsonl import JsonLines
from tests import places
from tests.formats import encode
from tests.tables import cases

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
    ],
)
def test_claims_beside_samples(name: str, rows: list[object], claimed: bool) -> None:
    assert JsonLines().claims(Path(name), lines(*rows)) is claimed


@cases(__file__, "claims")
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


@cases(__file__, "figures_of_questions_and_models_are_not_counted", "row", ids="-".join)
def test_figures_of_questions_and_models_are_not_counted(row: dict[str, object]) -> None:
    assert not JsonLines().claims(Path("results.jsonl"), lines(*[row] * 5))
