"""What MLflow keeps of a training, in files and in a database: how a run has ended, settings as
texts that may be numbers, metrics one by one.

Metrics that were logged together have the same steps and times, and share a block: one matrix in
place of a pair of axes for each tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rltui.core.block import Block, FloatArray, IntArray
from rltui.core.text import clean_bytes
from rltui.files.disk import opened

META = "meta.yaml"
#: Bytes that are read of it.
MOST_META = 1 << 16
_KEY = re.compile(rb"^(\w+): *(.*?) *$", re.MULTILINE)
#: Settings of one run that are kept, and bytes of one.
MOST_SETTINGS = 1000
MOST_BYTES = 500
_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?")
_TRUTH = {"True": True, "False": False}


def read_start(path: Path, most: int) -> bytes:
    """The beginning of a small file. Raises OSError."""
    with opened(path) as read:
        return read(most, 0)


def meta_of(path: Path) -> dict[bytes, bytes]:
    """The plain values of a run's meta.yaml, which is flat. Raises OSError."""
    found = _KEY.findall(read_start(path / META, MOST_META))
    return {key: value.strip(b"'\"") for key, value in found}


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


#: How MLflow says that a run has ended (mlflow/entities/run_status.py), as name and as number;
#: 137 is the exit status that a shell gives to a killed process.
_EXIT_CODES = {b"FINISHED": 0, b"FAILED": 1, b"KILLED": 137, b"3": 0, b"4": 1, b"5": 137}


def exit_code_of(status: bytes) -> int | None:
    """The exit code that stands for a status of MLflow; None while the run goes on."""
    return _EXIT_CODES.get(status)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
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
        if len(column.steps):
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
