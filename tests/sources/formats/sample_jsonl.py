"""Rows of JSON lines, as verl's file logger writes them."""

from __future__ import annotations

import math

from tests.sources.formats.sample import TAGS, VALUES, Sample


def _row(step: int) -> bytes:
    value = VALUES[step % len(VALUES)]
    word = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, repr(value))
    word = "NaN" if math.isnan(value) else word
    cells = ",".join(f'"{t}":{word}' for t in TAGS)
    return f'{{"step":{step},"data":{{{cells}}}}}\n'.encode()


def _tagged(tags: tuple[str, ...]) -> bytes:
    escaped = [t.replace("\x1b", "\\u001b").replace("\t", "\\t") for t in tags]
    return ('{"step":1,' + ",".join(f'"{t}":1.0' for t in escaped) + "}\n").encode()


SAMPLES = (
    Sample(
        "jsonl",
        "run.jsonl",
        tuple(_row(s) for s in range(12)),
        b"\x00garb{age\xff\n",
        huge=b'{"step":' + b"9" * 1000,
        huge_ends=b"\n",
        tagged=_tagged,
    ),
)
