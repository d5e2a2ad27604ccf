"""Finds the files of samples below a directory, and reads them on demand, one record at a time.

They are JSON lines, tables of W&B, Parquet, or console logs that print samples (``printed``); what
a record says is read in ``trajectory``.

TRL writes ``completions/completions_00012.parquet``, verl ``<rollout_data_dir>/12.jsonl``, prime-rl
``rollouts/step_12/<kind>/<subset>/traces.jsonl``, NeMo-RL ``train_data_step12.jsonl``, W&B
``media/table/completions_12_<hash>.table.json``, ms-swift one ``completions.jsonl`` for all steps,
verifiers ``evals/<env>/<id>/results.jsonl``, SkyRL ``dumped_evals/global_step_12_evals/*.jsonl``.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from io import BytesIO
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from rltui.core.address import is_remote
from rltui.core.installation import to_add
from rltui.core.text import Names, clean, counted
from rltui.files.disk import expect, listing, opened, read_all
from rltui.files.disk import status as status_of
from rltui.formats.json_value import parsed
from rltui.formats.words import words
from rltui.sources.side_files.printed import PRINTED, printed
from rltui.sources.side_files.trajectory import (
    Sample,
    SampleRow,
    SampleTable,
    first_of,
    row_of,
    sample_of,
)

#: Directories below the root, entries of all of them, rows of one file.
_MAX_DEPTH = 6
_MAX_ENTRIES = 50_000
_MAX_ROWS = 50_000
#: Directories that a server is asked about at once.
_TOGETHER = 100
_SUFFIXES = _ROWS, _PARQUET, _TABLE = (".jsonl", ".parquet", ".table.json")
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
#: Rows between two looks at the clock, and bytes of lines that are read at once, first and later.
_BATCH = 256
_BUFFER = 1 << 16
_MOST_BUFFER = 1 << 22
#: Rows of a Parquet file that are read at once: each may unpack to megabytes.
_FEW = 8
#: Why a table is not whole yet.
PART = "reading the rest"
#: What reading a record raises that is not as expected: the files are of other people's programs.
UNREADABLE = (
    OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
    MemoryError,
)  # fmt: skip

Record = dict[str, Any]


class SampleSet(NamedTuple):
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
        """Identity, equal in every search."""
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

    def load(self, step: int | None, seconds: float = math.inf) -> SampleTable:
        """The samples of the file of a step; reads all of it and keeps little. After ``seconds``
        those that were read by then, with the note :data:`PART` and the rest to come."""
        tables = self._tables(step, seconds)
        return next(tables)._replace(rest=tables)

    def _tables(self, step: int | None, seconds: float) -> Iterator[SampleTable]:
        path = self.file_of(step)
        if path is None:
            yield SampleTable((), "the file is gone")
            return

        rows: deque[SampleRow] = deque(maxlen=_MAX_ROWS)
        note = ""
        count = 0
        broken = 0
        end = monotonic() + seconds
        try:
            for position, record in records(path):
                found = _rows_in(record, position)
                broken += found is None
                rows += found or ()
                count += len(found or ())
                if count % _BATCH == 0 and monotonic() > end:
                    yield SampleTable(tuple(rows), PART)
                    end = math.inf
        except UNREADABLE as error:
            note = reason_of(error)

        if count > _MAX_ROWS:
            note = note or f"the last {_MAX_ROWS:,} of {count:,} samples"
        if broken:
            note = "; ".join(x for x in (note, f"lines that cannot be read: {broken:,}") if x)
        yield SampleTable(tuple(rows), note if rows or note else "no samples in this file")

    def read(self, step: int | None, row: SampleRow) -> Sample:
        """All texts and figures of a sample. Raises one of :data:`UNREADABLE`."""
        path = self.file_of(step)
        if path is None:
            raise ValueError("the file is gone")

        found = list(samples_in(record_at(path, row.position)))
        if row.item >= len(found):
            raise ValueError("the file was rewritten")
        return sample_of(found[row.item])


def reason_of(error: Exception) -> str:
    """Why a sample cannot be read, cleaned."""
    if isinstance(error, (OSError, ValueError)):
        return clean(str(error))
    return f"not a sample ({type(error).__name__})"


# -- files --------------------------------------------------------------------------------------


def find_samples(root: Path, logs: frozenset[Path] = frozenset()) -> list[SampleSet]:
    """The sets of samples below a directory, by name; ``logs`` are files that are read as logs.
    Never raises: what cannot be listed is left out."""
    found: dict[tuple[str, str], dict[int | None, Path]] = {}
    names = re.compile("|".join(words().samples["files"]), re.IGNORECASE)
    wanted = lambda path: path.stem.isdecimal() or bool(names.search(str(path)))  # noqa: E731
    for path in files_below(root, _SUFFIXES, wanted):
        if path not in logs:
            name, step, pattern = _name_of(path.relative_to(root))
            found.setdefault((name, pattern), {})[step] = path

    repeats = Counter(name for name, _ in found)
    sets = []
    for (name, pattern), files in found.items():
        shown = name if repeats[name] == 1 else clean(pattern)
        steps = sorted((s, path) for s, path in files.items() if s is not None)
        sets.append(SampleSet(shown, pattern, tuple(steps), files.get(None)))

    # those of the training before those of the validation
    return sorted(sets, key=lambda s: (bool(re.search(r"val|eval|test", s.name)), s.name))


def printed_in(logs: Iterable[Path], searched: dict[Path, int]) -> list[SampleSet]:
    """A set for each console log that prints samples; those elsewhere are not searched.
    ``searched``: up to where each has none, to be kept for the next search."""
    found = []
    for path in logs:
        with suppress(OSError), opened(path) as read:
            size = 0 if is_remote(path) else status_of(path).st_size
            begin = searched.get(path, 0)
            begin = max(size - MOST_BYTES, begin if begin < size else 0)
            for at in range(begin, size, _BUFFER):
                if PRINTED.search(read(_BUFFER, at)):
                    found.append(SampleSet(clean(path.name), str(path), (), path))
                    break
                searched[path] = at
    return found


def without_parquet(sets: Sequence[SampleSet]) -> tuple[Sequence[SampleSet], str]:
    """The sets that can be read, and what the others hold and how to read it; "" where they all
    can be."""
    packed = [s for s in sets if s.pattern.endswith(_PARQUET)]
    if not packed or find_spec("pyarrow") is not None:
        return sets, ""
    names = [f"{s.name} of {counted(len(s.steps), 'step')}" if s.steps else s.name for s in packed]
    words = f"Parquet files hold {', '.join(names)}. To read them: {to_add('pyarrow')}"
    return [s for s in sets if s not in packed], words


def files_below(root: Path, suffixes: Names, wanted: Callable[[Path], bool]) -> Iterator[Path]:
    """The files below a directory with one of some endings whose path from there is ``wanted``;
    of very many directories the nearest ones. Never raises."""
    waiting = deque([(root, 0)])
    left = _MAX_ENTRIES
    expected = 0
    while waiting and left > 0:
        if not expected:
            next_ones = [folder for folder, _ in islice(waiting, _TOGETHER)]
            expected = len(next_ones)
            expect(next_ones, lambda _: False)
        folder, depth = waiting.popleft()
        expected -= 1
        listed = _listed(folder, suffixes)
        left -= len(listed)
        for name, is_folder in listed:
            path = folder / name
            if is_folder:
                if depth < _MAX_DEPTH and not _SKIPPED.fullmatch(name):
                    waiting.append((path, depth + 1))
            elif wanted(path.relative_to(root)):
                yield path


def _listed(folder: Path, suffixes: Names) -> list[tuple[str, bool]]:
    """The names in a directory that may be of interest, sorted, and whether they are directories;
    none where it cannot be listed. A pipe, which would never end, is none."""
    found = []
    try:
        for entry in listing(folder):
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder or (entry.name.endswith(suffixes) and entry.is_file()):
                found.append((entry.name, is_folder))
    except OSError:
        return []
    return sorted(found)


def _name_of(path: Path) -> tuple[str, int | None, str]:
    """The set that a file belongs to, its step, and its path with ``*`` for the step."""
    ending = _TABLE if path.name.endswith(_TABLE) else path.suffix
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


def records(path: Path, start: int = 0) -> Iterator[tuple[int, Record | None]]:
    """(position, record) of each record in the newest part of a file, or from a position on; None
    for a line that is no record. Raises OSError when it cannot be read, ValueError when it is not
    what its name says."""
    if path.suffix == _PARQUET:
        yield from _unpacked(path, start)
    elif path.name.endswith(_TABLE):
        yield from enumerate(_table(path))
    elif path.suffix == _ROWS:
        # the last line may still be being written
        for at, line in _lines(path, start):
            found = _record(line)
            if found is not None or (line.endswith(b"\n") and not line.isspace()):
                yield at, found
    else:
        yield from printed(_lines(path, start))


def record_at(path: Path, position: int) -> Record:
    """The record at a position that :func:`records` gave. Raises OSError or ValueError."""
    found = next((record for at, record in records(path, position) if at >= position), None)
    if found is None:
        raise ValueError("the file was rewritten")
    return found


def _unpacked(path: Path, start: int) -> Iterator[tuple[int, Record]]:
    """(number, row) of a Parquet file from a row on, a few at a time. Raises ValueError once it
    unpacks to too much."""
    from pyarrow import ArrowException  # an extra, and heavy
    from pyarrow.parquet import ParquetFile  # as above

    if is_remote(path) and status_of(path).st_size > _MAX_REMOTE_PARQUET:
        raise ValueError("the file is too large to be read from elsewhere")

    row = 0
    left = MOST_BYTES
    try:
        with ParquetFile(BytesIO(read_all(path)) if is_remote(path) else path) as file:
            groups = list(range(file.num_row_groups))
            while groups and row + (count := file.metadata.row_group(groups[0]).num_rows) <= start:
                row += count
                del groups[0]
            for rows in file.iter_batches(_FEW, groups, use_threads=False):
                left -= rows.nbytes
                if left < 0 and not start:
                    raise ValueError("the rest unpacks to more than can be shown")
                if row + len(rows) > start:
                    yield from enumerate(rows.to_pylist(), row)
                row += len(rows)
    except ArrowException as error:
        raise ValueError(str(error)) from error


def _record(line: bytes) -> Record | None:
    try:
        found = parsed(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _lines(path: Path, start: int) -> Iterator[tuple[int, bytes]]:
    """(offset, line) of the newest part of a file, or from the line at ``start`` on."""
    most = _MOST_REMOTE_BYTES if is_remote(path) else MOST_BYTES
    at = begin = start or max(0, status_of(path).st_size - most)
    rest = b""
    size = _BUFFER
    with opened(path) as read:
        while piece := read(size, at + len(rest)):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if at > begin or begin == start:  # else it began before
                    yield at, line + b"\n"
                at += len(line) + 1
            if len(rest) > _MAX_RECORD:
                at += len(rest)
                rest = b""
            size = min(2 * size, _MOST_BUFFER)
    if rest:
        yield at, rest


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


def _rows_in(record: Record | None, position: int) -> list[SampleRow] | None:
    """The rows of a record; None when it cannot be read."""
    try:
        found = [row_of(one, position, n) for n, one in enumerate(samples_in(record or {}))]
    except UNREADABLE:
        return None
    return None if record is None else [row for row in found if row is not None]


def samples_in(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The samples of a record: itself, or one for each item where its columns are lists."""
    record = _with_messages(record)
    main = first_of(record, "completions") or first_of(record, "prompts")
    column = record.get(main) if main else None
    # one text or conversation for each of several samples
    if not isinstance(column, list) or not all(isinstance(v, (str, list)) for v in column):
        yield record
        return

    count = len(column)
    columns = {k: v for k, v in record.items() if isinstance(v, list) and len(v) == count}
    rest = {k: v for k, v in record.items() if k not in columns and not isinstance(v, list)}
    for at in range(min(count, _MAX_ROWS)):
        yield {**rest, **{k: v[at] for k, v in columns.items()}}


