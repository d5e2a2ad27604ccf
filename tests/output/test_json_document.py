"""The JSON that people's programs read."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rltui.core.level import Level
from rltui.output.json_document import dump

_NUMBERS = {"a": 1e-05, "b": float("nan"), "c": [-float("inf"), 0.1], "d": 2**53 + 1, "e": None}
_READ = {"a": 1e-05, "b": None, "c": [None, 0.1], "d": 2**53 + 1, "e": None}


@pytest.mark.parametrize(
    "text", ["plain", "größe ∞", "\udcff.jsonl", "\x1b[31m", 2**80], ids=list("abcde")
)
def test_any_document_is_strict_json_in_ascii(text: str | int) -> None:
    found = dump({"text": text, "numbers": _NUMBERS, "pair": (1, True)})
    assert found.isascii()
    assert found.endswith("}\n")
    assert "\x1b" not in found
    assert json.loads(found) == {"text": text, "numbers": _READ, "pair": [1, True]}


@pytest.mark.parametrize("text", ["plain", "größe"])
def test_numbers_of_numpy_are_numbers(text: str) -> None:
    found = dump(
        {
            "single": np.float32(0.1),
            "double": np.float64("nan"),
            "count": np.int64(3),
            "flag": np.bool_(True),
            "level": Level.BAD.word,
            "text": text,
        }
    )
    assert json.loads(found) == {
        "single": 0.10000000149011612,
        "double": None,
        "count": 3,
        "flag": True,
        "level": "bad",
        "text": text,
    }
