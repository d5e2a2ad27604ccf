"""A history of rows in a JSON document, row by row."""

import json

from tests.formats.sample import TAGS, VALUES, Sample


def _history(rows: list[dict[str, object]]) -> tuple[bytes, ...]:
    first = b'{"config": {"lr": 0.1},\n"history": [\n'
    ends = [",\n"] * (len(rows) - 1) + ["\n]}\n"]
    return (first, *((json.dumps(r) + e).encode() for r, e in zip(rows, ends, strict=True)))


def _row(step: int) -> dict[str, object]:
    return {"step": step, **dict.fromkeys(TAGS, VALUES[step % len(VALUES)]), "list": [1.0]}


def _tagged(tags: tuple[str, ...]) -> bytes:
    rows = [{"step": s, **dict.fromkeys(tags, 1.0)} for s in (1, 2)]
    return json.dumps({"log_history": rows}).encode()


SAMPLES = (
    Sample(
        "json",
        "history.json",
        _history([_row(s) for s in range(12)]),
        b"\x00garb{age\xff\n",
        preamble=1,
        tagged=_tagged,
    ),
)
