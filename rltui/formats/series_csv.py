"""Files of numbers without a header, one for each metric: d3rlpy, TorchRL, own loops.

d3rlpy writes ``loss.csv`` with lines of epoch, step and value into the directory of the run
(d3rlpy/logging/file_adapter.py), TorchRL ``scalars/NAME.csv`` with lines of step and value, where
slashes in the name are directories (torchrl/record/loggers/csv.py). A
file ``rewards.txt`` or ``episode_returns.csv`` of one number a line is counted. The tag is the name
of the file; all files of the directory are one run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rltui.core.block import Block, FloatArray
from rltui.formats.base import Decoded, Decoder, Format, Options, clean_tag
from rltui.formats.line_decoder import LastLine
from rltui.formats.table.table_line import number_of, plain_cells

_SCALARS = "scalars"
#: d3rlpy names directories ``ALGORITHM_20240131123456``, by default in ``d3rlpy_logs``.
_D3RLPY = re.compile(r"d3rlpy.*|.*_\d{14}")
#: Rows examined, and rows that must show what they are where no directory does.
_EXAMINED = 100
_LEAST = 2
_LEAST_NUMBERS = 8
#: Names of files that may have one number a line.
_FIGURES = re.compile(
    r"(.*[_.-])?(rewards?|returns?|scores?|losses|loss)([_-][^.]*)?\.(csv|txt|dat)", re.IGNORECASE
)
_NUMBER = tuple(b"%c" % c for c in b"0123456789-+.")
#: Longer lines are no rows.
_MAX_LINE = 1 << 12
_STEPS = float(1 << 62)
_NO_ROWS: FloatArray = np.empty((0, 2))


class SeriesCsv(Format):
    """The format ``csv_series``."""

    name = "csv_series"
    files = "`loss.csv` and others in `d3rlpy_logs/`, `scalars/*.csv`, `rewards.txt`, `scores.csv`"
    written_by = "d3rlpy, TorchRL, own loops: one file without a header for each metric"
    lacks = "neither a header nor rows of a step and a value"
    restarts = False

    def is_common(self, name: str) -> bool:
        return True

    def claims_name(self, name: str) -> bool:
        return name.endswith(".csv") or _FIGURES.fullmatch(name) is not None

    def claims_head(self, path: Path, head: bytes, options: Options) -> bool:
        """Whether all lines are a step and a value, at a place where these loggers write."""
        if head.lstrip()[:1] not in _NUMBER:
            return False
        lines = head.split(b"\n")
        whole = lines[:-1] if len(lines) > 1 else lines
        cells = [line.rstrip(b"\r").split(b",") for line in whole[:_EXAMINED]]
        rows = [[number_of(c.decode("ascii", "replace")) for c in row] for row in cells]
        if all(len(row) == 1 and row[0] is not None for row in rows):
            return _FIGURES.fullmatch(path.name) is not None and len(rows) >= _LEAST_NUMBERS
        if not path.name.endswith(".csv") or not _are_counted(rows):
            return False
        if len(rows[0]) == 2:
            return _SCALARS in path.parts[:-1]
        # an epoch that counts from 0 or 1, and a step that rises
        table = np.array(rows, np.float64)
        rises = np.diff(table[:, :2], axis=0)
        counts = table[0, 0] in (0, 1) and np.isin(rises[:, 0], (0, 1)).all()
        by_epochs = len(rows) >= _LEAST and counts and (rises[:, 1] > 0).all()
        return bool(by_epochs) or any(map(_D3RLPY.fullmatch, path.parts[:-1]))

    def home(self, directory: str, path: Path) -> str:
        """The directory above ``scalars`` for TorchRL, else the file's own."""
        depth = len(_below_scalars(path))
        return "/".join(directory.split("/")[: -depth or None]) if depth else directory

    def decoder_of(self, options: Options, path: Path) -> Decoder:
        stem = path.name.rpartition(".")[0] or "value"
        return SeriesCsvDecoder("/".join((*_below_scalars(path)[1:], stem)))


def _below_scalars(path: Path) -> tuple[str, ...]:
    """The directories from ``scalars`` on; none without it."""
    parts = path.parts[:-1]
    if _SCALARS not in parts:
        return ()
    return parts[len(parts) - 1 - parts[::-1].index(_SCALARS) :]


def _are_counted(rows: Sequence[Sequence[float | None]]) -> bool:
    """Whether rows of 2 or 3 cells each begin with whole numbers that never fall."""
    size = len(rows[0]) if rows else 0
    if size not in (2, 3) or any(len(row) != size or None in row for row in rows):
        return False
    steps = np.array(rows, np.float64)[:, :-1]
    if not ((steps >= 0) & (steps < _STEPS)).all():
        return False
    return not (steps % 1).any() and bool((np.diff(steps, axis=0) >= 0).all())


class SeriesCsvDecoder(LastLine):
    """Decodes the points of one metric. Not thread-safe."""

    max_line = _MAX_LINE

    def __init__(self, tag: str) -> None:
        super().__init__()
        self._tag = clean_tag(tag)
        self._rows: list[FloatArray] = []
        """(n, 2) steps and values of this call, of lines one after the other."""
        self._count = 0
        """Rows so far of one number each."""

    def _feed(self, data: bytes, *, more: bool) -> Decoded:
        self._rows = [_NO_ROWS]
        self._cut(data)
        every = np.concatenate(self._rows)
        rows = every[np.abs(every[:, 0]) < _STEPS]
        walls = np.full(len(rows), np.nan)
        block = Block((self._tag,), rows[:, 0].astype(np.int64), walls, rows[:, 1:])
        return Decoded(
            (block,) if len(rows) else (),
            notes=self._notes.take(),
            records=len(every),
            steps_are_row_numbers=self._count > 0,
        )

    def _read_lines(self, text: bytes, begin: int, end: int) -> int:
        lines = text[begin:end]
        ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n"))
        if len(ends) and np.diff(ends, prepend=-1).max() <= _MAX_LINE + 1:
            for size in (2, 3):
                plain = plain_cells(lines, size)
                if plain is not None and plain[1] is None:
                    self._rows.append(plain[0][:, -2:])
                    return end

        rows = []
        offset = self._offset + begin
        for line in lines.split(b"\n")[:-1]:
            row = self._row(line)
            if row is not None:
                rows.append(row)
            elif line.strip() or len(line) > _MAX_LINE:
                long = len(line) > _MAX_LINE
                self._notes.add(offset, "line is too long" if long else "broken line")
            offset += len(line) + 1

        self._rows.append(np.array(rows, np.float64).reshape(-1, 2))
        return end

    def _row(self, line: bytes) -> tuple[float, float] | None:
        """Step and value of a line; None for one that is no row."""
        cells = [number_of(c) for c in line.decode("ascii", "replace").split(",")]
        *_, step, value = (0.0, *cells)
        if len(line) > _MAX_LINE or len(cells) > 3 or value is None or None in cells:
            return None
        if len(cells) > 1:
            return step or 0.0, value
        self._count += 1
        return float(self._count), value
