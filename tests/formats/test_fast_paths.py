"""The order-free scan and the usual JSON lines give what slow decoding gives."""

from __future__ import annotations

import json
import math
import random
import struct

import pytest

from rltui.formats.jsonl import JsonLines
from rltui.formats.tfevents import TfEvents
from tests.formats import encode

STYLES = (encode.simple, encode.float_tensor, encode.content_tensor, encode.double_tensor)


@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_any_styles(seed: int) -> None:
    rng = random.Random(seed)
    tags = {b"t%02d/%s" % (i, b"x" * rng.randint(0, 3)): rng.choice(STYLES) for i in range(40)}
    records = [encode.header()]
    for step in range(1, 120):
        for tag in rng.sample(list(tags), rng.randint(5, 40)):
            ahead = rng.choice((0, 0, 1, 127))
            value = tags[tag](tag, rng.choice((rng.random(), math.nan, math.inf)))
            records.append(encode.event(step + ahead, 1.78e9 + step, value))
        if step % 9 == 0:
            records.append(encode.event(step, 1.78e9 + step, encode.histogram(b"h")))
    data = b"".join(records)
    expected = encode.reference(data)
    for piece in (None, 997, 1 << 15):
        parts = encode.feed_all(TfEvents().decoder(), data, piece=piece)
        assert encode.points_of(parts) == expected


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
