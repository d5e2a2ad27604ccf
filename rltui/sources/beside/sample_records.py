"""The records of a file of samples: JSON lines, a W&B table, or Parquet, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from rltui.core.address import is_remote
from rltui.core.installation import to_add
from rltui.files.disk import ReadAt, opened, read_all, status
from rltui.formats.json_value import parsed

#: Bytes of a file of lines that are read, from its end; of one record; of a table; of a Parquet
#: file elsewhere, which must be read whole.
MOST_BYTES = 1 << 28
_MOST_REMOTE_BYTES = 1 << 25
_MAX_RECORD = 1 << 25
_MAX_TABLE = 1 << 26
_MAX_REMOTE_PARQUET = 1 << 26
#: Rows of a Parquet file that are read at once.
_BATCH = 256

Record = dict[str, Any]


def records(path: Path) -> Iterator[tuple[int, Record | None]]:
    """(place, record) of each record in the newest part of a file; None for a line that is no
    record. Raises OSError when it cannot be read, ValueError when it is not what its name says."""
    if path.suffix == ".parquet":
        return _parquet(path)
    return enumerate(_table(path)) if path.name.endswith(".table.json") else _lines(path)


def record_at(path: Path, place: int) -> Record:
    """The record at a place that :func:`records` gave. Raises OSError or ValueError."""
    if path.suffix == ".parquet":
        return _parquet_row(path, place)
    if path.name.endswith(".table.json"):
        rows = _table(path)
        found = rows[place] if place < len(rows) else None
    else:
        with opened(path) as read:
            found = _record(_line(read, place))
    if found is None:
        raise ValueError("the file was rewritten")
    return found


def _line(read: ReadAt, place: int) -> bytes:
    """The line at a place, in pieces: most lines are short."""
    line, wanted = b"", 1 << 16
    while len(line) < _MAX_RECORD and (piece := read(wanted, place + len(line))):
        line += piece.partition(b"\n")[0]
        if b"\n" in piece:
            break
        wanted *= 4
    return line


def _record(line: bytes) -> Record | None:
    try:
        found = parsed(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _lines(path: Path) -> Iterator[tuple[int, Record | None]]:
    with _stream(path) as (file, start):
        if start:
            start += len(file.readline(MOST_BYTES))
        while line := file.readline(_MAX_RECORD):
            found = _record(line)
            # the last line may still be being written
            if found is not None or (line.endswith(b"\n") and not line.isspace()):
                yield start, found
            start += len(line)


@contextmanager
def _stream(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """The newest part of a file, and where it begins."""
    size = status(path).st_size
    if is_remote(path):
        start = max(0, size - _MOST_REMOTE_BYTES)
        with opened(path) as read:
            yield BytesIO(read(size - start, start)), start
        return
    start = max(0, size - MOST_BYTES)
    with path.open("rb") as file:
        file.seek(start)
        yield file, start


def _table(path: Path) -> list[Record]:
    """W&B's table: names of the columns, and rows."""
    if status(path).st_size > _MAX_TABLE:
        raise ValueError("the table is too large")
    document = parsed(read_all(path))
    names = document.get("columns") if isinstance(document, dict) else None
    rows = document.get("data") if isinstance(document, dict) else None
    if not isinstance(names, list) or not isinstance(rows, list):
        raise ValueError("not a table")
    return [dict(zip(map(str, names), r, strict=False)) for r in rows if isinstance(r, list)]


@contextmanager
def _parquet_file(path: Path) -> Iterator[Any]:
    if find_spec("pyarrow") is None:
        raise ValueError(f"Parquet needs pyarrow: {to_add('pyarrow')}")
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    if is_remote(path) and status(path).st_size > _MAX_REMOTE_PARQUET:
        raise ValueError("the file is too large to be read from elsewhere")
    try:
        with ParquetFile(BytesIO(read_all(path)) if is_remote(path) else path) as file:
            yield file
    except ArrowException as error:
        raise ValueError(str(error)) from error


def _parquet(path: Path) -> Iterator[tuple[int, Record]]:
    with _parquet_file(path) as file:
        place = 0
        for batch in file.iter_batches(batch_size=_BATCH):
            for record in batch.to_pylist():
                yield place, record
                place += 1


def _parquet_row(path: Path, place: int) -> Record:
    with _parquet_file(path) as file:
        for group in range(file.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            if place < count:
                rows: list[Record] = file.read_row_group(group).slice(place, 1).to_pylist()
                return rows[0]
            place -= count
    raise ValueError("the file was rewritten")
