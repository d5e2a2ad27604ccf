"""JSON documents that are rewritten whole: bytes until the last bracket, one parse, blocks.

``trainer_state.json`` of transformers is rewritten at every checkpoint
(transformers/trainer_callback.py, TrainerState): sorted and indented, ``log_history`` a list of
dicts with ``step`` and ``epoch``, evaluation separate from training, NaN and Infinity as bare
tokens, one closing row (``train_runtime``, ...). Tags are those of the TensorBoard callback, which
omits texts, lists and null. Discovery chooses among the states of several checkpoints.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from rltui.core.batch import Restart
from rltui.core.block import Block
from rltui.core.level import Level
from rltui.core.text import Json, clean
from rltui.formats.base import Decoded, Decoder, DecoderNote, Options, clean_tag
from rltui.formats.document.shape import TOKEN, ParallelLists, Rows, histories
from rltui.formats.json_value import fits_memory, float_of, parsed
from rltui.formats.jsonl.jsonl_decoder import JsonLinesDecoder
from rltui.formats.jsonl.jsonl_row import (
    STEPS,
    VALUE_KEY,
    PackedRows,
    find_step,
    is_number,
    settings_of,
)
from rltui.formats.words import transformers_tag

#: Longer documents are not read: a history of a million rows is shorter.
_MAX_BYTES = 1 << 28
_FLOAT_STEPS = float(1 << 62)
#: Keys of a trainer's state that are settings.
_SETTINGS = (
    *("max_steps", "num_train_epochs", "logging_steps", "eval_steps", "save_steps"),
    "train_batch_size",
)
#: Settings of the trial of a trainer's state that are kept.
_MOST_PARAMETERS = 100


class WholeDocument(Decoder):
    """Decodes one document once, when all of it is there. Not thread-safe."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._done = False
        self._failed = False
        """Whether what looked like a whole document was none."""
        self._searched = self._depth = 0
        """Bytes in which brackets were counted, and how many are open behind them."""

    def feed(self, data: bytes, *, more: bool = False) -> Decoded:
        """Returns everything when the document is complete, nothing before.

        The first time a closing bracket at the end is enough. If that was not the end, brackets are
        counted from then on, so that small pieces do not cost a parse each.
        """
        if self._done:
            return Decoded()
        self._data += data
        if len(self._data) > _MAX_BYTES:
            return self._give_up("document is too long")
        ending = (b"}", b"]")
        if more or not (self._ended() if self._failed else self._data.rstrip().endswith(ending)):
            return Decoded()

        whole = bytes(self._data)
        if not fits_memory(whole):
            return self._give_up("document has too many values")
        try:
            document = parsed(whole)
        except ValueError:
            self._failed = True
            return self._give_up("not valid JSON") if self._ended() else Decoded()
        self._done, self._data = True, bytearray()
        return self._decode(document)

    def finish(self) -> Decoded:
        """Nothing but a note: half a document has no rows."""
        if self._done or not self._data:
            return Decoded()
        return Decoded(notes=(DecoderNote(0, Level.OK, "the document is not complete"),))

    @abstractmethod
    def _decode(self, document: Any) -> Decoded:
        """The points of a whole document."""

    def _ended(self) -> bool:
        """Whether the last bracket of the first value is there."""
        for found in TOKEN.finditer(self._data, self._searched):
            token = found[0]
            if token == b'"':  # a text that is cut
                return False
            self._searched = found.end()
            self._depth += (token in (b"{", b"[")) - (token in (b"}", b"]"))
            if self._depth <= 0 and token in (b"}", b"]"):
                return True
        return False

    def _give_up(self, message: str) -> Decoded:
        self._done, self._data = True, bytearray()
        return Decoded(notes=(DecoderNote(0, Level.WATCH, message),))


