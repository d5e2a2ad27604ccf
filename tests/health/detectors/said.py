"""What a detector says of a few rows in terse notation."""

import numpy as np

import rltui.health.rules  # noqa: F401 - it registers all detectors
from rltui.core.block import FloatArray
from rltui.core.level import Level
from rltui.health.cases import parse_series
from rltui.health.detectors.registry import DETECTORS
from rltui.health.detectors.signal import Rows, Signal
from rltui.health.judge import episodes

Number = float | int | bool


def signal(name: str, text: str | FloatArray, roles: dict[str, str], **given: Number) -> Signal:
    """The answer of a detector; ``roles`` in the notation of ``text``."""
    x = parse_series(text) if isinstance(text, str) else text
    others = {role: parse_series(values) for role, values in roles.items()}
    return DETECTORS[name].run(Rows(x, np.arange(len(x)), others), **given)


def first_row(name: str, text: str | FloatArray, roles: dict[str, str], **given: Number) -> object:
    """The row, counted from 0, at which the episode began that lasts at the end; "over" when
    there was one, None when there was none."""
    found = episodes({Level.BAD: signal(name, text, roles, **given)})[0]
    if not found:
        return None
    return found[-1].first if found[-1].open else "over"
