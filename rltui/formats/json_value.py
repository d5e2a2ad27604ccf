"""JSON as trainers write it: NaN and Infinity tokens, integers of any size."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson


def parsed(data: bytes) -> Any:
    """The value of a document; NaN and Infinity are accepted. Raises ValueError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data.decode("utf-8-sig", "replace"))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def float_of(value: float) -> float:
    """A number, also an integer of any size, as a float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
