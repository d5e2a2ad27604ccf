"""One setting of a section: its default, and what its value must be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

#: What is wrong with the texts of a setting, or None.
Check = Callable[[tuple[str, ...]], "str | None"]


def setting(
    default: Any,
    *,
    choices: tuple[str, ...] = (),
    low: float | None = None,
    high: float = math.inf,
    check: Check | None = None,
) -> Any:
    """A field whose limits are checked for file, environment and flags alike."""
    limits = {"choices": choices, "low": low, "high": high, "check": check}
    return field(default=default, metadata=limits)


def problem(value: object, limits: Mapping[str, Any]) -> str | None:
    """What is wrong with a value of the right type, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return _outside(value, limits["low"], limits["high"])
    if value == "" or (isinstance(value, tuple) and "" in value):
        return "must not be empty"
    check: Check | None = limits["check"]
    return check(value) if check is not None and isinstance(value, tuple) else None


def _outside(value: float, low: float | None, high: float) -> str | None:
    if not math.isfinite(value):
        return "must be a finite number"
    if low is not None and value < low:
        return f"must be at least {low:g}, found {value:g}"
    if value > high:
        return f"must be at most {high:g}, found {value:g}"
    return None
