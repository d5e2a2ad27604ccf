"""The histories of a JSON document to blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rltui.core.batch import Restart
from rltui.core.block import Block
from rltui.formats.base import Decoded, NoteBook, Options, clean_tag
from rltui.formats.document.shape import Columns, Rows, histories
from rltui.formats.jsonl.jsonl_decoder import JsonLinesDecoder
from rltui.formats.jsonl.jsonl_row import find_step, settings_of
from rltui.formats.whole_document import WholeDocument

_STEPS = float(1 << 62)


class DocumentDecoder(WholeDocument):
    """Decodes one document. Not thread-safe."""

    def __init__(self, options: Options, file_name: str, *, is_log: bool) -> None:
        super().__init__()
        self._options = options
        self._file_name = file_name
        self._is_log = is_log

    def _decode(self, document: Any) -> Decoded:
        keys = self._options.step_keys
        items: list[Block | Restart] = []
        records, numbered, given = 0, False, set[str]()
        for history in histories(document, keys, is_log=self._is_log):
            if isinstance(history, Rows):
                found = self._rows(history)
                items += found.items
                records += len(history.rows)
                numbered |= history.numbered
            else:
                items += self._columns(history, given)
                records += len(history.values)
                numbered |= history.steps is None
        notes = NoteBook()
        if not items:
            notes.add(0, "no lists of figures in it")
        return Decoded(
            tuple(items),
            hparams=settings_of(document) if isinstance(document, dict) else {},
            notes=notes.take(),
            records=records,
            steps_are_row_numbers=numbered,
        )

    def _columns(self, columns: Columns, given: set[str]) -> list[Block | Restart]:
        """Blocks of the columns that are new, those with the same gaps together."""
        size = len(columns.values)
        steps = np.arange(1.0, size + 1) if columns.steps is None else columns.steps
        known = np.isfinite(steps) & (np.abs(steps) < _STEPS)
        stem = self._file_name.rpartition(".")[0].rpartition("-tag-")[2]
        tags = [clean_tag(name or stem or "value") for name in columns.names]
        first = {tag: i for i, tag in reversed(list(enumerate(tags))) if tag not in given}
        chosen = sorted(first.values())
        given.update(tags)
        absent = columns.absent[:, chosen]
        known &= ~absent.all(axis=1)
        if not known.any():
            return []
        absent = absent[known]
        return [
            Block(
                tuple(tags[i] for i in chosen),
                steps[known].astype(np.int64),
                columns.walls[known],
                columns.values[known][:, chosen],
                absent if absent.any() else None,
            )
        ]

    def _rows(self, history: Rows) -> Decoded:
        """Rows mean what they mean as JSON lines, but ``null`` is no value: not NaN."""
        rows: Iterator[dict[str, Any]] = map(
            _without_null, history.rows
        )  # one at a time: there may be a million
        if history.numbered:
            key = self._options.step_keys[0] if self._options.step_keys else "step"
            rows = ({key: n, **row} for n, row in enumerate(rows, 1))
        elif history.prefix:
            rows = (self._prefixed(row, history.prefix) for row in rows)
        return JsonLinesDecoder(self._options).rows(rows)

    def _prefixed(self, row: dict[str, Any], prefix: str) -> dict[str, Any]:
        step = find_step(row, self._options.step_keys)
        kept = step.key if step is not None else ""
        return {k if k == kept else prefix + k: v for k, v in row.items()}


def _without_null(row: dict[str, Any]) -> dict[str, Any]:
    return {
        k: _without_null(v) if isinstance(v, dict) else v for k, v in row.items() if v is not None
    }