class DocumentDecoder(WholeDocument):
    """Decodes the histories of one document. Not thread-safe."""

    def __init__(self, options: Options, file_name: str, *, is_log: bool) -> None:
        super().__init__()
        self._options = options
        self._stem = file_name.rpartition(".")[0].rpartition("-tag-")[2]
        self._is_log = is_log

    def _decode(self, document: Any) -> Decoded:
        items: list[Block | Restart] = []
        records = 0
        numbered = False
        given = set[str]()
        for history in histories(document, self._options.step_keys, is_log=self._is_log):
            if isinstance(history, Rows):
                items += JsonLinesDecoder(self._options).rows(self._rows(history)).items
                records += len(history.rows)
                numbered |= history.numbered
            else:
                items += self._columns(history, given)
                records += len(history.values)
                numbered |= history.steps is None

        notes = () if items else (DecoderNote(0, Level.WATCH, "no lists of figures in it"),)
        return Decoded(
            tuple(items),
            hparams=settings_of(document) if isinstance(document, dict) else {},
            notes=notes,
            records=records,
            steps_are_row_numbers=numbered,
        )

    def _columns(self, columns: ParallelLists, given: set[str]) -> list[Block | Restart]:
        """Blocks of the columns that are new, those with the same gaps together."""
        size = len(columns.values)
        steps = np.arange(1.0, size + 1) if columns.steps is None else columns.steps
        known = np.isfinite(steps) & (np.abs(steps) < _FLOAT_STEPS)
        tags = [clean_tag(name or self._stem or "value") for name in columns.names]
        first = {tag: i for i, tag in reversed(list(enumerate(tags))) if tag not in given}
        chosen = sorted(first.values())
        given.update(tags)
        known &= ~columns.absent[:, chosen].all(axis=1)
        if not known.any():
            return []
        absent = columns.absent[known][:, chosen]

        return [
            Block(
                tuple(tags[i] for i in chosen),
                steps[known].astype(np.int64),
                columns.walls[known],
                columns.values[known][:, chosen],
                absent if absent.any() else None,
            )
        ]

    def _rows(self, history: Rows) -> Iterator[Json]:
        """Rows mean what they mean as JSON lines, but ``null`` is no value: not NaN."""
        keys = self._options.step_keys
        for number, given in enumerate(history.rows, 1):
            row = _without_null(given)
            if history.numbered:
                row = {keys[0] if keys else "step": number, **row}
            elif history.prefix:
                step = find_step(row, keys)
                kept = step.key if step is not None else ""
                # what is just called "value" has the name of its list
                tags = {VALUE_KEY: history.prefix.rstrip("/"), kept: kept}
                row = {tags.get(k, history.prefix + k): v for k, v in row.items()}
            yield row


def _without_null(row: Json) -> Json:
    return {
        k: _without_null(v) if isinstance(v, dict) else v for k, v in row.items() if v is not None
    }


class TrainerStateDecoder(WholeDocument):
    """Decodes the log history of one ``trainer_state.json``. Not thread-safe."""

    def _decode(self, document: Any) -> Decoded:
        state = document if isinstance(document, dict) else {}
        history = state.get("log_history")
        rows = [r for r in history if isinstance(r, dict)] if isinstance(history, list) else []
        packed = PackedRows()
        stepless = 0
        for row in rows:
            step = row.get("step")
            if not isinstance(step, (int, float)) or not -STEPS <= step < STEPS:
                stepless += 1
                continue
            numbers = {k: v for k, v in row.items() if k != "step" and isinstance(v, (int, float))}
            values = {transformers_tag(key): float_of(value) for key, value in numbers.items()}
            packed.add(int(step), math.nan, packed.turn_to(values))

        packed.flush()
        note = DecoderNote(0, Level.WATCH, f"rows without a step: {stepless}")
        notes = (note,) if stepless else ()
        hparams = dict(_settings(state))
        return Decoded(packed.sink.take(), hparams=hparams, notes=notes, records=len(rows))


def _settings(state: Json) -> Iterator[tuple[str, object]]:
    for key in _SETTINGS:
        value = state.get(key, 0)
        if is_number(value) and value > 0:
            yield key, value

    trial = state.get("trial_params")
    if isinstance(trial, dict):
        for name, value in islice(trial.items(), _MOST_PARAMETERS):
            if isinstance(value, (int, float)):
                yield clean(name), value
            elif isinstance(value, str):
                yield clean(name), clean(value[:500])
