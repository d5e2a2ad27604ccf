"""Finds the files of samples below a directory, and reads them on demand, one record at a time.

They are JSON lines, tables of W&B, or Parquet.

TRL writes ``completions/completions_00012.parquet``, verl ``<rollout_data_dir>/12.jsonl``, prime-rl
``rollouts/step_12/<kind>/<subset>/traces.jsonl``, NeMo-RL ``train_data_step12.jsonl``, W&B
``media/table/completions_12_<hash>.table.json``, ms-swift one ``completions.jsonl`` for all steps.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from rltui.core.address import is_remote
from rltui.core.installation import to_add
from rltui.core.text import clean
from rltui.files.disk import Entry, ReadAt, expect, listing, opened, read_all
from rltui.files.disk import status as status_of
from rltui.formats.json_value import parsed
from rltui.sources.side_files.sample import Sample, SampleRow, row_of, sample_of, samples_in

#: Directories below the root, entries of all of them, rows of one file.
_MAX_DEPTH = 6
_MAX_ENTRIES = 50_000
_MAX_ROWS = 50_000
#: Directories that a server is asked about at once.
_TOGETHER = 100
_SUFFIXES = (".jsonl", ".parquet", ".table.json")
_NAMES = re.compile(
    r"completion|rollout|generation|sample|trace|trajector|(train|val)_data|dumped_eval|prediction",
    re.IGNORECASE,
)
#: Directories of checkpoints hold no samples and many files.
_SKIPPED = re.compile(r"\..*|checkpoint.*|global_step_\d+|__pycache__|weights?|models?")
#: The step at the end of a file's name, or in W&B's before a hash; and that of a directory.
_STEP = re.compile(r"(?:^|[_-]|step)(\d{1,12})(?:_[0-9a-f]{20})?$")
_STEP_DIR = re.compile(r"(?:step|iter|global_step)[_-]?(\d{1,12})(?:_evals)?")
#: Bytes of a file of lines that are read, from its end; of one record; of a table; of a Parquet
#: file elsewhere, which must be read whole.
MOST_BYTES = 1 << 28
_MOST_REMOTE_BYTES = 1 << 25
_MAX_RECORD = 1 << 25
_MAX_TABLE = 1 << 26
_MAX_REMOTE_PARQUET = 1 << 26
#: Rows of a Parquet file that are read at once.
_BATCH = 256
#: What reading a record raises that is not as expected: the files are of other people's programs.
UNREADABLE = (OSError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError)

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SampleTable:
    """The samples of one file, without their texts."""

    rows: tuple[SampleRow, ...]
    note: str = ""
    """Why there is none, or not all."""


@dataclass(frozen=True, slots=True)
class SampleSet:
    """Files of one kind: one for each step, or one with all steps."""

    name: str
    """For people, different from those of other sets of a search."""
    pattern: str
    """Path of its files below the directory that was searched, ``*`` for the step."""
    by_step: tuple[tuple[int, Path], ...]
    """(step, file), ascending; empty when the steps are in the rows."""
    whole: Path | None = None
    """The file with all steps."""

    @property
    def key(self) -> Hashable:
        """The same in every search."""
        return "file", self.pattern

    @property
    def origin(self) -> str:
        """Where they come from, for people."""
        return "files"

    @property
    def steps(self) -> list[int]:
        """The steps of the files."""
        return [step for step, _ in self.by_step]

    def file_of(self, step: int | None) -> Path | None:
        """The file with the samples of a step."""
        return self.whole if self.whole is not None else dict(self.by_step).get(step or 0)

    def stamp(self, step: int | None) -> object:
        """Changes when the file of a step does."""
        path = self.file_of(step)
        try:
            status = status_of(path) if path is not None else None
        except OSError:
            return None
        return status and (path, status.st_size, status.st_mtime_ns)

    def load(self, step: int | None) -> SampleTable:
        """The samples of the file of a step; reads all of it and keeps little."""
        path = self.file_of(step)
        return SampleTable((), "the file is gone") if path is None else _load(path)

    def read(self, step: int | None, row: SampleRow) -> Sample:
        """Everything of a sample. Raises one of :data:`UNREADABLE`."""
        path = self.file_of(step)
        if path is None:
            raise ValueError("the file is gone")

        found = list(samples_in(record_at(path, row.place)))
        if row.item >= len(found):
            raise ValueError("the file was rewritten")
        return sample_of(found[row.item])


def _load(path: Path) -> SampleTable:
    rows: deque[SampleRow] = deque(maxlen=_MAX_ROWS)
    note, count, broken = "", 0, 0
    try:
        for place, record in records(path):
            if record is None:
                broken += 1
                continue
            for item, one in enumerate(samples_in(record)):
                if (row := row_of(one, place, item)) is not None:
                    rows.append(row)
                    count += 1
    except UNREADABLE as error:
        note = reason_of(error)

    if count > _MAX_ROWS:
        note = note or f"the last {_MAX_ROWS:,} of {count:,} samples"
    if broken:
        note = "; ".join(x for x in (note, f"lines that cannot be read: {broken:,}") if x)
    return SampleTable(tuple(rows), note if rows or note else "no samples in this file")


def reason_of(error: Exception) -> str:
    """Why a sample cannot be read, cleaned."""
    if isinstance(error, (OSError, ValueError)):
        return clean(str(error))
    return f"not a sample ({type(error).__name__})"


def find_samples(root: Path, logs: frozenset[Path] = frozenset()) -> list[SampleSet]:
    """The sets of samples below a directory, by name; ``logs`` are files that are read as logs.
    Never raises: what cannot be listed is left out."""
    found: dict[tuple[str, str], dict[int | None, Path]] = {}
    for path in _files(root):
        if path not in logs:
            name, step, pattern = _name_of(path.relative_to(root))
            found.setdefault((name, pattern), {})[step] = path
    repeats = Counter(name for name, _ in found)
    sets = []
    for (name, pattern), files in found.items():
        shown = name if repeats[name] == 1 else clean(pattern)
        steps = sorted((s, path) for s, path in files.items() if s is not None)
        sets.append(SampleSet(shown, pattern, tuple(steps), files.get(None)))

    return sorted(sets, key=lambda s: (_is_validation(s.name), s.name))


def _is_validation(name: str) -> bool:
    return re.search(r"val|eval|test", name) is not None


def _files(root: Path) -> Iterator[Path]:
    """The files below a directory whose names say that they hold samples."""
    waiting, left, expected = deque([(root, 0)]), _MAX_ENTRIES, 0
    while waiting and left > 0:
        if not expected:
            next_ones = [folder for folder, _ in islice(waiting, _TOGETHER)]
            expected = len(next_ones)
            expect(next_ones, lambda _: False)
        folder, depth = waiting.popleft()
        expected -= 1
        try:
            listed = sorted(
                (e.name, e.is_dir(follow_symlinks=False)) for e in listing(folder) if _is_plain(e)
            )
        except OSError:
            continue
        left -= len(listed)
        for name, is_folder in listed:
            path = folder / name
            if is_folder:
                if depth < _MAX_DEPTH and not _SKIPPED.fullmatch(name):
                    waiting.append((path, depth + 1))
            elif name.endswith(_SUFFIXES) and _may_hold(path.relative_to(root)):
                yield path


def _is_plain(entry: Entry) -> bool:
    """Whether it is a directory or a file: a pipe would never end."""
    return entry.is_dir(follow_symlinks=False) or entry.is_file()


def _may_hold(path: Path) -> bool:
    return path.stem.isdecimal() or _NAMES.search(str(path)) is not None


def _name_of(path: Path) -> tuple[str, int | None, str]:
    """The set that a file belongs to, its step, and its path with ``*`` for the step."""
    ending = ".table.json" if path.name.endswith(".table.json") else path.suffix
    stem = path.name.removesuffix(ending)
    at = _STEP.search(stem)
    step = int(at[1]) if at else None
    parts: list[str] = []
    pattern: list[str] = []
    for part in path.parts[:-1]:
        found = _STEP_DIR.fullmatch(part)
        if found and step is None:
            step = int(found[1])
            part = f"{part[: found.start(1)]}*{part[found.end(1) :]}"
        elif not found:
            parts.append(part)
        pattern.append(part)

    rest = stem[: at.start()].rstrip("_-") if at else stem
    pattern.append(f"{stem[: at.start(1)]}*{ending}" if at else path.name)
    if rest and rest not in parts[-1:] and not (parts and rest == "traces"):
        parts.append(rest)
    return clean("/".join(parts) or "samples"), step, "/".join(pattern)


# -- records ------------------------------------------------------------------------------------


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
    size = status_of(path).st_size
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
    if status_of(path).st_size > _MAX_TABLE:
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
    from pyarrow import ArrowException  # an extra, and heavy
    from pyarrow.parquet import ParquetFile  # as above

    if is_remote(path) and status_of(path).st_size > _MAX_REMOTE_PARQUET:
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