def _with_messages(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A trace of verifiers, or its list of steps, as a record with messages; others as they are."""
    steps = record.get("trajectory")
    nodes = record.get("nodes")
    if isinstance(nodes, list) and nodes:
        return _of_nodes(record, nodes)
    if not isinstance(steps, list) or not steps or not all(isinstance(s, dict) for s in steps):
        return record

    rest = {k: v for k, v in record.items() if k != "trajectory"}
    last = {k: steps[-1][k] for k in ("prompt", "completion") if k in steps[-1]}
    return {**last, **rest, "turn_rewards": [s.get("reward") for s in steps]}


def _of_nodes(record: Mapping[str, Any], nodes: list[Any]) -> Mapping[str, Any]:
    spent = dict[Any, float | None]()
    tokens = 0
    path = list[Mapping[str, Any]]()
    elsewhere = words().samples["trace"]
    made = {k: v for k, v in record.items() if k not in elsewhere}
    for call in filter(lambda c: isinstance(c, dict), record.get("calls") or ()):
        spent[call.get("node")] = _span(call.get("time"))
        tokens += (call.get("usage") or {}).get("completion_tokens") or 0
        if not call.get("error"):
            made["finish_reason"] = call.get("finish_reason")
    at = len(nodes) - 1
    while isinstance(at, int) and 0 <= at < len(nodes) and len(path) < len(nodes):
        node = nodes[at]
        took = spent.get(at)
        path.append(node["message"] if took is None else {**node["message"], "seconds": took})
        at = node.get("parent")  # from the last one back

    took = _span((record.get("timing") or {}).get("agent"))
    return {**made, "messages": path[::-1], "seconds": took, "completion_tokens": tokens or None}


def _span(value: Any) -> float | None:
    """Seconds from the start to the end of a part of a trace."""
    return value["end"] - value["start"] if value and value.get("end") else None
