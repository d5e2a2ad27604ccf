"""``trainer_state.json`` of transformers: the log history in one document.

Rewritten at every checkpoint (transformers/trainer_callback.py, TrainerState): sorted and
indented, ``log_history`` a list of dicts with ``step`` and ``epoch``, evaluation separate from
training, NaN and Infinity as bare tokens, one closing row (``train_runtime``, ...). Tags are
those of the TensorBoard callback, which omits texts, lists and null. Discovery chooses among the
states of several checkpoints.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from rltui.core.text import clean
from rltui.formats.base import Decoded, Decoder, Format, NoteBook, Options
from rltui.formats.json_value import float_of, parsed
from rltui.formats.naming import transformers_tag
from rltui.formats.row_sink import RowSink, layout_of

#: Longer documents are not read: a history of a million rows is shorter.
_MAX_BYTES = 1 << 28
#: Keys of the state that are settings.
_SETTINGS = (
    *("max_steps", "num_train_epochs", "logging_steps", "eval_steps", "save_steps"),
    "train_batch_size",
)
_STEPS = 1 << 63
_STRUCTURE = re.compile(rb'[{}"\\]')


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


class TrainerStateDecoder:
    """Decodes the document once. Not thread-safe."""

    holds_row = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._have = 0
        self._done = False
        self._end: _End | None = None
        """None before the first failure to parse."""
        self._searched = 0
        """Parts already searched for the end."""

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        """Returns everything when the document is complete, nothing before."""
        if self._done or not data:
            return Decoded() if self._done or more or not self._have else self._try()
        self._parts.append(data)
        self._have += len(data)
        if self._have > _MAX_BYTES:
            return self._give_up("document is too long")
        return Decoded() if more else self._try()

    def finish(self) -> Decoded:
        """Nothing but a note: half a document has no rows."""
        if self._done or not self._have:
            return Decoded()
        notes = NoteBook()
        notes.add(0, "the document is not complete")
        return Decoded(notes=notes.take())

    def _try(self) -> Decoded:
        """Parse the document if it may be complete.

        The first time a closing brace at the end is enough. If that was not the end, braces are
        counted from then on, so that small pieces do not cost a parse each.
        """
        if not (self._ends_with_brace() if self._end is None else self._reaches(self._end)):
            return Decoded()
        try:
            state = parsed(b"".join(self._parts))
        except ValueError:
            if self._end is not None:
                return self._give_up("not valid JSON")
            self._end = _End()
            return self._try()
        self._done, self._parts = True, []
        return _decoded(state)

    def _ends_with_brace(self) -> bool:
        for part in reversed(self._parts):
            if ending := part.rstrip():
                return ending.endswith(b"}")
        return False

    def _reaches(self, end: _End) -> bool:
        for part in self._parts[self._searched :]:
            end.search(part)
        self._searched = len(self._parts)
        return end.reached

    def _give_up(self, message: str) -> Decoded:
        self._done, self._parts = True, []
        notes = NoteBook()
        notes.add(0, message)
        return Decoded(notes=notes.take())


class _End:
    """Finds the closing brace of the first object in pieces of bytes."""

    def __init__(self) -> None:
        self.reached = False
        self._depth = 0
        self._in_text = False
        self._escaped = -1
        """Position in the next piece of an escaped character, or -1."""

    def search(self, piece: bytes) -> None:
        """Search the next bytes."""
        escaped, self._escaped = self._escaped, -1
        for found in _STRUCTURE.finditer(piece):
            at, byte = found.start(), found[0]
            if at == escaped:
                continue
            if self._in_text:
                if byte == b"\\":
                    escaped = at + 1
                elif byte == b'"':
                    self._in_text = False
            elif byte == b'"':
                self._in_text = True
            elif byte == b"{":
                self._depth += 1
            elif byte == b"}":
                self._depth -= 1
                self.reached = self.reached or self._depth <= 0
        if escaped == len(piece):
            self._escaped = 0


def _decoded(state: dict[str, Any]) -> Decoded:
    history = state.get("log_history")
    rows = [r for r in history if isinstance(r, dict)] if isinstance(history, list) else []
    sink, notes = RowSink(), NoteBook()
    metrics = [found for found in map(_metrics_of, rows) if found is not None]
    for keys, group in groupby(metrics, key=lambda f: tuple(f[1])):
        if not keys:
            continue
        same = list(group)
        sink.rows(
            layout_of(keys, np.float64),
            np.array([step for step, _ in same], np.int64),
            np.full(len(same), math.nan),
            np.array([tuple(values.values()) for _, values in same], np.float64),
        )
    if len(metrics) < len(rows):
        notes.add(0, "rows without a step", str(len(rows) - len(metrics)))
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
