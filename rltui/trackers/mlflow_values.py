"""What MLflow keeps of a training, in files and in a database: how a run has ended, settings as
texts that may be numbers, metrics one by one.

Metrics that were logged together have the same steps and times, and share a block: one matrix in
place of a pair of axes for each tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rltui.core.block import Block, FloatArray, IntArray
from rltui.core.text import clean_bytes

#: Settings of one run that are kept, and bytes of one.
MOST_SETTINGS = 1000
MOST_BYTES = 500
_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?")
_TRUTH = {"True": True, "False": False}
#: How MLflow says that a run has ended (mlflow/entities/run_status.py), as name and as number ->
#: exit code; 137 is the exit status that a shell gives to a killed process.
EXIT_CODES = {b"FINISHED": 0, b"FAILED": 1, b"KILLED": 137, b"3": 0, b"4": 1, b"5": 137}


def setting_of(raw: bytes) -> int | float | bool | str:
    """The value of a setting that was kept as text (MLflow keeps ``str(value)``), cleaned.

    >>> setting_of(b"1e-05"), setting_of(b"grpo")
    (1e-05, 'grpo')
    """
    text = clean_bytes(raw[:MOST_BYTES])
    if _WHOLE.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return _TRUTH.get(text, text)


class Column(NamedTuple):
    """New points of one tag, in the order in which they were logged; arrays of (n,)."""

    tag: str
    """Cleaned; no two columns of one call have the same."""
    steps: IntArray
    walls: FloatArray
    """Seconds since the epoch."""
    values: FloatArray


def blocks_of(columns: Iterable[Column]) -> tuple[Block, ...]:
    """Blocks that hold the columns; those with equal steps and times share one."""
    groups: dict[tuple[bytes, bytes], list[Column]] = {}
    for column in columns:
        key = column.steps.tobytes(), column.walls.tobytes()
        groups.setdefault(key, []).append(column)

    return tuple(
        Block(
            tuple(c.tag for c in group),
            group[0].steps,
            group[0].walls,
            np.stack([c.values for c in group], axis=1),
        )
        for group in groups.values()
    )
