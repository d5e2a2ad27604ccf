"""Finds the files of samples below a directory, and reads them on demand.

TRL writes ``completions/completions_00012.parquet``, verl ``<rollout_data_dir>/12.jsonl``, prime-rl
``rollouts/step_12/<kind>/<subset>/traces.jsonl``, NeMo-RL ``train_data_step12.jsonl``, W&B
``media/table/completions_12_<hash>.table.json``, ms-swift one ``completions.jsonl`` for all steps.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rltui.core.text import clean
from rltui.files.disk import Entry, expect, listing
from rltui.files.disk import status as status_of
from rltui.sources.beside.sample import Sample, SampleRow, row_of, sample_of, samples_in
from rltui.sources.beside.sample_records import record_at, records

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
#: What reading a record raises that is not as expected: the files are of other people's programs.
UNREADABLE = (OSError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError)


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
