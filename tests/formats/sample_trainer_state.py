"""A trainer state of transformers, row by row."""

import json

from tests.formats.sample import TAGS, VALUES, Sample


def _state(rows: list[dict[str, object]]) -> tuple[bytes, ...]:
    first = b'{\n  "epoch": 1.0,\n  "log_history": [\n'
    texts = [json.dumps(row, indent=2) for row in rows]
    last = '\n  ],\n  "max_steps": 20,\n  "trial_params": null\n}\n'
    ends = [",\n"] * (len(texts) - 1) + [last]
    return (first, *((text + end).encode() for text, end in zip(texts, ends, strict=True)))


def _row(step: int) -> dict[str, object]:
    value = VALUES[step % len(VALUES)]
    return {"step": step, **dict.fromkeys(TAGS, value), "missing": None, "list": [1.0]}


def _tagged(tags: tuple[str, ...]) -> bytes:
    return json.dumps({"log_history": [{"step": 1, **dict.fromkeys(tags, 1.0)}]}).encode()


SAMPLES = (
    Sample(
        "trainer_state",
        "trainer_state.json",
        _state([_row(s) for s in range(12)]),
        b"\x00garb{age\xff\n",
        preamble=1,
        tags=tuple(f"train/{t}" for t in TAGS),
        tagged=_tagged,
    ),
)
