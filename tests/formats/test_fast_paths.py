"""The usual JSON lines give what slow decoding gives."""

from __future__ import annotations

import json
import math
import random
import struct

import pytest

from rltui.formats.jsonl import JsonLines
from tests.formats import encode


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("nested", [True, False])
def test_usual_and_unusual_lines(seed: int, nested: bool) -> None:
    rng = random.Random(seed)
    lines, expected = [], {}
    for step in range(400):
        keys = [f"k{i}" for i in range(5)]
        if rng.random() < 0.1:
            rng.shuffle(keys)
        if rng.random() < 0.1:
            keys.pop()
        if rng.random() < 0.1:
            keys.append("more")
        row: dict[str, object] = {k: rng.choice((rng.random(), rng.random(), 3)) for k in keys}
        if rng.random() < 0.1:
            row[keys[0]] = rng.choice((None, True, "text", [1], {"in": 2.5}, math.nan, 1 << 70))
        lines.append(json.dumps({"step": step, "data": row} if nested else {"step": step, **row}))
        if rng.random() < 0.05:
            lines.append(rng.choice(("", "  ", "[1]", '{"data": {"k0": 1}}', "3", "nonsense")))
        for key, value in row.items():
            if isinstance(value, dict):
                key, value = f"{key}/in", value["in"]
            if value is None:
                value = math.nan
            if isinstance(value, (int, float)):
                packed = struct.pack("<d", float(value))
                expected.setdefault(key, []).append((step, -1.0, packed))
    data = "\n".join(lines).encode()
    for piece in (None, 100, 1 << 14):
        parts = encode.feed_all(JsonLines().decoder(), data, piece=piece)
        assert encode.points_of(parts) == expected
        blank = sum(not line.strip() for line in lines)
        assert sum(p.records for p in parts) == len(lines) - blank
