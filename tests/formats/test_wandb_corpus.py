"""Tracker logs of the corpora against the framework's own log of the same training.

Skips where the corpora are not beside the repository.
"""

import json
import math
import struct

import pytest

from rltui.formats import FORMATS
from tests.formats import encode
from tests.places import DEV

pytestmark = pytest.mark.skipif(not DEV.is_dir(), reason=f"no corpora at {DEV}")

Values = dict[str, dict[int, float]]


def read(pattern: str, piece: int = 50_000) -> tuple[str, Values]:
    """(name of the format, tag -> step -> value); nothing may be noted."""
    (path,) = DEV.glob(pattern)
    data = path.read_bytes()
    form = next(f for f in FORMATS if f.claims_name(path.name) and f.claims(path, data[:65536]))
    parts = encode.feed_all(form.decoder(None, path), data, piece=piece)
    assert [n for p in parts for n in p.notes] == []
    return form.name, {
        tag: {step: struct.unpack("<d", raw)[0] for step, _, raw in points}
        for tag, points in encode.points_of(parts).items()
    }


def test_wandb_replays_verl() -> None:
    """Three repetitions of 151 rows; some values were made NaN or infinite on purpose."""
    name, found = read("wandb_offline/wandb/offline*/*.wandb")
    log = (DEV / "verl/grpo_healthy/tiny_verl/grpo_healthy.jsonl").read_text().splitlines()
    rows = [json.loads(line)["data"] for line in log] * 3
    assert name == "wandb"
    logged = {tag: p for tag, p in found.items() if not tag.startswith("system/")}
    assert len(logged) == 60
    odd = 0
    for tag, points in logged.items():
        assert set(points) == {step for step, row in enumerate(rows) if tag in row}
        for step, value in points.items():
            if math.isfinite(value):
                assert value == rows[step][tag], (tag, step)
            else:
                odd += 1
    assert odd == 13
    assert max(max(p) for p in logged.values()) == 452


def test_swanlab_replays_trl() -> None:
    """As the event file of the same run, which holds float32."""
    name, found = read("swanlab_offline/swanlog/run-*/*.swanlab")
    _, events = read("trl/grpo_short_hack/runs/events*")
    assert name == "swanlab"
    assert len(found) == 26
    for tag, points in found.items():
        assert set(points) == set(range(1, 151))
        for step, value in points.items():
            assert struct.pack("<f", value) == struct.pack("<f", events[tag][step]), (tag, step)
