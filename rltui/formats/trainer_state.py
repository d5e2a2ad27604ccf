"""``trainer_state.json`` of transformers: the log history in one document.

Rewritten at every checkpoint (transformers/trainer_callback.py, TrainerState): sorted and
indented, ``log_history`` a list of dicts with ``step`` and ``epoch``, evaluation separate from
training, NaN and Infinity as bare tokens, one closing row (``train_runtime``, ...). Tags are
those of the TensorBoard callback, which omits texts, lists and null. Discovery chooses among the
states of several checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np

from rltui.core.text import clean
from rltui.formats.base import Decoded, Decoder, Format, NoteBook, Options
from rltui.formats.json_value import float_of
from rltui.formats.naming import transformers_tag
from rltui.formats.row_sink import RowSink, layout_of
from rltui.formats.whole_document import WholeDocument

#: Keys of the state that are settings.
_SETTINGS = (
    *("max_steps", "num_train_epochs", "logging_steps", "eval_steps", "save_steps"),
    "train_batch_size",
)
_STEPS = 1 << 63
#: Rows that are turned into arrays at once.
_MOST_AT_ONCE = 1 << 12


class TrainerState(Format):
    """The format ``trainer_state``."""

    name = "trainer_state"
    files = "`trainer_state.json`"
    written_by = (
        "transformers' Trainer and everything on it (TRL, ms-swift, LLaMA-Factory, Unsloth); "
        "the newest checkpoint's while there is no other"
    )
    lacks = "no log history yet"
    restarts = False
    document = True
    names_run = False

    def claims_name(self, name: str) -> bool:
        return name == "trainer_state.json"

    def claims(self, path: Path, head: bytes, options: Options | None = None) -> bool:
        """Whether it begins as an object: the history may lie beyond the head."""
        return self.claims_name(path.name) and head.lstrip().startswith(b"{")

    def decoder(self, options: Options | None = None, path: Path | None = None) -> Decoder:
        return TrainerStateDecoder()


class TrainerStateDecoder(WholeDocument):
    """Decodes the document once. Not thread-safe."""

    def _decode(self, document: Any) -> Decoded:
        return _decoded(document) if isinstance(document, dict) else Decoded()


def _decoded(state: dict[str, Any]) -> Decoded:
    history = state.get("log_history")
    rows = [r for r in history if isinstance(r, dict)] if isinstance(history, list) else []
    sink, notes = RowSink(), NoteBook()
    metrics = (found for found in map(_metrics_of, rows) if found is not None)
    stepped = 0
    for keys, group in groupby(metrics, key=lambda f: tuple(f[1])):
        while same := list(islice(group, _MOST_AT_ONCE)):
            stepped += len(same)
            if not keys:
                continue
            sink.rows(
                layout_of(keys, np.float64),
                np.array([step for step, _ in same], np.int64),
                np.full(len(same), math.nan),
                np.array([tuple(values.values()) for _, values in same], np.float64),
            )
    if stepped < len(rows):
        notes.add(0, "rows without a step", str(len(rows) - stepped))
    return Decoded(
        sink.take(), hparams=dict(_settings(state)), notes=notes.take(), records=len(rows)
    )


def _metrics_of(row: dict[str, Any]) -> tuple[int, dict[str, float]] | None:
    """Step and metrics of a row of the history; None when it has no step."""
    step = row.get("step")
    if not isinstance(step, (int, float)) or not -_STEPS <= step < _STEPS:
        return None
    values: dict[str, float] = {}
    for key, value in row.items():
        if key != "step" and isinstance(value, (int, float)):
            values[transformers_tag(key)] = float_of(value)
    return int(step), values


def _settings(state: dict[str, Any]) -> Iterator[tuple[str, object]]:
    for key in _SETTINGS:
        value = state.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
            yield key, value
    trial = state.get("trial_params")
    if isinstance(trial, dict):
        for name, value in list(trial.items())[:100]:
            if isinstance(value, (int, float)):
                yield clean(name), value
            elif isinstance(value, str):
                yield clean(name), clean(value[:500])
