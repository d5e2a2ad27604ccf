"""Settings of a training as trackers keep them: texts that may be numbers."""

from __future__ import annotations

import re

from rltui.core.text import clean_bytes

#: Settings of one run that are kept, and bytes of one.
MOST_SETTINGS = 1000
MOST_BYTES = 500
_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?")
_TRUTH = {"True": True, "False": False}


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
