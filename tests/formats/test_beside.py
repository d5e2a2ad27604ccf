"""Rows of what runs beside a training: sampling engines, GPUs, machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rltui.formats.base import Decoded, Format
from rltui.formats.console import Console
from rltui.formats.jsonl import JsonLines
from tests.formats import encode
from tests.formats.consoles import decode, values
from tests.tables import cases

LINES = {
    case["line"]: case["figures"]
    for case in yaml.safe_load(Path(__file__).with_name("engine_lines.yaml").read_bytes())
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(LINES[line].split("=")[0]))
def test_lines_of_engines(line: str) -> None:
    engine, _, pairs = LINES[line].partition(": ")
    expected = {f"{engine}/{k}": float(v) for k, v in (p.split("=") for p in pairs.split())}
    found = values(f"hello\n{line}\nstep:7 - loss:0.5\n(WorkerDict pid=4) {line}\n")
    assert found.pop("loss") == [(7, 0.5)]
    assert found == {tag: [(-1, value), (7, value)] for tag, value in expected.items()}
    assert expected.keys() <= decode(f"{line}\n")[0].lanes.tags
    assert Console().claims(Path("engine_0.log"), f"{line}\n".encode())


def test_engines_hide_no_rows_of_a_loop_with_words_of_its_own() -> None:
    line = next(iter(LINES))
    text = "".join(f"{line}\n" * 30 + f"episode {n} reward {n}.5\n" for n in range(1, 9))
    assert values(text)["reward"] == [(n, n + 0.5) for n in range(1, 9)]
    assert decode(text)[-1].tail.after_row == 0  # type: ignore[union-attr]


@given(st.data())
def test_any_bytes_between_lines_of_engines_in_any_pieces(data: st.DataObject) -> None:
    lines = st.sampled_from([*LINES, "step:3 - loss:0.5"]).map(str.encode)
    parts = data.draw(st.lists(st.one_of(lines, st.binary(max_size=40)), max_size=12))
    text = b"\n".join(parts) + b"\n"
    text = text[: data.draw(st.integers(0, len(text)))]
    whole = encode.points_of(decode(text))
    assert encode.points_of(decode(text, data.draw(st.integers(1, 80)))) == whole
    known = decode(text)[-1].lanes.tags if text else frozenset()
    assert {tag for tag in whole if tag.startswith(("vllm/", "sglang/"))} <= known


TIME = 1_790_000_000.5


@cases(__file__, "rows_with_a_time_in_place_of_a_step")
@pytest.mark.parametrize("piece", [None, 1, 37])
def test_rows_with_a_time_in_place_of_a_step(
    name: str, row: dict[str, object], expected: dict[str, float], piece: int | None
) -> None:
    key = "_timestamp" if "_wandb" in row else "ts"
    lines = [json.dumps(row | {key: TIME + n}).encode() + b"\n" for n in range(20)]
    data = lines[0] + b"{torn\n" + b"".join(lines[1:]) + lines[0][:20]
    parts = encode.feed_all(JsonLines().decoder(), data, piece=piece)
    found = encode.points_of(parts)
    times = [(-1, TIME + n) for n in range(20)]
    assert {tag: [p[:2] for p in points] for tag, points in found.items()} == dict.fromkeys(
        expected, times
    )
    assert lanes(parts) == expected.keys()
    assert claims(JsonLines(), name, b"".join(lines))


def test_what_miles_logged_has_its_step_and_other_streams_are_no_metrics() -> None:
    row = {"ts": TIME, "step_key": "train/step", "step": 3, "metrics": {"train/loss": 0.5}}
    found = encode.points_of(encode.feed_all(JsonLines().decoder(), json.dumps(row).encode()))
    assert {tag: [p[:2] for p in points] for tag, points in found.items()} == {
        "train/loss": [(3, TIME)]
    }
    own = {"ts": TIME, "step": 3, "metric": "loss", "value": 0.5, "mem_mb": 7, "system.cpu": 1}
    assert not lanes(encode.feed_all(JsonLines().decoder(), json.dumps(own).encode()))
    phase = {"name": "train", "t0": TIME, "t1": TIME + 9, "node": "a", "gpus": [0], "rank": 0}
    lines = [json.dumps(phase | {"t0": TIME + n}).encode() + b"\n" for n in range(20)]
    assert not claims(JsonLines(), "20260921_10.jsonl", b"".join(lines))


def lanes(parts: list[Decoded]) -> frozenset[str]:
    return frozenset().union(*(part.lanes.tags for part in parts))


def claims(form: Format, name: str, head: bytes) -> bool:
    return form.claims_name(name) and form.claims(Path(name), head)
